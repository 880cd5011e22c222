"""Picture: something to look at, as HTML that stands still and as a widget that answers."""

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

from omnigraph.frozen import dataclass
from omnigraph.html import notebook_part

if TYPE_CHECKING:
    from anywidget import AnyWidget

# What is told about a node when it is chosen: names and values, as texts.
Details = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Picture:
    """Something to look at in a notebook.

    Where widgets run and the extra `notebook` is installed, it answers to mouse and keys; anywhere
    else it is the same picture, standing still. `html` is all of it, escaped; `details` is what is
    shown about a node of it that is chosen.
    """

    title: str
    html: str = field(repr=False)
    details: Details = field(default_factory=dict, repr=False)
    sheets: tuple[str, ...] = field(default=(), repr=False)

    @cached_property
    def widget(self) -> "AnyWidget":
        """The widget, to be put among others; raises UnavailableError without the extra."""
        from omnigraph.notebook.widget import build_widget

        return build_widget(self.html, self.details)

    def _repr_html_(self) -> str:
        return notebook_part(self.html, *self.sheets)

    def _repr_mimebundle_(self, **_: object) -> dict[str, object]:
        """Return the picture in all forms; the notebook takes the richest that it can show."""
        from omnigraph.notebook.widget import has_widgets

        still: dict[str, object] = {"text/plain": repr(self), "text/html": self._repr_html_()}
        if not has_widgets():
            return still
        found = self.widget._repr_mimebundle_()
        # Of other versions the answer is a pair, with metadata.
        forms = found[0] if isinstance(found, tuple) else found
        return {**(forms or {}), **still}
