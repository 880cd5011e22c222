#!/bin/sh
# What OmniGraph can do so far: compile both languages, make a graph, branch it, look at its history.
# `make demo` runs this with .venv/bin on PATH; it works from any directory.
set -eu
cd "$(dirname "$0")"

say() { printf '\n# %s\n' "$*"; }
show() { printf '$ %s\n' "$*"; "$@"; }
explain() { show omnigraph query explain --schema people.pg --query people.gq --name "$1"; }

say "A schema says what the graph holds. This one is compiled and checked."
show omnigraph schema check --schema people.pg

say "A file of queries is checked against it: names, types, directions of edges."
show omnigraph query lint --schema people.pg --query people.gq

say "Traversal: start at one person, found by key, and follow up to three edges."
explain circle

say "Aggregation: count people by company, keep the larger ones, sort."
explain team_sizes

say "Negation: people of a company for whom there is no project."
explain without_project

say "Hybrid search: the graph picks the documents; words and meaning rank them."
explain related_documents

say "A mistake is found before anything could run. This query misspells an edge:"
mistake='query friends($slug: String) {
  match { $p: Person { slug: $slug }  $p nows $f }
  return { $f.name }
}'
printf '%s\n' "$mistake"
printf '$ %s\n' "omnigraph query lint --schema people.pg --query -"
if printf '%s\n' "$mistake" | omnigraph query lint --schema people.pg --query -; then
  echo "the mistake was not found" >&2
  exit 1
fi

say "That exits with 1. Now a graph: tables for every type, and a first commit."
graph=$(mktemp -d)/people.omni
trap 'rm -rf "$(dirname "$graph")"' EXIT
show omnigraph init --schema people.pg "$graph"

say "A branch is one small write, whatever the size of the graph."
show omnigraph branch create review/hires "$graph"
show omnigraph branch list "$graph"

say "Every branch has its tables and its history."
show omnigraph snapshot "$graph" --branch review/hires
show omnigraph commit list "$graph"

say "Next: docs/README.md, or change people.pg and people.gq and run again."
