"""Statements: what tests insert into a town."""


def person(slug: str, **values: str) -> str:
    """Return the statement that inserts a person; the values are texts of the language."""
    more = "".join(f", {name}: {value}" for name, value in values.items())
    named = "" if "name" in values else f', name: "{slug.title()}"'
    return f'insert Person {{ slug: "{slug}"{named}{more} }}'


def city(slug: str) -> str:
    return f'insert City {{ slug: "{slug}" }}'


def link(edge: str, source: str, target: str, **values: str) -> str:
    """Return the statement that inserts an edge."""
    more = "".join(f", {name}: {value}" for name, value in values.items())
    return f'insert {edge} {{ from: "{source}", to: "{target}"{more} }}'
