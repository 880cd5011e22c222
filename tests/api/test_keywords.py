"""A call refuses keywords that it does not take, and does nothing."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnigraph as og
from omnigraph import Branch, Graph, View
from omnigraph.errors import InputError
from tests.templates import fresh_graph

SCHEMA = "node Person { name: String @key }"
# What a call needs before its keywords.
NEEDED: dict[str, tuple[object, ...]] = {
    "load": ([{"name": "Ana"}],),
    "ingest": ([{"name": "Ana"}],),
    "merge": ("draft",),
    "preview_merge": ("draft",),
    "publish_run": ("no run",),
    "plan_schema": (SCHEMA,),
    "apply_schema": (f"{SCHEMA} node Room {{ number: I32 @key }}",),
}


def open_calls(handle: type) -> list[str]:
    """Return the methods of a handle whose keywords are those of a typed dictionary."""
    return [
        name
        for name, method in inspect.getmembers(handle, inspect.isfunction)
        if not name.startswith("_")
        and any(
            each.kind is each.VAR_KEYWORD and "Keywords" in str(each.annotation)
            for each in inspect.signature(method).parameters.values()
        )
    ]


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    return fresh_graph(tmp_path / "graph.omni", SCHEMA)


@pytest.mark.parametrize(
    ("handle", "name"),
    [
        (handle, name)
        for handle in (Graph, Branch)
        for name in open_calls(handle)
        if not (handle is Branch and name in open_calls(View))
    ],
)
def test_a_keyword_that_a_call_does_not_take_is_refused_and_nothing_is_done(
    graph: Graph, tmp_path: Path, handle: type, name: str
) -> None:
    folder = tmp_path / "new"
    first = graph.branch().commit.id
    elsewhere = {"backup": (folder,), "export_to": (folder,)}
    needed = {**NEEDED, **elsewhere, "revert": (first,), "preview_revert": (first,)}
    more: dict[str, object] = {"branch": "draft"} if name == "ingest" else {}
    call: Callable[..., object] = getattr(graph if handle is Graph else graph.branch(), name)

    with pytest.raises(TypeError, match=f"{name}.* got an unexpected keyword argument 'secnods'"):
        call(*needed.get(name, ()), **more, secnods=1)

    assert graph.branch().commit.id == first
    assert list(graph.branches()) == ["main"]
    assert not folder.exists()


def test_a_misspelt_keyword_is_answered_with_the_right_one(graph: Graph, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="argument 'dryrun'; did you mean 'dry_run'"):
        graph.load([{"name": "Ana"}], type="Person", dryrun=True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="argument 'verfy'; did you mean 'verify'"):
        og.restore(graph.uri, tmp_path / "copy", verfy=False)  # type: ignore[call-arg]

    assert not (tmp_path / "copy").exists()


def test_what_a_load_takes_and_new_vectors_do_not_is_refused(graph: Graph) -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'dry_run'"):
        graph.embed_again(dry_run=True)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", ["seconds", "rows", "bytes"])
@pytest.mark.parametrize("limit", ["a", None, float("nan"), True, [1]])
def test_a_budget_that_bounds_nothing_is_refused_when_it_is_made(name: str, limit: object) -> None:
    with pytest.raises(InputError, match=f"'{name}' of a budget is a number, not"):
        og.Budget(**{name: limit})  # type: ignore[arg-type]


def test_a_budget_may_be_any_number() -> None:
    wide: Any = np.int64(3)
    assert og.Budget(seconds=float("inf"), rows=wide).rows == 3
