"""Log: the commits of a branch, newest first, read as they are used."""

from collections.abc import Callable, Iterator
from itertools import islice

from omnigraph.html import html_table, notebook_part
from omnigraph.versioning.commit import Commit, time_text

_SHOWN = 20


class Log(Iterator[Commit]):
    """The commits of a branch; going over it reads them, and showing it reads the first anew."""

    def __init__(self, title: str, read: Callable[[], Iterator[Commit]]) -> None:
        self._title = title
        self._read = read
        self._rest: Iterator[Commit] | None = None

    def __next__(self) -> Commit:
        if self._rest is None:
            self._rest = self._read()
        return next(self._rest)

    def __repr__(self) -> str:
        return f"Log({self._title!r})"

    def _repr_html_(self) -> str:
        rows = [
            (
                each.id,
                time_text(each.created_at),
                each.actor or "",
                str(each.kind),
                each.message or "",
            )
            for each in islice(self._read(), _SHOWN)
        ]
        below = f"the newest {_SHOWN}" if len(rows) == _SHOWN else ""
        return notebook_part(
            html_table(("commit", "time", "actor", "kind", "message"), rows, below)
        )
