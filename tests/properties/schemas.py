"""Random valid `.pg` schemas, as the pieces of their text.

A piece is what no white space may split; any white space or comment may stand between two.
"""

import re
from dataclasses import dataclass
from typing import Literal as Allowed

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from omnigraph.schema import types
from omnigraph.syntax.literal import datetime_text, literal_text, quote

KEYWORDS = re.findall(
    r"\S+",
    "order in not match return and or is null limit skip having distinct query node"
    " edge interface implements enum contains starts_with asc desc as insert update delete set"
    " where key unique index range check card count now date optional",
)
PLAIN = re.findall(r"\S+", "name slug age x _ _a camelCase title9 text vec since weight")
TYPE_NAMES = re.findall(
    r"\S+",
    "Person Company Doc Order In Not Contains Match String Vector I32 A B9 C_ Edge Node Query",
)
PATTERNS = ("", "^[A-Z]+$", "a|b", r"\d{2,4}", "é+", '"', r"\\")

_HALVES: tuple[Allowed["Cs"], ...] = ("Cs",)
texts = st.text(st.characters(exclude_categories=_HALVES), max_size=6)
notes = texts.filter(lambda text: bool(text.strip()))
enum_values = st.lists(
    st.sampled_from(["a", "b", "in", "1e5", "-", "a-b", "9", "_", "True"]), min_size=1, max_size=3
)
scalars = st.sampled_from([types.ScalarType(each) for each in types.Scalar])
value_types: SearchStrategy[types.ValueType] = st.one_of(
    scalars,
    scalars,
    st.sampled_from([each for each in types.Scalar if each is not types.Scalar.BLOB]).map(
        types.ListType
    ),
    enum_values.map(types.enum_of),
    st.integers(1, 2_000).map(types.VectorType),
)
gaps = st.sampled_from(
    [" ", "\n", "\t", "\r\n", "  \n ", " // note { } \n", "/* a * b */", "/**/", " /* \n */ "]
)


@dataclass(frozen=True, slots=True)
class Declared:
    """A property as a declaration writes it, and what the constraints have to know about it."""

    name: str
    type: types.ValueType
    nullable: bool
    pieces: tuple[str, ...]
    default: object = None
    keyed: bool = False


@dataclass(frozen=True, slots=True)
class DeclaredInterface:
    """An interface and its properties."""

    name: str
    properties: tuple[Declared, ...]

    @property
    def keyed(self) -> bool:
        return any(each.keyed for each in self.properties)


def schema_texts() -> SearchStrategy[str]:
    """Return the texts of valid schemas, one space between the pieces."""
    return schema_pieces().map(" ".join)


@st.composite
def spaced(draw: DrawFn, pieces: list[str]) -> str:
    """Return the pieces with white space and comments between them, also before and after."""
    around = draw(st.lists(gaps, min_size=len(pieces) + 1, max_size=len(pieces) + 1))
    text = around[0]
    for piece, gap in zip(pieces, around[1:], strict=True):
        text += piece + gap
    return text


@st.composite
def schema_pieces(draw: DrawFn) -> list[str]:
    """Return the pieces of a valid schema."""
    names = draw(st.permutations(TYPE_NAMES))
    fields = draw(st.permutations([*KEYWORDS, *PLAIN]))
    interfaces = []
    pieces: list[str] = []
    for at in range(draw(st.integers(0, 2))):
        own, fields = fields[:3], fields[3:]
        interfaces.append(draw(_interfaces(names[at], own)))
        pieces += _interface_pieces(interfaces[-1])
    nodes = names[2 : 2 + draw(st.integers(1, 3))]
    for node in nodes:
        pieces += draw(_nodes(node, interfaces, fields))
    for edge in names[5 : 5 + draw(st.integers(0, 3))]:
        pieces += draw(_edges(edge, nodes, fields))
    return pieces


def _interface_pieces(interface: DeclaredInterface) -> list[str]:
    body = [piece for each in interface.properties for piece in each.pieces]
    return ["interface", interface.name, "{", *body, "}"]


@st.composite
def _interfaces(draw: DrawFn, name: str, names: list[str]) -> DeclaredInterface:
    count = draw(st.integers(0, 3))
    properties: list[Declared] = [draw(_properties(each)) for each in names[:count]]
    keyable = [each for each in properties if types.is_single(each.type) and not each.nullable]
    keyed = draw(st.booleans())
    if keyable and keyed:
        at = properties.index(keyable[0])
        properties[at] = _flagged(properties[at], "key")
    return DeclaredInterface(name, tuple(properties))


@st.composite
def _nodes(
    draw: DrawFn, name: str, interfaces: list[DeclaredInterface], names: list[str]
) -> list[str]:
    implemented: list[DeclaredInterface] = draw(_chosen(interfaces))
    while sum(each.keyed for each in implemented) > 1:
        implemented.pop()
    inherited = [each for interface in implemented for each in interface.properties]
    own = [draw(_properties(each)) for each in names[: draw(st.integers(0, 4))]]
    repeated = [_bare(each) for each in inherited if draw(st.booleans())]
    embeds: list[Declared] = draw(_embeds(names[4], own))
    own = [*repeated, *own, *embeds]
    given = {each.name for each in own}
    rest = [each for each in inherited if each.name not in given]
    keyed = any(each.keyed for each in implemented)
    head = draw(_type_annotations(name))
    clause: list[str] = []
    for interface in implemented:
        clause += ["," if clause else "implements", interface.name]
    constraints = draw(_constraints([*own, *rest], keyed=keyed))
    body = [piece for each in own for piece in each.pieces]
    return ["node", name, *head, *clause, "{", *body, *constraints, "}"]


def _chosen(interfaces: list[DeclaredInterface]) -> SearchStrategy[list[DeclaredInterface]]:
    if not interfaces:
        return st.just([])
    return st.lists(st.sampled_from(interfaces), unique=True)


@st.composite
def _edges(draw: DrawFn, name: str, nodes: list[str], names: list[str]) -> list[str]:
    ends = [draw(st.sampled_from(nodes)), "->", draw(st.sampled_from(nodes))]
    card: list[str] = []
    if draw(st.booleans()):
        least = draw(st.integers(0, 3))
        most = draw(st.sampled_from(["", str(least), str(least + 5)]))
        card = ["@", "card", "(", f"{least}..{most}", ")"]
    own = [draw(_properties(each)) for each in names[: draw(st.integers(0, 2))]]
    constraints: list[str] = []
    if draw(st.booleans()):
        solid = [each.name for each in own if types.is_single(each.type) and not each.nullable]
        constraints += _call("key", ["src", "dst", *solid])
    if draw(st.booleans()):
        constraints += _call(draw(st.sampled_from(["unique", "index"])), ["dst", "src"])
    body = ["{", *(piece for each in own for piece in each.pieces), *constraints, "}"]
    optional = body if own or constraints or draw(st.booleans()) else []
    return ["edge", name, ":", *ends, *card, *draw(_type_annotations(name)), *optional]


@st.composite
def _properties(draw: DrawFn, name: str) -> Declared:
    kind = draw(value_types)
    nullable = draw(st.booleans())
    pieces = [name, ":", str(kind), *(["?"] if nullable else [])]
    default = None
    if not isinstance(kind, types.ListType | types.VectorType) and draw(st.booleans()):
        default, written = draw(_defaults(kind))
        pieces += ["@", "default", "(", written, ")"]
    pieces += draw(_flags(kind))
    if draw(st.booleans()):
        pieces += ["@", "description", "(", quote(draw(notes)), ")"]
    if draw(st.booleans()):
        pieces += ["@", "rename_from", "(", f'"was_{name}"', ")"]
    return Declared(name, kind, nullable, (*pieces, *draw(_kept())), default)


@st.composite
def _embeds(draw: DrawFn, name: str, properties: list[Declared]) -> list[Declared]:
    sources = [each for each in properties if each.type == types.STRING]
    if not sources or not draw(st.booleans()):
        return []
    source, kind = draw(st.sampled_from(sources)), types.VectorType(draw(st.integers(1, 9)))
    model = [",", "model", "=", '"m\\u0020"'] if draw(st.booleans()) else []
    written = draw(st.sampled_from([source.name, quote(source.name)]))
    pieces = (name, ":", str(kind), "?", "@", "embed", "(", written, *model, ")")
    return [Declared(name, kind, nullable=True, pieces=pieces)]


@st.composite
def _flags(draw: DrawFn, kind: types.ValueType) -> list[str]:
    """Return `@unique` and `@index` where the type allows them."""
    pieces: list[str] = []
    if types.is_single(kind) and draw(st.booleans()):
        pieces += ["@", "unique"]
    if kind != types.BLOB and not isinstance(kind, types.ListType) and draw(st.booleans()):
        pieces += ["@", "index"]
    return pieces


@st.composite
def _constraints(draw: DrawFn, properties: list[Declared], *, keyed: bool) -> list[str]:
    pieces: list[str] = []
    solid = [each.name for each in properties if types.is_single(each.type) and not each.nullable]
    if solid and not keyed and draw(st.booleans()):
        pieces += _call("key", draw(st.lists(st.sampled_from(solid), unique=True, min_size=1)))
    single = [each.name for each in properties if types.is_single(each.type)]
    if len(single) > 1 and draw(st.booleans()):
        pieces += _call(draw(st.sampled_from(["unique", "index"])), single)
    for each in properties:
        if each.type in types.NUMBERS and draw(st.booleans()):
            pieces += draw(_ranges(each))
        if each.type == types.STRING and each.default is None and draw(st.booleans()):
            pieces += _call("check", [each.name, quote(draw(st.sampled_from(PATTERNS)))])
    return pieces


@st.composite
def _ranges(draw: DrawFn, item: Declared) -> list[str]:
    """Return a range that holds the default, if there is one."""
    values = draw(st.lists(_numbers(item.type), min_size=2, max_size=2, unique=True))
    if isinstance(item.default, int | float):
        values.append(item.default)
    least, most = literal_text(min(values)), literal_text(max(values))
    bounds = draw(st.sampled_from([f"{least}..{most}", f"{least}..", f"..{most}"]))
    return _call("range", [item.name, bounds])


@st.composite
def _defaults(draw: DrawFn, kind: types.ValueType) -> tuple[object, str]:
    """Return a default and how it is written."""
    if kind in types.NUMBERS:
        number = draw(_numbers(kind))
        return number, literal_text(number)
    if isinstance(kind, types.EnumType):
        return "enum", quote(draw(st.sampled_from(kind.values)))
    if kind == types.BOOL:
        return "bool", draw(st.sampled_from(["true", "false"]))
    if kind == types.DATE:
        return "date", quote(draw(st.dates()).isoformat())
    if kind == types.DATETIME:
        return "datetime", quote(datetime_text(draw(st.datetimes())))
    if kind == types.BLOB:
        return "blob", draw(st.sampled_from(['"base64:AAAA"', '"s3://b/k"']))
    return "text", quote(draw(texts))


def _numbers(kind: types.ValueType) -> SearchStrategy[int | float]:
    if kind in types.FLOATS:
        width: Allowed[32, 64] = 32 if kind == types.F32 else 64
        return st.floats(allow_nan=False, allow_infinity=False, width=width)
    assert isinstance(kind, types.ScalarType)
    return st.integers(*types.INTEGER_BOUNDS[kind])


@st.composite
def _type_annotations(draw: DrawFn, name: str) -> list[str]:
    pieces: list[str] = []
    if draw(st.booleans()):
        pieces += ["@", "description", "(", quote(draw(notes)), ")"]
    if draw(st.booleans()):
        pieces += ["@", "rename_from", "(", f"Was{name}", ")"]
    if draw(st.booleans()):
        pieces += ["@", "instruction", "(", quote(draw(notes)), ")"]
    return [*pieces, *draw(_kept())]


@st.composite
def _kept(draw: DrawFn) -> list[str]:
    """Return annotations that mean nothing to OmniGraph."""
    pieces: list[str] = []
    for name in draw(st.lists(st.sampled_from(["pii", "in", "ui", "node", "order"]), max_size=2)):
        pieces += ["@", name]
        if draw(st.booleans()):
            value = draw(st.one_of(st.sampled_from(["a_name", "Name", "null"]), _literals()))
            pieces += ["(", value, *draw(st.sampled_from([[], [",", "a", "=", "1"]])), ")"]
    return pieces


def _literals() -> SearchStrategy[str]:
    numbers = st.one_of(_numbers(types.I64), st.floats(allow_nan=False, allow_infinity=False))
    return st.one_of(numbers, st.booleans(), texts).map(literal_text)


def _flagged(item: Declared, flag: str) -> Declared:
    pieces = (*item.pieces, "@", flag)
    return Declared(item.name, item.type, item.nullable, pieces, item.default, keyed=True)


def _bare(item: Declared) -> Declared:
    """Return the property as a node repeats it: the same type, and the rest is inherited."""
    pieces = (item.name, ":", str(item.type), *(["?"] if item.nullable else []))
    return Declared(item.name, item.type, item.nullable, pieces, item.default)


def _call(name: str, arguments: list[str]) -> list[str]:
    pieces: list[str] = []
    for argument in arguments:
        pieces += [",", argument]
    return ["@", name, "(", *pieces[1:], ")"]
