"""A knowledge base of papers: search by words and meaning, follow citations, review on a branch.

Run it with `python walk.py` in this folder, or open it as a notebook: every `# %%` is a cell.
"""

# %% Texts get vectors from a model; this one needs no network and no key.
import os
import shutil
from pathlib import Path

import omnigraph as og

os.environ.setdefault("OMNIGRAPH_EMBED_MODEL", "mock")
queries = Path("research.gq")

# %% A graph from a schema, and its rows; the vectors are made while loading.
shutil.rmtree("research.omni", ignore_errors=True)
graph = og.init("research.omni", schema=Path("research.pg"))
main = graph.branch()
print(main.load(Path("research.jsonl"), message="a first shelf of papers"))

# %% One question, ranked by words and by meaning together.
print(main.query(queries, "ask", question="which floods can be explained?").to_pandas())

# %% The graph picks the candidates, the search ranks them.
print(main.query(queries, "ask_author", author="marco", question="versions").to_pandas())

# %% What a paper builds on, at any distance.
for row in main.query(queries, "roots", slug="gauges-in-branches"):
    print(f"{row['year']}  {row['title']}")

# %% A review happens on a branch; main does not see it.
graph.create_branch("review/rivers")
review = graph.branch("review/rivers", actor="ida", message="review of the river papers")
review.mutate(queries, "publish", slug="gauges-in-branches", year=2026)
review.mutate(queries, "cite", paper="gauges-in-branches", cited="three-way-rows", why="method")
for change in graph.review(review):
    print(change)

# %% Meanwhile somebody else publishes the same paper with another year.
editor = graph.branch(actor="marco", message="it was last year's")
editor.mutate(queries, "publish", slug="gauges-in-branches", year=2025)
try:
    main.merge(review)
except og.MergeConflictsError as clash:
    for conflict in clash.conflicts:
        print(conflict.message, conflict.ours, conflict.theirs)

# %% Somebody decides, and the merge says so.
print(main.merge(review, resolutions="theirs").commit.message)
print(main.query(queries, "topics").to_pandas())

# %% A page about all of it, which opens offline.
first = list(main.log())[-2]
page = graph.report(
    compared={"Since the load": graph.diff(first.id, "main")},
    answered={
        "Which floods can be explained?": main.query(
            queries, "ask", question="which floods can be explained?"
        ),
        "Topics": main.query(queries, "topics"),
    },
)
Path("research.html").write_text(page, encoding="utf-8")
print("wrote research.html")
graph.close()
