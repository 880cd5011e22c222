"""Widget: the widget of a picture; the only module that imports anywidget."""

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from omnigraph.errors import UnavailableError, hint_install
from omnigraph.look.style import part_style, sheet

if TYPE_CHECKING:
    from anywidget import AnyWidget

_SHEETS = ("table", "diff", "diagram", "widget")


@cache
def has_widgets() -> bool:
    """Whether the extra `notebook` is installed."""
    return find_spec("anywidget") is not None


def build_widget(html: str, details: Mapping[str, Mapping[str, str]]) -> "AnyWidget":
    """Return a widget that shows a picture; raise UnavailableError without the extra `notebook`."""
    if not has_widgets():
        hint = hint_install("notebook")
        raise UnavailableError("the package anywidget is not installed", hint=hint)
    return _widget_class()(html=html, details={key: dict(each) for key, each in details.items()})


def widget_style() -> str:
    """Return the style of the widget."""
    return "\n".join([part_style(), *map(sheet, _SHEETS)])


@cache
def _widget_class() -> "type[AnyWidget]":
    import anywidget
    import traitlets

    class PictureWidget(anywidget.AnyWidget):
        """A picture that answers to mouse and keys."""

        _esm = Path(__file__).with_name("widget.js").read_text(encoding="utf-8")
        _css = widget_style()
        html = traitlets.Unicode().tag(sync=True)
        details = traitlets.Dict().tag(sync=True)

    return PictureWidget
