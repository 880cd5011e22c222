#!/bin/sh
# The main job end to end: make a graph, load it on Spark, query, search, change, branch, look back, write out.
# `make demo` runs this with .venv/bin on PATH; it works from any directory. It leaves nothing behind but a page about the
# graph, where the first argument says. With STUDIO=1 it opens the graph in a browser in the end.
set -eu
page=${1:-people.html}
case $page in /*) ;; *) page=$PWD/$page ;; esac
from=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$from/people.pg" "$from/people.gq" "$from/people.jsonl" "$work"
cd "$work"
# Texts get vectors from a model; this one needs no network and no key.
export OMNIGRAPH_EMBED_MODEL=mock

say() { printf '\n# %s\n' "$*"; }
show() {
  printf '$'
  for word in "$@"; do
    case $word in *[!A-Za-z0-9._/=-]*) printf " '%s'" "$word" ;; *) printf ' %s' "$word" ;; esac
  done
  printf '\n'
  "$@"
}
refused() {
  if "$@"; then
    echo "what is wrong was not refused" >&2
    exit 1
  fi
}

say "A schema says what the graph holds, queries are checked against it."
show omnigraph schema check --schema people.pg
show omnigraph query lint --schema people.pg --query people.gq

say "A mistake is found before anything could run. This query misspells an edge:"
mistake='query friends($slug: String) {
  match { $p: Person { slug: $slug }  $p nows $f }
  return { $f.name }
}'
printf '%s\n' "$mistake" > mistake.gq
cat mistake.gq
refused show omnigraph query lint --schema people.pg --query mistake.gq

say "A graph: tables for every type, and a first commit."
show omnigraph init --schema people.pg people.omni

say "Rows are loaded on Spark, all checked, as one commit."
show omnigraph load --data people.jsonl --engine spark --message "people and where they work" people.omni
show omnigraph tag create loaded people.omni

say "Every bad row is named, and then nothing is loaded:"
cat > bad.jsonl <<'ROWS'
{"type": "Person", "data": {"slug": "gus", "name": "Gus", "email": "gus", "joined": "today"}}
{"type": "City", "data": {"slug": "rome", "name": "Rome", "cuntry": "Italy"}}
{"edge": "LivesIn", "from": "ana"}
ROWS
cat bad.jsonl
refused show omnigraph load --data bad.jsonl people.omni

say "Traversal: the friends of one person, up to three edges away, and where they live."
show omnigraph read people.omni --query people.gq --name circle --params '{"slug": "ana"}' --format table

say "Aggregation: people by company."
show omnigraph read people.omni --query people.gq --name team_sizes --params '{"least": 1}' --format table

say "Hybrid search: the graph picks the documents; words and meaning rank them."
show omnigraph read people.omni --query people.gq --name related_documents \
  --params '{"company": "harbour", "question": "coast survey"}' --format table
show omnigraph query explain --schema people.pg --query people.gq --name related_documents

say "New rows can come together with a new branch; main does not see them."
cat > hires.jsonl <<'ROWS'
{"type": "Person", "data": {"slug": "gus", "name": "Gus Moe", "email": "gus@mill.example", "joined": "2026-01-05T09:00:00+01:00"}}
{"edge": "WorksAt", "from": "gus", "to": "north-mill", "data": {"role": "weaver"}}
ROWS
show omnigraph ingest --data hires.jsonl --branch review/hires --message "Gus joins the mill" people.omni
for branch in main review/hires; do
  show omnigraph read people.omni --query people.gq --name team_sizes --params '{"least": 1}' \
    --branch "$branch" --format table
done

say "A mutation changes a branch, as one commit. What breaks a rule is reported, and nothing is changed."
show omnigraph change people.omni --query people.gq --name hire --branch review/hires \
  --message "Finn draws maps" \
  --params '{"person": "finn", "company": "harbour", "role": "cartographer", "since": "2026-01-05"}'
refused show omnigraph change people.omni --query people.gq --name hire --branch review/hires \
  --params '{"person": "finn", "company": "harbor", "role": "cartographer", "since": "2026-01-05"}'

say "Every branch has its tables and its history."
show omnigraph snapshot people.omni --branch review/hires
show omnigraph commit list people.omni --branch review/hires

say "What a branch changed is shown row by row, and merged as one commit."
show omnigraph diff main...review/hires people.omni
show omnigraph branch merge review/hires people.omni

say "The whole graph as one page: its types, its history, what a branch changed. It opens without a network."
show omnigraph report people.omni --out "$page" --diff loaded main --query people.gq \
  --name team_sizes --name circle --name related_documents \
  --params '{"least": 1, "slug": "ana", "company": "harbour", "question": "coast survey"}'

say "What was loaded can be written out again, as lines that load back to the same graph."
show omnigraph export people.omni --type WorksAt

if [ -n "${STUDIO:-}" ]; then
  say "The same graph in a browser, with a branch that waits for a review. Ctrl-C ends it."
  show omnigraph branch create agent/map-clerk people.omni
  show omnigraph change people.omni --query people.gq --name hire --branch agent/map-clerk \
    --message "Dag keeps the maps" \
    --params '{"person": "dag", "company": "harbour", "role": "archivist", "since": "2026-02-02"}'
  show omnigraph studio people.omni
else
  say "Next: open $page in a browser; take people.pg and people.gq, change them, and run this again."
  echo "STUDIO=1 shows the graph in a browser as well: make demo STUDIO=1, or STUDIO=1 sh demo.sh"
fi
