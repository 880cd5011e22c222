"""People and where they work: the shortest way from a schema to a merge.

Run it with `python walk.py` in this folder, or open it as a notebook: every `# %%` is a cell.
"""

# %% Texts get vectors from a model; this one needs no network and no key.
import os
import shutil
from pathlib import Path

import omnigraph as og

os.environ.setdefault("OMNIGRAPH_EMBED_MODEL", "mock")
queries = Path("people.gq")
shutil.rmtree("people.omni", ignore_errors=True)
graph = og.init("people.omni", schema=Path("people.pg"))
main = graph.branch()
print(main.load(Path("people.jsonl"), message="people and where they work"))

# %% Who can be reached over at most three acquaintances.
print(main.query(queries, "circle", slug="ana").to_pandas())

# %% A new colleague, first on a branch.
draft = graph.create_branch("review/hires")
draft.mutate(queries, "add_person", slug="gus", name="Gus Moe", email="gus@mill.example")
for change in graph.review(draft):
    print(change)

# %% Into main, as one commit; and how it was before.
before = main.commit
main.merge(draft)
print(len(main.query("query q() { match { $p: Person } return { $p.name } }")))
print(len(graph.at(before.id).query("query q() { match { $p: Person } return { $p.name } }")))
graph.close()
