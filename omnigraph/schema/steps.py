"""Steps: the changes a schema with data can make, as values with a text and a JSON form."""

from typing import ClassVar, TypeAlias

from omnigraph.errors import Json
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Annotation, PatternCheck, Range
from omnigraph.syntax.literal import quote


@dataclass(frozen=True, slots=True, kw_only=True)
class UniqueConstraint:
    """No two rows have the same values of these properties."""

    properties: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexConstraint:
    """Rows are found quickly by these properties."""

    properties: tuple[str, ...]


AnyConstraint: TypeAlias = UniqueConstraint | IndexConstraint | Range | PatternCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class AddType:
    """A new interface, node type or edge type."""

    kind: ClassVar[str] = "add_type"
    type_kind: str
    name: str

    def __str__(self) -> str:
        return f"add {self.type_kind} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameType:
    """A type with a new name; it keeps its identity, its rows and its indexes."""

    kind: ClassVar[str] = "rename_type"
    type_kind: str
    from_: str
    to: str

    def __str__(self) -> str:
        return f"rename {self.type_kind} {self.from_} to {self.to}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AddProperty:
    """A new property: null in existing rows, or its default if it is required."""

    kind: ClassVar[str] = "add_property"
    type_kind: str
    type_name: str
    property_name: str
    property_type: str

    def __str__(self) -> str:
        return f"add property {self.type_name}.{self.property_name}: {self.property_type}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameProperty:
    """A property with a new name; it keeps its identity, its values and its indexes."""

    kind: ClassVar[str] = "rename_property"
    type_kind: str
    type_name: str
    from_: str
    to: str

    def __str__(self) -> str:
        return f"rename property {self.type_name}.{self.from_} to {self.to}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtendEnum:
    """More values for an enum; it keeps those that it has."""

    kind: ClassVar[str] = "extend_enum"
    type_kind: str
    type_name: str
    property_name: str
    values: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"add {', '.join(self.values)} to the values of {self.type_name}.{self.property_name}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AddConstraint:
    """A new rule, which existing rows must satisfy too, or an index."""

    kind: ClassVar[str] = "add_constraint"
    type_kind: str
    type_name: str
    constraint: AnyConstraint

    def __str__(self) -> str:
        return f"add {constraint_text(self.constraint)} to {self.type_name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropType:
    """A type that goes; its rows stay at older commits, until these are cleaned up."""

    kind: ClassVar[str] = "drop_type"
    type_kind: str
    name: str

    def __str__(self) -> str:
        return f"drop {self.type_kind} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropProperty:
    """A property that goes; its values stay at older commits, until these are cleaned up."""

    kind: ClassVar[str] = "drop_property"
    type_kind: str
    type_name: str
    property_name: str

    def __str__(self) -> str:
        return f"drop property {self.type_name}.{self.property_name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropConstraint:
    """A rule or an index that goes."""

    kind: ClassVar[str] = "drop_constraint"
    type_kind: str
    type_name: str
    constraint: AnyConstraint

    def __str__(self) -> str:
        return f"drop {constraint_text(self.constraint)} of {self.type_name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DropInterface:
    """An interface that a node type no longer implements."""

    kind: ClassVar[str] = "drop_interface"
    type_name: str
    interface: str

    def __str__(self) -> str:
        return f"drop interface {self.interface} of {self.type_name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreType:
    """A type that was dropped before, with the rows that older commits have of it."""

    kind: ClassVar[str] = "restore_type"
    type_kind: str
    name: str

    def __str__(self) -> str:
        return f"restore {self.type_kind} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreProperty:
    """A property that was dropped before, with the values that older commits have of it."""

    kind: ClassVar[str] = "restore_property"
    type_kind: str
    type_name: str
    property_name: str
    property_type: str

    def __str__(self) -> str:
        return f"restore property {self.type_name}.{self.property_name}: {self.property_type}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateTypeMetadata:
    """New descriptions, annotations or interfaces of a type."""

    kind: ClassVar[str] = "update_type_metadata"
    type_kind: str
    name: str
    annotations: tuple[Annotation, ...]

    def __str__(self) -> str:
        return f"update the metadata of {self.type_kind} {self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePropertyMetadata:
    """A new description or new annotations of a property."""

    kind: ClassVar[str] = "update_property_metadata"
    type_kind: str
    type_name: str
    property_name: str
    annotations: tuple[Annotation, ...]

    def __str__(self) -> str:
        return f"update the metadata of {self.type_name}.{self.property_name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsupportedChange:
    """A change that a graph with data cannot make; it makes the whole plan unsupported."""

    kind: ClassVar[str] = "unsupported_change"
    entity: str
    reason: str

    def __str__(self) -> str:
        return f"cannot change {self.entity}: {self.reason}"


MigrationStep: TypeAlias = (
    AddType
    | RenameType
    | AddProperty
    | RenameProperty
    | ExtendEnum
    | AddConstraint
    | DropType
    | DropProperty
    | DropConstraint
    | DropInterface
    | RestoreType
    | RestoreProperty
    | UpdateTypeMetadata
    | UpdatePropertyMetadata
    | UnsupportedChange
)
Drop: TypeAlias = DropType | DropProperty | DropConstraint | DropInterface


@dataclass(frozen=True, slots=True)
class SchemaMigrationPlan:
    """The steps from one schema to another, in the order in which they are taken."""

    steps: tuple[MigrationStep, ...]

    @property
    def supported(self) -> bool:
        return not any(isinstance(step, UnsupportedChange) for step in self.steps)

    def to_json(self) -> dict[str, Json]:
        """Return the plan as a JSON object; its form is stable."""
        return {"supported": self.supported, "steps": [step_json(step) for step in self.steps]}


def step_json(step: MigrationStep) -> dict[str, Json]:
    """Return a step as a JSON object; its form is stable."""
    found: dict[str, Json] = {"kind": step.kind}
    for name in step.__dataclass_fields__:
        found[name.rstrip("_")] = _field_json(getattr(step, name))
    return found


def _field_json(value: object) -> Json:
    match value:
        case UniqueConstraint(properties=names):
            return {"kind": "unique", "properties": list(names)}
        case IndexConstraint(properties=names):
            return {"kind": "index", "properties": list(names)}
        case Range():
            found: dict[str, Json] = {"kind": "range", "property": value.property}
            return {**found, "minimum": value.minimum, "maximum": value.maximum}
        case PatternCheck():
            return {"kind": "check", "property": value.property, "pattern": value.pattern}
        case Annotation():
            return {"name": value.name, "value": value.value, "options": dict(value.options)}
        case tuple():
            return [_field_json(each) for each in value]
        case str():
            return value
        case _:
            raise TypeError(f"{value!r} is no part of a step")


def constraint_text(constraint: AnyConstraint) -> str:
    """Return a constraint as a schema writes it."""
    match constraint:
        case UniqueConstraint(properties=names):
            return f"@unique({', '.join(names)})"
        case IndexConstraint(properties=names):
            return f"@index({', '.join(names)})"
        case Range():
            low = "" if constraint.minimum is None else constraint.minimum
            high = "" if constraint.maximum is None else constraint.maximum
            return f"@range({constraint.property}, {low}..{high})"
        case PatternCheck():
            return f"@check({constraint.property}, {quote(constraint.pattern)})"
