"""A supply chain with rules: what is built from what, and a supplier that fails, tried on a branch.

Run it with `python walk.py` in this folder, or open it as a notebook: every `# %%` is a cell.
"""

# %% A graph whose schema says what cannot be.
import shutil
from pathlib import Path

import omnigraph as og

queries = Path("supply.gq")
shutil.rmtree("supply.omni", ignore_errors=True)
graph = og.init("supply.omni", schema=Path("supply.pg"))
main = graph.branch()
print(main.load(Path("supply.jsonl"), message="parts, plants and suppliers"))

# %% Everything that goes into a cargo bicycle.
print(main.query(queries, "contains", number="BK-200").to_pandas())

# %% Where one supplier is all there is.
print(main.query(queries, "single_source").to_pandas())

# %% Rules hold for every change: a part is made in one plant, and a rating ends at five.
for text in (
    'query it() { insert MadeIn { from: "BK-100", to: "P2" } }',
    'query it() { update Supplier set { rating: 6 } where code = "S1" }',
    'query it() { insert Part { number: "bk1", name: "Wrong", kind: "raw" } }',
    'query it() { insert Delivers { from: "S9", to: "ST-001", price: 1.0 } }',
):
    try:
        main.mutate(text)
    except og.ViolationsError as refused:
        print(refused.violations[0].render())

# %% What if Kanda Rubber fails? A branch shows it, and costs nothing.
crisis = graph.create_branch("what-if/kanda")
print(crisis.mutate(queries, "drop_supplier", code="S3"))
print(crisis.query(queries, "nobody_delivers").to_pandas())

# %% The plan: another supplier steps in, on the same branch.
crisis.mutate(queries, "add_offer", supplier="S2", part="RB-001", price=1.6, days=18)
crisis.mutate(queries, "add_offer", supplier="S2", part="TY-010", price=5.2, days=16)
for change in graph.review(crisis):
    print(change)

# %% It happened: the plan is merged, as one commit.
print(main.merge(crisis, message="Kanda Rubber failed").outcome)
print(main.query(queries, "offers", number="TY-010").to_pandas())

# %% The schema grows with the business; rows that are there get the default.
schema = (
    Path("supply.pg")
    .read_text()
    .replace("rating: I32?", 'rating: I32?\n  terms: enum(net30, net60) @default("net30")')
)
for planned in graph.plan_schema(schema).steps:
    print(f"{planned.step}: {planned.effect}")
graph.apply_schema(schema)
text = "query it() { match { $s: Supplier } return { $s.name as name, $s.terms as terms } }"
print(main.query(text).to_pandas())

# %% It fails no more? Undo it: the supplier and its offers are back.
failed = next(commit for commit in main.log() if commit.message == "Kanda Rubber failed")
print(main.revert(failed.id).outcome)
print(main.query(queries, "offers", number="TY-010").to_pandas())

# %% A page about all of it, which opens offline.
page = graph.report(
    compared={"The plan": graph.diff(failed.parent, failed.id)},
    answered={"Single sources": main.query(queries, "single_source")},
)
Path("supply.html").write_text(page, encoding="utf-8")
print("wrote supply.html")
graph.close()
