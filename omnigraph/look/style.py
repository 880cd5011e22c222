"""Style: the tokens and sheets as CSS for a page, or for a part of somebody else's page."""

import re
from functools import cache
from pathlib import Path

from omnigraph.look.colours import COLOURS

# The class of everything that sheets are about.
SCOPE = "omnigraph"
_FOLDER = Path(__file__).parent
_BLOCK = re.compile(r":root([^{]*)\{([^}]*)\}")
_TOKEN = re.compile(r"(--[\w-]+): ([^;]+);")
# What says that a notebook is dark, or light, whatever the system says.
_DARK = ('[data-jp-theme-light="false"]', ".vscode-dark", 'html[theme="dark"]')
_LIGHT = ('[data-jp-theme-light="true"]', ".vscode-light", 'html[theme="light"]')


@cache
def sheet(name: str) -> str:
    """Return a sheet of rules by its name: `table`, `diff`, `diagram` or `widget`."""
    return (_FOLDER / f"{name}.css").read_text(encoding="utf-8")


@cache
def page_style() -> str:
    """Return the tokens for a whole page, which is as dark as the reader's system; paper is not."""
    light, dark = _tokens()
    night = f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
    return f":root {{ {light} }}\n{night}\n{_colours()}"


@cache
def part_style() -> str:
    """Return the tokens for a part of a notebook, which is as dark as the notebook."""
    light, dark = (dict(_TOKEN.findall(each)) for each in _tokens())
    said = " ".join(
        f"{name}: {f'light-dark({value}, {dark[name]})' if name in dark else value};"
        for name, value in light.items()
    )
    rules = [f".{SCOPE} {{ color-scheme: light dark; {said} }}"]
    for scheme, themes in (("light", _LIGHT), ("dark", _DARK)):
        where = ", ".join(f"{theme} .{SCOPE}" for theme in themes)
        rules.append(f"{where} {{ color-scheme: {scheme} }}")
    return "\n".join([*rules, _colours()])


@cache
def _tokens() -> tuple[str, str]:
    """Return the declarations of the light tokens, and those that are other in the dark."""
    text = (_FOLDER / "tokens.css").read_text(encoding="utf-8")
    found = {theme.strip(): " ".join(body.split()) for theme, body in _BLOCK.findall(text)}
    return found[""], found["[data-theme='dark']"]


def _colours() -> str:
    return "\n".join(
        f'.{SCOPE} [data-colour="{each}"] {{ --colour: var(--type-{each}) }}'
        for each in range(COLOURS)
    )
