"""Handles: the module of the async handles, made from the blocking ones; `make docs` writes it."""

import ast
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
MADE = ROOT / "omnigraph" / "aio" / "handles.py"
SOURCES = [
    ROOT / "omnigraph" / "api" / f"{name}.py" for name in ("algorithms", "view", "branch", "graph")
]
HEAD = '''\
"""Handles: the async handles on a graph; made from the blocking ones by `make docs`.

Each method has the name, the parameters and the promise of the blocking one, which it runs.
"""

from __future__ import annotations
'''
# What costs nothing and is not awaited.
AT_ONCE = ("place", "name", "uri", "actor")
HANDLES = ("Algorithms", "View", "Branch", "Graph")
# What a method returns, and what the async one does.
ITEMS = {"Log": "Commit", "Iterator[bytes]": "bytes"}


def made() -> str:
    """Return the module."""
    trees = [ast.parse(path.read_text()) for path in SOURCES]
    classes = [
        each
        for tree in trees
        for each in tree.body
        if isinstance(each, ast.ClassDef) and each.name in HANDLES
    ]
    body = "\n\n".join(_class(each) for each in classes)
    text = "\n".join([HEAD, _imports(trees, body), "", body, ""])
    mend = ["check", "--fix-only", "--select=I,F401,UP037", "--quiet"]
    for command in (mend, ["format", "--quiet"]):
        ruff = [str(Path(sys.executable).with_name("ruff")), *command]
        text = subprocess.run(
            [*ruff, f"--stdin-filename={MADE}", "-"],
            input=text,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    return text


def write() -> None:
    """Write the module anew."""
    MADE.write_text(made())


def _imports(trees: list[ast.Module], body: str) -> str:
    """Return the imports of the blocking handles that are needed, and ours."""
    lines = [
        "from functools import partial",
        "from types import TracebackType",
        "from typing import TYPE_CHECKING, Self, TypeAlias, Union",
        "from omnigraph.aio.calls import Pending",
        "from omnigraph.aio.handle import Handle, blocking_place",
        "from omnigraph.aio.items import (MANY, AsyncBlock, AsyncChangeSet, AsyncCommitChanges,",
        "    AsyncItems, AsyncResultStream, AsyncWatch, blocking_changes, changes_of)",
        "from omnigraph.aio.queries import AsyncQueries",
        "from omnigraph.api.algorithms import Algorithms",
        "from omnigraph.api.branch import Branch",
        "from omnigraph.api.graph import Graph",
        "from omnigraph.api.view import View",
    ]
    checked = [
        "if TYPE_CHECKING:",
        "    from omnigraph.aio.computed import AsyncAlgorithmResult",
    ]
    for tree in trees:
        lines += _needed(tree.body, body)
        blocks = [each for each in tree.body if isinstance(each, ast.If)]
        checked += [f"    {line}" for block in blocks for line in _needed(block.body, body)]
    place = 'Place: TypeAlias = Union[str, "AsyncView"]'
    return "\n".join([*dict.fromkeys(lines), *dict.fromkeys(checked), "", place])


def _needed(body: list[ast.stmt], text: str) -> list[str]:
    """Return each name of the imports that the text has, as a line of its own."""
    ours = {*HANDLES, "Place", "Queries", "Log", "TYPE_CHECKING", "Any", "Union", "TypeAlias"}
    words = set("".join(c if c.isalnum() or c == "_" else " " for c in text).split())
    lines = []
    for each in body:
        if isinstance(each, ast.ImportFrom):
            names = [name.name for name in each.names if name.name in words - ours]
            lines += [f"from {each.module} import {name}" for name in names]
        elif isinstance(each, ast.Import):
            lines += [f"import {name.name}" for name in each.names if name.name in words]
    return lines


def _class(given: ast.ClassDef) -> str:
    base = "AsyncView" if given.name == "Branch" else f"Handle[{given.name}]"
    lines = [f"class Async{given.name}({base}):", _documented(given, "    ")]
    if given.name == "Branch":
        lines.append("    _handle: Branch")
    methods = [each for each in given.body if isinstance(each, ast.FunctionDef)]
    lines += [_method(each) for each in methods if not each.name.startswith("_")]
    if given.name == "Graph":
        lines.append(_BLOCK)
    return "\n\n".join(lines)


_BLOCK = """\
    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()
"""


def _method(given: ast.FunctionDef) -> str:
    decorators = [ast.unparse(each) for each in given.decorator_list]
    if "property" in decorators:
        return _property(given)
    returns = ast.unparse(given.returns).strip("'\"") if given.returns else "None"
    call = f"self._handle.{given.name}"
    arguments = _arguments(given.args)
    done = f"self._calls.run({', '.join([call, *arguments])})"
    later = f"partial({', '.join([call, *arguments])})" if arguments else call
    if given.name == "close":
        return _written(given, "async def", "None", f"await self._calls.close({call})")
    if given.name == "watch":
        looks = later.replace(call, "self._handle._looks")
        found = f"return AsyncWatch(self._calls, {looks})"
        return _written(given, "def", "AsyncItems[AsyncCommitChanges]", found)
    if given.name == "run":
        wrap = "lambda branch: AsyncBranch(branch, self._calls)"
        found = f"return AsyncBlock(self._calls, {later}, {wrap})"
        return _written(given, "def", "AsyncBlock[AsyncBranch, Branch]", found)
    if given.name in ("branch", "acting_as"):
        found = f"return Async{returns}({call}({', '.join(arguments)}), self._calls)"
        return _written(given, "def", f'"Async{returns}"', found)
    if returns in HANDLES:
        found = f"return Async{returns}(await {done}, self._calls)"
        return _written(given, "async def", f'"Async{returns}"', found)
    if returns in ITEMS:
        most = ", most=MANY" if returns == "Log" else ""
        found = f"return AsyncItems(self._calls, {later}{most})"
        return _written(given, "def", f"AsyncItems[{ITEMS[returns]}]", found)
    if returns == "Iterator[CommitChanges]":
        each = f"map(partial(changes_of, self._calls), {call}({', '.join(arguments)}))"
        found = f"return AsyncItems(self._calls, lambda: {each})"
        return _written(given, "def", "AsyncItems[AsyncCommitChanges]", found)
    if returns == "ChangeSet":
        found = f"return AsyncChangeSet(self._calls, await {done})"
        return _written(given, "async def", "AsyncChangeSet", found)
    if returns == "AlgorithmResult":
        late = "from omnigraph.aio.computed import AsyncAlgorithmResult"
        found = f"{late}\n\n        return AsyncAlgorithmResult.of(self._calls, await {done})"
        return _written(given, "async def", '"AsyncAlgorithmResult"', found)
    if returns == "ResultStream":
        found = f"return await AsyncResultStream.of(self._calls, {later})"
        return _written(given, "async def", "AsyncResultStream", found)
    if returns.startswith("Iterator"):
        raise AssertionError(f"say in ITEMS what '{given.name}' returns: {returns}")
    body = f"await {done}" if returns == "None" else f"return await {done}"
    return _written(given, "async def", _quoted(given.returns), body)


def _property(given: ast.FunctionDef) -> str:
    returns = ast.unparse(given.returns) if given.returns else "None"
    value = f"self._handle.{given.name}"
    if given.name == "queries":
        returns, body = "AsyncQueries", f"return AsyncQueries(self._calls, {value})"
    elif given.name == "algo":
        returns, body = "AsyncAlgorithms", f"return AsyncAlgorithms({value}, self._calls)"
    elif given.name in AT_ONCE:
        body = f"return {value}"
    else:
        returns, body = f"Pending[{returns}]", f"return Pending(self._calls, lambda: {value})"
    return "    @property\n" + _written(given, "def", returns, body)


def _written(given: ast.FunctionDef, kind: str, returns: str, body: str) -> str:
    signature = ast.unparse(given.args).replace("ShownChanges]", "ShownChanges | AsyncChangeSet]")
    head = f"    {kind} {given.name}({signature}) -> {returns}:"
    return "\n".join([head, _documented(given, "        "), f"        {body}"])


def _arguments(given: ast.arguments) -> list[str]:
    """Return how a method hands on what it was given."""
    found = [_value(each) for each in [*given.posonlyargs, *given.args] if each.arg != "self"]
    found += [f"*{given.vararg.arg}"] if given.vararg else []
    found += [f"{each.arg}={_value(each)}" for each in given.kwonlyargs]
    return [*found, f"**{given.kwarg.arg}"] if given.kwarg else found


def _value(given: ast.arg) -> str:
    if given.annotation is not None and ast.unparse(given.annotation) == "Place":
        return f"blocking_place({given.arg})"
    return f"blocking_changes({given.arg})" if given.arg == "compared" else given.arg


def _quoted(given: ast.expr | None) -> str:
    return "None" if given is None else ast.unparse(given)


def _documented(given: ast.ClassDef | ast.FunctionDef, indent: str) -> str:
    text = ast.get_docstring(given) or ""
    lines = [f"{indent}{line}" if line else "" for line in f'"""{text}'.splitlines()]
    return "\n".join([*lines, f'{indent}"""']) if len(lines) > 1 else f'{lines[0]}"""'


if __name__ == "__main__":
    write()
