"""Statements: the changes that two branches of a village make."""


def person(slug: str, **values: object) -> str:
    """Return the statement that inserts a person."""
    return f'insert Person {{ slug: "{slug}"{_more(values)} }}'


def edge(name: str, source: str, target: str, **values: object) -> str:
    """Return the statement that inserts an edge."""
    return f'insert {name} {{ from: "{source}", to: "{target}"{_more(values)} }}'


def update(slug: str, **values: object) -> str:
    """Return the statement that sets properties of a person."""
    return f'update Person set {{ {_more(values)[2:]} }} where slug = "{slug}"'


def weigh(source: str, target: str, weight: int, name: str = "Knows") -> str:
    """Return the statement that sets the weight of an edge."""
    where = f'from = "{source}" and to = "{target}"'
    return f"update {name} set {{ weight: {weight} }} where {where}"


def remove(slug: str, name: str = "Person") -> str:
    """Return the statement that removes a node, and the edges that touch it."""
    return f'delete {name} where slug = "{slug}"'


def part_ways(source: str, target: str, name: str = "Knows") -> str:
    """Return the statement that removes an edge."""
    return f'delete {name} where from = "{source}" and to = "{target}"'


def _more(values: dict[str, object]) -> str:
    return "".join(f", {name}: {_literal(value)}" for name, value in values.items())


def _literal(value: object) -> str:
    if value is None:
        return "null"
    return f'"{value}"' if isinstance(value, str) else str(value)
