"""The command `example`: a bundled example as a folder of one's own, to run and to change."""

from pathlib import Path
from shlex import quote

import click

from omnigraph.cli.output import show_json
from omnigraph.cli.session import json_option
from omnigraph.errors import InputError, UnreadableError

_EXAMPLES = ("memory", "people", "research", "supply")


@click.command()
@click.argument("name", type=click.Choice(_EXAMPLES))
@click.argument("folder", required=False)
@json_option
def example(name: str, folder: str | None, as_json: bool) -> None:
    """Write an example into FOLDER, by default one of the same name.

    Each has a schema, queries, rows and a walk through them in Python.

    \b
    memory    what an agent remembers: facts with sources, true for a time
    people    people and where they work; demo.sh shows the commands, on Spark
    research  papers: search by words and meaning, citations, a review on a branch
    supply    a supply chain with rules, and a supplier that fails
    """
    place = Path(folder or name)
    written = _copy(name, place)
    if as_json:
        show_json({"example": name, "folder": str(place), "files": [*written]})
        return
    click.echo(f"wrote {', '.join(written)} into {place}")
    run = "sh demo.sh" if "demo.sh" in written else "python walk.py"
    click.echo(f"next: cd {quote(str(place))} && {run}")


def _copy(name: str, place: Path) -> list[str]:
    """Write the files of an example into a place that is free, and return their names."""
    from importlib.resources import files

    try:
        if place.exists() and (not place.is_dir() or any(place.iterdir())):
            hint = "name another folder: omnigraph example NAME FOLDER"
            raise InputError(f"'{place}' exists and is not an empty folder", hint=hint)
        place.mkdir(parents=True, exist_ok=True)
        found = files("omnigraph.cli").joinpath("examples", name).iterdir()
        contents = {each.name: each.read_bytes() for each in found if each.is_file()}
        for each, content in sorted(contents.items()):
            (place / each).write_bytes(content)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UnreadableError(f"cannot write '{place}': {reason}") from None
    return sorted(contents)
