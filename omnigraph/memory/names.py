"""Names: entities and sources by any of their names, and ids for new ones."""

import re
from collections.abc import Iterable
from dataclasses import replace
from hashlib import sha256
from itertools import count, islice
from uuid import uuid4

from omnigraph.api.view import View
from omnigraph.errors import InputError, RowNotFoundError
from omnigraph.frozen import dataclass
from omnigraph.memory import queries
from omnigraph.memory.new_fact import NewFact
from omnigraph.memory.queries import rows_of, taken
from omnigraph.memory.shape import ENTITY
from omnigraph.syntax.problems import shorten

_NO_WORD = re.compile(r"[\W_]+")
_LONGEST = 48
_TRIES = 100


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity by its id; one that is new has no row yet."""

    id: str
    name: str
    aliases: tuple[str, ...] = ()
    is_new: bool = False
    has_more_names: bool = False

    def also_called(self, names: Iterable[str]) -> "Entity":
        """Return the entity with other names, each once."""
        known = dict.fromkeys(self.aliases)
        own = {self.id, self.name}
        more = [each for each in dict.fromkeys(names) if each not in known and each not in own]
        aliases = (*self.aliases, *more)
        is_longer = self.has_more_names or bool(more)
        return replace(self, aliases=aliases, has_more_names=is_longer)


def find_entities(view: View, name: str) -> list[Entity]:
    """Return the entities that a name may mean; one whose id it is alone."""
    rows = rows_of(view, queries.ENTITY, name=name) or rows_of(view, queries.NAMED, name=name)
    return [
        Entity(str(each["id"]), str(each["name"]), tuple(each["aliases"] or ())) for each in rows
    ]


def find_entity(view: View, name: str) -> Entity | None:
    """Return the entity that a name means; raise InputError where it may mean several."""
    found = find_entities(view, name)
    if len(found) > 1:
        ids = ", ".join(f"'{shorten(each.id)}'" for each in found)
        raise InputError(
            f"'{shorten(name)}' may be any of the entities {ids}",
            hint="name the id; if they are one, make them one with `resolve`",
        )
    return found[0] if found else None


def find_source(view: View, name: str) -> str | None:
    """Return the id of the source with this id or title; raise InputError where several have it."""
    rows = rows_of(view, queries.SOURCE, name=name) or rows_of(view, queries.TITLED, name=name)
    found = [str(each["id"]) for each in rows]
    if len(found) > 1:
        ids = ", ".join(f"'{shorten(each)}'" for each in found)
        raise InputError(f"the sources {ids} have the title '{shorten(name)}'", hint="name the id")
    return found[0] if found else None


def known_entity(view: View, name: str) -> Entity:
    """Return the entity that a name means; raise RowNotFoundError where there is none."""
    found = find_entity(view, name)
    if found is None:
        hint = "names, other names and ids are compared; `search` finds by parts"
        raise RowNotFoundError(f"no {ENTITY} is called '{shorten(name)}'", hint=hint)
    return found


def entities_of(view: View, given: NewFact) -> tuple[list[Entity], list[tuple[str, str]]]:
    """Return what a new fact is about, and pairs of entities that may be one: they share a name."""
    found: dict[str, Entity] = {}
    twins: dict[tuple[str, str], None] = {}
    for name in given.about:
        more = tuple(given.aliases.get(name, ()))
        entity = find_entity(view, name) or _met(found.values(), name)
        if entity is None:
            entity = Entity(free_id(view, ENTITY, name, found), name, is_new=True)
        # Another of its names may have given it other names before.
        entity = found.get(entity.id, entity).also_called(more)
        found[entity.id] = entity
        others = (other.id for each in more for other in find_entities(view, each))
        twins |= dict.fromkeys((entity.id, each) for each in others if each != entity.id)
    return list(found.values()), list(twins)


def _met(found: Iterable[Entity], name: str) -> Entity | None:
    """Return the new entity that has the same name."""
    return next((each for each in found if each.name.casefold() == name.casefold()), None)


def free_id(view: View, type_name: str, text: str, also_taken: Iterable[str] = ()) -> str:
    """Return an id that no row of a type has, made of the words of a text."""
    words = _NO_WORD.sub("-", text.casefold()).strip("-")[:_LONGEST].strip("-")
    base = words or sha256(text.encode()).hexdigest()[:12]
    names = [base, *(f"{base}-{number}" for number in islice(count(2), _TRIES))]
    rows = rows_of(view, taken(type_name), ids=names)
    known = {*(str(each["id"]) for each in rows), *also_taken}
    found = next((each for each in names if each not in known), None)
    return found or f"{base}-{uuid4().hex}"
