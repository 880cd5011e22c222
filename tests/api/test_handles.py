"""A graph, a branch and a view: what a user holds in a notebook."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import omnigraph as og
from omnigraph import Branch, Commit, Graph, Resolutions, View
from omnigraph.errors import BranchNotFoundError, HeadMovedError, InputError
from tests.api.people import QUERIES, people


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    with people(tmp_path / "people.omni") as found:
        yield found


def slugs(view: View) -> list[object]:
    return [row["slug"] for row in view.query(QUERIES, "ages")]


def test_a_branch_is_read_where_it_stands_now_and_a_view_where_it_stood(graph: Graph) -> None:
    main = graph.branch()
    before = graph.at()
    receipt = main.mutate(QUERIES, "add", slug="dag")
    assert slugs(main) == ["ana", "bo", "cy", "dag"]
    assert slugs(before) == ["ana", "bo", "cy"]
    assert receipt.commit is not None
    assert main.commit == receipt.commit
    assert slugs(graph.at(receipt.commit.id)) == slugs(main)


def test_a_draft_is_made_changed_compared_and_merged(graph: Graph) -> None:
    main, draft = graph.branch(), graph.create_branch("review/hires")
    assert isinstance(draft, Branch)
    draft.mutate(QUERIES, "add", slug="eve", age=29)
    assert [(each.id, each.op) for each in graph.diff("main", draft)] == [("eve", "insert")]
    assert [each.id for each in main.diff(draft)] == ["eve"]
    assert main.preview_merge(draft).outcome == "fast_forward"
    assert main.merge(draft).commit is not None
    assert "eve" in slugs(main)
    assert [each.id for each in main.diff(draft)] == []


class StandInClock:
    """A clock on which time passes only while somebody sleeps; a change comes at some moment."""

    def __init__(self, at: float, change: Callable[[], object]) -> None:
        self.now, self.at, self.change = 0.0, at, change

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        if self.now < self.at <= self.now + seconds:
            self.change()
        self.now += seconds


@pytest.mark.parametrize("seconds", [0.05, 2.0, 2.5])
def test_a_branch_is_watched_to_the_end_of_the_time_and_no_longer(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    main = graph.branch()
    clock = StandInClock(seconds - 0.01, lambda: main.mutate(QUERIES, "add", slug="dag"))
    monkeypatch.setattr("omnigraph.api.branch.time", clock)

    seen = [change.id for each in main.watch(seconds=seconds) for change in each.changes]

    assert seen == ["dag"]
    assert clock.now == pytest.approx(seconds)


def test_a_branch_answers_everything_that_is_asked_about_it(graph: Graph) -> None:
    main = graph.branch(actor="eva", message="a birthday")
    main.mutate(QUERIES, "birthday", slug="bo", age=42)
    newest, first = main.log(limit=2)
    assert (newest.actor, newest.message) == ("eva", "a birthday")
    assert [each.commit for each in main.changes(since=first.id)] == [newest]
    assert {each.property: each.commit for each in main.blame("Person", "bo")}["age"] == newest
    assert main.revert(newest.id).commit is not None
    assert graph.query(QUERIES, "ages").to_dicts()[1] == {"slug": "bo", "age": 41}
    photo = main.blob("Person", "ana", "photo")
    assert photo is not None
    assert photo.read() == b"hello"
    assert b"".join(main.export(types=["Team"])).startswith(b'{"type":"Team"')
    assert main.explain(QUERIES, "ages").plan.name == "ages"
    assert main.profile(QUERIES, "ages").result.to_dicts() == main.query(QUERIES, "ages").to_dicts()
    assert main.catalog == graph.catalog
    assert main.schema == graph.schema


def test_a_load_and_a_merge_are_noted_with_the_actor_of_the_branch(graph: Graph) -> None:
    main = graph.branch(actor="eva", message="more people")
    loaded = main.load('{"type": "Person", "data": {"slug": "dag", "name": "Dag"}}')
    assert loaded.commit is not None
    assert (loaded.commit.actor, loaded.commit.message) == ("eva", "more people")
    graph.create_branch("draft").mutate(QUERIES, "add", slug="eve")
    merged = main.merge("draft").commit
    assert merged is not None
    assert (merged.actor, merged.message) == ("eva", "more people")


def test_an_expectation_is_not_dropped_by_changes_that_do_not_check_it(graph: Graph) -> None:
    branch = graph.branch(expect="01ARZ3NDEKTSV4RRFFQ69G5FAV")
    for change in (
        lambda: branch.load("", mode="append"),
        branch.embed_again,
        lambda: branch.revert(graph.snapshot().commit.id),
    ):
        with pytest.raises(InputError, match="not for loads and reverts"):
            change()


def test_an_operation_id_lets_every_change_be_made_once(graph: Graph) -> None:
    line = '{"type": "Person", "data": {"slug": "dag", "name": "Dag"}}'
    draft = graph.create_branch("draft")
    draft.mutate(QUERIES, "add", slug="eve")

    load, merge, revert = (graph.branch(operation_id=each) for each in ("a", "b", "c"))
    loaded = load.load(line)
    assert load.load(line) == loaded
    merged = merge.merge(draft)
    assert merge.merge(draft) == merged
    assert loaded.commit is not None
    reverted = revert.revert(loaded.commit.id)
    assert revert.revert(loaded.commit.id) == reverted

    assert [each.operation_id for each in graph.log(limit=3)] == ["c", "b", "a"]
    with pytest.raises(InputError, match="was used for"):
        merge.load(line)
    with pytest.raises(InputError, match="was used for another change"):
        load.merge(draft)
    with pytest.raises(InputError, match="was used for another change"):
        load.revert(reverted.ours.id)


def test_a_branch_need_not_be_there_until_it_is_used(graph: Graph) -> None:
    missing = graph.branch("nothing")
    with pytest.raises(BranchNotFoundError):
        missing.query(QUERIES, "ages")
    with pytest.raises(BranchNotFoundError):
        missing.mutate(QUERIES, "add", slug="dag")


def test_what_is_expected_of_a_branch_is_checked(graph: Graph) -> None:
    seen = graph.branch().commit.id
    graph.mutate(QUERIES, "add", slug="dag")
    with pytest.raises(HeadMovedError):
        graph.branch(expect=seen).mutate(QUERIES, "add", slug="eve")


def test_a_closed_graph_and_its_handles_answer_nothing(tmp_path: Path) -> None:
    with people(tmp_path / "g") as graph:
        main, view = graph.branch(), graph.at()
        assert len(slugs(view)) == 3
    for ask in (
        graph.branches,
        graph.tags,
        lambda: graph.log(limit=1).__next__(),
        lambda: graph.query(QUERIES, "ages"),
        lambda: graph.create_branch("x"),
        lambda: main.query(QUERIES, "ages"),
        lambda: main.mutate(QUERIES, "add", slug="x"),
        lambda: main.load("{}"),
        lambda: view.query(QUERIES, "ages"),
        lambda: view.blob("Person", "ana", "photo"),
        lambda: next(view.export()),
    ):
        with pytest.raises(InputError, match="was closed"):
            ask()
    graph.close()
    assert len(slugs(og.open(tmp_path / "g").at())) == 3


def test_threads_share_one_handle(graph: Graph) -> None:
    main = graph.branch()

    def work(number: int) -> int:
        main.mutate(QUERIES, "add", slug=f"p{number}", age=number)
        rows = main.query(QUERIES, "ages").to_dicts()
        assert {"slug": f"p{number}", "age": number} in rows
        return len(rows)

    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(work, range(12)))
    assert max(counts) == 3 + 12
    assert len(list(main.log())) == 2 + 12


def test_handles_show_themselves_in_a_word(graph: Graph) -> None:
    commit = graph.branch().commit
    assert repr(graph) == f"Graph({graph.uri!r})"
    assert repr(graph.branch("a/b")) == "Branch('a/b')"
    assert repr(graph.at()) == f"View('{commit.id}')"
    assert repr(commit) == f"Commit('{commit.id}', branch='main', version=1, kind='write')"
    assert repr(graph.diff("main", "main")) == "ChangeSet(1 → 1)"
    ages = graph.query(QUERIES, "ages")
    assert repr(ages) == "Result('ages', 3 rows, columns slug, age)"
    stream = graph.branch().stream(QUERIES, "ages")
    assert repr(stream) == "ResultStream('ages', columns slug, age)"
    assert repr(graph.snapshot()) == f"Snapshot(commit={commit!r})"
    explanation = graph.explain(QUERIES, "ages")
    assert repr(explanation) == str(explanation)
    draft = graph.create_branch("draft")
    loaded = draft.load('{"type": "Team", "data": {"slug": "t"}}')
    assert repr(loaded) == f"Loaded(1 node, 0 edges, branch='draft', commit='{draft.commit.id}')"
    merge = graph.branch().preview_merge(draft)
    assert repr(merge) == "Merge('draft' into 'main', outcome='fast_forward', commit=None)"


def test_a_notebook_shows_handles_as_tables_and_escapes_all_of_it(graph: Graph) -> None:
    evil = "<script>alert('&')</script>"
    main = graph.branch(actor=evil, message=evil)
    main.mutate(QUERIES, "add", slug=evil, age=1)
    shown = {
        "graph": graph._repr_html_(),
        "branch": main._repr_html_(),
        "view": graph.at()._repr_html_(),
        "commit": main.commit._repr_html_(),
        "result": main.query(QUERIES, "ages")._repr_html_(),
        "changes": graph.diff(str(main.commit.parent), "main")._repr_html_(),
        "loaded": main.load('{"type": "Team", "data": {"slug": "t"}}')._repr_html_(),
    }
    assert all("<script" not in html for html in shown.values())
    assert {name for name, html in shown.items() if "&lt;script&gt;" in html} == {
        "graph",
        "branch",
        "view",
        "commit",
        "result",
        "changes",
    }
    assert '<td class="short">Person</td><td class="number">4</td>' in shown["branch"]
    assert '<td class="soft">branches</td><td>main</td>' in shown["graph"]
    assert '<td class="short">Team</td><td class="number">1</td>' in shown["loaded"]
    assert isinstance(main.commit, Commit)


def test_a_notebook_shows_what_a_change_did_to_each_property(graph: Graph) -> None:
    before = graph.branch().commit.id
    graph.mutate(QUERIES, "birthday", slug="bo", age=77)
    html = graph.diff(before, "main")._repr_html_()
    assert '<td class="after"><span class="value">77</span></td>' in html


def test_a_result_without_rows_says_so_in_a_notebook(graph: Graph) -> None:
    nobody = "query q() { match { $p: Person  $p.age > 200 } return { $p.slug as slug } }"
    assert '<p class="soft">no rows</p>' in graph.query(nobody)._repr_html_()
    html = graph.diff("main", "main")._repr_html_()
    assert '<p class="soft">no row differs</p>' in html


def test_a_long_diff_is_cut_in_a_notebook(graph: Graph) -> None:
    before = graph.branch().commit.id
    rows = (f'{{"type": "Team", "data": {{"slug": "t{n}"}}}}' for n in range(30))
    graph.load("\n".join(rows))
    html = graph.diff(before, "main")._repr_html_()
    assert html.count('<tbody class="added"') == 20
    assert "… and 10 more changes" in html


def test_sides_are_taken_as_words_too_and_words_that_are_none_are_refused(graph: Graph) -> None:
    draft = graph.create_branch("draft")
    draft.mutate(QUERIES, "birthday", slug="bo", age=1)
    graph.mutate(QUERIES, "birthday", slug="bo", age=2)
    wrong = Resolutions(rows={("Person", "bo"): "mine"})  # type: ignore[dict-item]
    with pytest.raises(InputError, match="invalid side 'mine'"):
        graph.branch().merge(draft, resolutions=wrong)
    right = Resolutions(rows={("Person", "bo"): "theirs"})  # type: ignore[dict-item]
    graph.branch().merge(draft, resolutions=right)
    assert {"slug": "bo", "age": 1} in graph.query(QUERIES, "ages").to_dicts()
