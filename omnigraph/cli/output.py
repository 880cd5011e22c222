"""Output: how results are shown."""

import json

import click

from omnigraph.errors import Json, Problem
from omnigraph.span import Source


def show_json(document: Json) -> None:
    """Print one JSON document on stdout."""
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def show_problem(problem: Problem, source: Source) -> None:
    """Print a problem with its source line, in colour on a terminal."""
    head, _, rest = problem.render(source).partition("\n")
    click.echo(click.style(head, fg="red", bold=True))
    if rest:
        click.echo(rest)


def show_warning(code: str, message: str) -> None:
    """Print a warning, in colour on a terminal."""
    click.echo(click.style(f"warning[{code}]: {message}", fg="yellow"))


def counted(count: int, noun: str) -> str:
    """Give a count with its noun: `1 error`, `2 errors`, `3 queries`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"
