"""Through a server, values are shown that only the schema of the other branch allows."""

from pathlib import Path

import omnigraph as og
from tests.parity.serving import serving
from tests.templates import fresh_graph

SCHEMA = "node Shirt { slug: String @key  size: enum(small, large) }"


def test_a_value_that_only_their_schema_has_is_shown_in_a_conflict_and_a_diff(
    tmp_path: Path,
) -> None:
    graph = fresh_graph(tmp_path / "graph.omni", SCHEMA)
    graph.load([{"slug": "a", "size": "small"}], type="Shirt")
    draft = graph.create_branch("draft")
    draft.apply_schema(SCHEMA.replace("large", "large, huge"))
    draft.mutate('query q() { update Shirt set { size: "huge" } where slug = "a" }')
    graph.mutate('query q() { update Shirt set { size: "large" } where slug = "a" }')
    here = graph.preview_merge("draft").conflicts

    with serving(tmp_path / "graph.omni") as url:
        there = og.connect(url)

        assert there.preview_merge("draft").conflicts == here
        assert [(each.ours, each.theirs) for each in here] == [("large", "huge")]
        assert [each.after for each in there.diff("main", "draft")] == [
            each.after for each in graph.diff("main", "draft")
        ]
