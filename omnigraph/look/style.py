"""Style: the tokens as CSS for a page or for a part of somebody else's page."""

import re
from functools import cache
from pathlib import Path

_TOKENS = Path(__file__).with_name("tokens.css")
_BLOCK = re.compile(r":root([^{]*)\{([^}]*)\}")
# What says that a notebook is dark, or light, whatever the system says.
_DARK = ('[data-jp-theme-light="false"]', ".vscode-dark", 'html[theme="dark"]')
_LIGHT = ('[data-jp-theme-light="true"]', ".vscode-light", 'html[theme="light"]')
_TYPES = 10


@cache
def tokens() -> tuple[str, str]:
    """Return the declarations of the light tokens, and those that are other in the dark."""
    found = {theme: " ".join(body.split()) for theme, body in _BLOCK.findall(_tokens_text())}
    return found[" "], found["[data-theme='dark'] "]


@cache
def page_style() -> str:
    """Return the tokens for a whole page, which is as dark as the reader's system; paper is not."""
    light, dark = tokens()
    night = f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {dark} }} }}"
    return f":root {{ {light} }}\n{night}\n{_colours()}"


@cache
def part_style(name: str) -> str:
    """Return the tokens for elements of a class, in a notebook that may be dark."""
    light, dark = tokens()
    parts = [f".{name} {{ {light} }}"]
    parts.append(f"@media screen and (prefers-color-scheme: dark) {{ .{name} {{ {dark} }} }}")
    for themes, said in ((_LIGHT, light), (_DARK, dark)):
        where = ", ".join(f"{theme} .{name}" for theme in themes)
        parts.append(f"{where} {{ {said} }}")
    return "\n".join(parts)


def _colours() -> str:
    return "\n".join(
        f'[data-colour="{each}"] {{ --colour: var(--type-{each}) }}' for each in range(_TYPES)
    )


def _tokens_text() -> str:
    return _TOKENS.read_text(encoding="utf-8")
