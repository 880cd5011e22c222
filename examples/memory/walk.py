"""What an agent remembers: facts with sources, true for a time; recall, contradictions, a review.

Run it with `python walk.py` in this folder, or open it as a notebook: every `# %%` is a cell.
"""

# %% Texts get vectors from a model; this one needs no network and no key.
import os
import shutil
from datetime import date
from pathlib import Path

import omnigraph as og

os.environ.setdefault("OMNIGRAPH_EMBED_MODEL", "mock")
today = date(2026, 11, 16)

# %% A graph from a schema, its first facts, and its queries as functions.
shutil.rmtree("memory.omni", ignore_errors=True)
og.init("memory.omni", schema=Path("memory.pg")).close()
graph = og.open("memory.omni", queries=Path("memory.gq"))
main = graph.branch()
main.load(Path("memory.jsonl"), message="the first conversation")

# %% Recall is one query: words and meaning, what is joined to the fact, and what is true today.
print(main.queries["recall"](question="where does Ana work?", on=today))

# %% An agent hears something new, and notes it on a branch of its own.
graph.create_branch("agent/scribe/2026-11-16")
agent = graph.branch("agent/scribe/2026-11-16", actor="scribe", message="the second conversation")
agent.queries["heard"](slug="chat-2", title="Second conversation", kind="conversation", at=None)
agent.queries["meet"](slug="mill", name="North Mill", kind="organization", aliases=["the mill"])
agent.queries["remember"](
    slug="ana-employer-2",
    text="Ana Reis works for the North Mill now.",
    entity="ana",
    source="chat-2",
    attribute="employer",
    value="mill",
    since=date(2026, 11, 1),
)

# %% Two facts say different things of one entity: the rules find them before anybody merges.
print(agent.queries["contradictions"](on=today))

# %% The old fact ends where the new one begins. It is not deleted: the past is still asked about.
agent.queries["end_fact"](slug="ana-employer-1", until=date(2026, 11, 1))
print(f"{len(agent.queries['contradictions'](on=today))} contradictions left")

# %% A person looks at what the agent did, and merges.
for change in graph.review(agent):
    print(change)
print(main.merge(agent).commit.message)

# %% The same question about today and about an earlier day has two answers.
for day in (today, date(2026, 6, 1)):
    employer = main.queries["known_about"](name="A. Reis", on=day)
    print(day, [row["fact"] for row in employer if "works" in str(row["fact"])])
