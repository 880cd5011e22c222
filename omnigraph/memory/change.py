"""Change: what is written to remember a fact, as one mutation."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from datetime import date

from omnigraph.frozen import dataclass
from omnigraph.memory.names import Entity
from omnigraph.memory.new_fact import NewFact
from omnigraph.memory.shape import ABOUT, ENTITY, FACT, MemoryShape


@dataclass(slots=True)
class Change:
    """A mutation that is put together: its statements, and the values of its parameters."""

    shape: MemoryShape
    statements: list[str] = field(default_factory=list)
    values: dict[str, object] = field(default_factory=dict)
    _kinds: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The mutation as the language has it."""
        declared = ", ".join(f"$v{at}: {kind}" for at, kind in enumerate(self._kinds))
        return f"query remember({declared}) {{ {' '.join(self.statements)} }}"

    def insert(self, type_name: str, row: Mapping[str, object]) -> None:
        """Insert a row."""
        told = ", ".join(f"{name}: {self._param(each)}" for name, each in row.items())
        self.statements.append(f"insert {type_name} {{ {told} }}")

    def fact(self, given: NewFact, fact: str, about: Iterable[str]) -> None:
        """Insert a fact, and what it is about."""
        row: dict[str, object] = {
            self.shape.fact_key: fact,
            "text": given.text,
            "valid_from": given.since,
            "valid_to": given.until,
            "attribute": given.attribute,
            "value": given.value,
        }
        self.insert(FACT, {name: each for name, each in row.items() if each is not None})
        for each in about:
            self.insert(ABOUT, {"from": fact, "to": each})

    def entities(self, found: Iterable[Entity]) -> None:
        """Insert the entities that are new, and note the other names of those that got some."""
        key = self.shape.entity_key
        for each in found:
            row: dict[str, object] = {key: each.id, "name": each.name, "aliases": [*each.aliases]}
            if each.is_new:
                self.insert(ENTITY, {name: value for name, value in row.items() if value})
            elif each.has_more_names:
                told, of = self._param([*each.aliases]), self._param(each.id)
                self.statements.append(
                    f"update {ENTITY} set {{ aliases: {told} }} where {key} = {of}"
                )

    def end(self, fact: str, until: date) -> None:
        """End a fact."""
        day, key = self._param(until), self._param(fact)
        self.statements.append(
            f"update {FACT} set {{ valid_to: {day} }} where {self.shape.fact_key} = {key}"
        )

    def _param(self, value: object) -> str:
        kind = "Date" if isinstance(value, date) else "String"
        name = f"v{len(self._kinds)}"
        self._kinds.append("[String]" if isinstance(value, list) else kind)
        self.values[name] = value
        return f"${name}"
