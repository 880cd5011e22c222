"""Table: rows as a compact table within a number of tokens, and the cursor that goes on."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from omnigraph.errors import InputError, Json
from omnigraph.frozen import dataclass
from omnigraph.mcp.wording import to_line, tokens_of

if TYPE_CHECKING:
    from omnigraph.data.result import ResultStream

_AT_A_TIME = 64
# Left for the line about the rows, which is written last.
_HEAD_TOKENS = 120
_OFFSET = re.compile("[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a list goes on: behind how many rows, of which question, and at which commits."""

    offset: int
    question: str
    commits: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "~".join([str(self.offset), self.question, *self.commits])

    @classmethod
    def read(cls, text: str | None, question: str, commits: int = 1) -> Self | None:
        """Return the cursor of an answer; raise InputError for that of another question.

        It names so many commits; one that was copied in part names fewer.
        """
        if text is None:
            return None
        offset, _, rest = text.partition("~")
        asked, *named = rest.split("~")
        if not (_OFFSET.fullmatch(offset) and asked and len(named) == commits):
            raise InputError("this is not the cursor of an answer", hint="copy it as it was given")
        if asked != question:
            hint = "send the arguments of the first call again, and the cursor with them"
            raise InputError("the cursor belongs to another question", hint=hint)
        return cls(int(offset), asked, tuple(named))


def question_of(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return what stands for a call without its cursor."""
    rest = {name: each for name, each in arguments.items() if name != "cursor" and each is not None}
    told = json.dumps([tool, rest], sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(told.encode()).hexdigest()[:10]


class Page:
    """The rows of a list that fit an answer; all others are counted.

    A row that is too large for an answer of its own has its longest values cut.
    """

    def __init__(self, columns: Sequence[str], most: int, skip: int = 0) -> None:
        self.columns = list(columns)
        self.skip = skip
        self.total = 0
        self.cut = 0
        self._lines: list[str] = []
        head = to_line([*self.columns])
        self._left = max(1, most - _HEAD_TOKENS - tokens_of(head))
        self._is_full = False

    @property
    def shown(self) -> int:
        """How many rows are in the answer."""
        return len(self._lines)

    @property
    def left_out(self) -> int:
        """How many rows follow that are not in the answer."""
        return max(0, self.total - self.skip - self.shown)

    def fill(self, rows: Iterable[Sequence[Json]]) -> None:
        """Take rows while there is room, and count the rest."""
        for row in rows:
            self.add(row)

    def add(self, row: Sequence[Json]) -> None:
        """Take a row, or only count it."""
        self.total += 1
        if self.total <= self.skip or self._is_full:
            return
        line = to_line([*row])
        size = tokens_of(line) + 1
        if size > self._left and self._lines:
            self._is_full = True
            return
        if size > self._left:
            line, size = self._shortened(row), self._left
        self._lines.append(line)
        self._left -= size
        self._is_full = self._left <= 0

    def fill_from(self, stream: "ResultStream") -> None:
        """Take the rows of a query; those that do not fit are not turned into text."""
        from omnigraph.data.result import Result

        for result in stream.results():
            at, size = min(len(result), max(0, self.skip - self.total)), len(result)
            self.total += at
            while at < size and not self._is_full:
                part = Result(result.query_name, result.table.slice(at, _AT_A_TIME))
                self.fill(zip(*part.json_columns(), strict=True))
                at += len(part)
            self.total += size - at

    def turn(self) -> int:
        """Put rows that were taken from the end of a list in its order; return how many precede."""
        self.skip = self.left_out
        self._lines.reverse()
        return self.skip

    def text(self, noun: str, cursor: Cursor | None = None, note: str = "") -> str:
        """Return the answer: a line about the rows, the columns, and the rows."""
        first = self.skip + 1
        told = f"{self.total:,} {noun}"
        if self.shown < self.total:
            last = self.skip + self.shown
            told += f"; shown {first:,}-{last:,}" if self.shown else "; none shown"
        if self.left_out and cursor is not None:
            told += f', {self.left_out:,} left out; cursor: "{cursor}"'
        if self.cut:
            told += f"; {self.cut} long values cut"
        head = [told + note]
        return "\n".join([*head, to_line([*self.columns]), *self._lines] if self._lines else head)

    def next(self, question: str, *commits: str) -> Cursor | None:
        """Return where the list goes on; None at its end."""
        if not self.left_out:
            return None
        return Cursor(self.skip + self.shown, question, commits)

    def _shortened(self, row: Sequence[Json]) -> str:
        """Return a row that is too large, with values cut until it fits."""
        most = max(16, self._left * 3 // max(1, len(row)) - 40)
        cells: list[Json] = []
        for value in row:
            text = to_line(value)
            if len(text.encode()) <= most:
                cells.append(value)
                continue
            self.cut += 1
            start = value if isinstance(value, str) else text
            kept = start.encode()[:most].decode(errors="ignore")
            cells.append({"cut": kept, "characters": len(start)})
        return to_line(cells)
