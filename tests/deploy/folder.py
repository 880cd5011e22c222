"""Folder: a small deployment in a folder, and how its files are written."""

from pathlib import Path

SCHEMA = "node Person { name: String @key  age: I32? }\n"
QUERIES = """\
query everyone() @description("All people.") {
  match { $p: Person } return { $p.name as name } order { name }
}
query add($name: String) { insert Person { name: $name } }
"""
POLICY = """\
version: 1
groups: {readers: [ann], writers: [bob]}
rules:
  - {id: run, allow: {actors: {group: readers}, actions: [invoke_query], queries: [everyone]}}
  - {id: read, allow: {actors: {group: writers}, actions: [read, change], branch_scope: any}}
"""
SERVER_POLICY = """\
version: 1
kind: server
groups: {admins: [bob]}
rules:
  - {id: list, allow: {actors: {group: admins}, actions: [graph_list]}}
"""
CLUSTER = """\
version: 1
metadata: {name: brain}
graphs:
  people:
    schema: people.pg
    queries: queries/
policies:
  base: {file: base.policy.yaml, applies_to: [people]}
  server: {file: server.policy.yaml, applies_to: [cluster]}
"""
TWO = CLUSTER.replace("policies:", "  other: {schema: people.pg}\npolicies:")


def write(folder: Path, **files: str) -> Path:
    """Write the files of a deployment, some of them otherwise; `x__y` stands for `x.y`."""
    texts = {
        "cluster.yaml": CLUSTER,
        "people.pg": SCHEMA,
        "queries/people.gq": QUERIES,
        "base.policy.yaml": POLICY,
        "server.policy.yaml": SERVER_POLICY,
    }
    texts |= {name.replace("__", "."): text for name, text in files.items()}
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder
