"""Programs: random mutations that often change something, often break a rule, and may be wrong."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

SCHEMA = """
node Person {
  slug: String @key
  name: String
  age: I32? @index
  badge: U64? @unique
  score: F64?
  kind: enum(guest, staff) @default("guest")
  @range(age, 0..100)
  @check(name, "^[a-m]")
}
node Team { slug: String @key  motto: String? @unique }
node Memo { text: String  size: I64? }
edge Knows: Person -> Person { weight: F64? }
edge Led: Team -> Person @card(1..2) { since: Date? }
edge Member: Person -> Team @card(0..2) { role: String?  @key(src, dst) }
edge About: Memo -> Person { @unique(dst) }
"""

Value = str | int | float | None
Row = dict[str, Value]

PEOPLE = ("ann", "ben", "cleo", "dora")
TEAMS = ("red", "blue")
MEMOS = ("m1", "m2", "m3")
EDGE_IDS = ("e1", "e2", "e3", "e4")
KEYED = {"Person": ("slug",), "Team": ("slug",), "Member": ("src", "dst")}
DEFAULTS: dict[str, Row] = {"Person": {"kind": "guest"}}
ENDS = {
    "Knows": ("Person", "Person"),
    "Led": ("Team", "Person"),
    "Member": ("Person", "Team"),
    "About": ("Memo", "Person"),
}
NODES = {"Person": PEOPLE, "Team": TEAMS, "Memo": MEMOS}

# The properties that can be set, with their types; those with a `?` may be null.
PROPERTIES: dict[str, dict[str, str]] = {
    "Person": {
        "name": "String",
        "age": "I32?",
        "badge": "U64?",
        "score": "F64?",
        "kind": "String",
    },
    "Team": {"motto": "String?"},
    "Memo": {"text": "String", "size": "I64?"},
    "Knows": {"weight": "F64?"},
    "Led": {"since": "Date?"},
    "Member": {"role": "String?"},
    "About": {},
}
VALUES: dict[str, Sequence[Value]] = {
    "name": ("anna", "bert", "zoe"),
    "age": (0, 20, 20, 100, 101),
    "badge": (1, 2, 2**64 - 1),
    "score": (0.5, 0.0, -0.0, 1e300, float("nan")),
    "kind": ("guest", "staff"),
    "motto": ("win", "lose"),
    "text": ("hello", ""),
    "size": (0, 2**60, -1),
    "weight": (0.5, 2.0, -0.0),
    "since": ("2024-02-29", "2024-03-01"),
    "role": ("keeper", "wing"),
}


@dataclass(frozen=True, slots=True)
class Test:
    """One comparison of a column with a value, or with null."""

    column: str
    operator: str
    value: Value = None


@dataclass(frozen=True, slots=True)
class Both:
    """Two conditions joined by `and` or `or`."""

    left: "Where"
    word: str
    right: "Where"


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a condition."""

    inner: "Where"


Where = Test | Both | Not


@dataclass(frozen=True, slots=True)
class Insert:
    type: str
    values: Row


@dataclass(frozen=True, slots=True)
class Replace:
    type: str
    values: Row


@dataclass(frozen=True, slots=True)
class Update:
    type: str
    values: Row
    where: Where


@dataclass(frozen=True, slots=True)
class Delete:
    type: str
    where: Where


@dataclass(frozen=True, slots=True)
class Matched:
    """A change of what a pattern matches, by its name in `MATCHED`."""

    name: str


MATCHED = {
    "mirror": "match { $a knows $b } insert Knows { from: $b, to: $a, weight: 0.5 }",
    "inherit": "match { $p: Person  $p knows $q } set $p { age: $q.age }",
    "enrol": "match { $p: Person  $t: Team } insert Member { from: $p, to: $t, role: $t.motto }",
    "copy": "match { $m about $p } replace Memo { id: $p.slug, text: $m.text, size: $p.age }",
}
Statement = Insert | Replace | Update | Delete | Matched


@dataclass(frozen=True, slots=True)
class Query:
    """Statements that are one mutation; a wrong one does not compile."""

    statements: tuple[Statement, ...]
    is_wrong: bool = False


@dataclass(slots=True)
class Text:
    """The text of a query and the parameters that it takes."""

    parts: list[str] = field(default_factory=list)
    declared: dict[str, str] = field(default_factory=dict)
    params: dict[str, Value] = field(default_factory=dict)

    def whole(self) -> str:
        declared = ", ".join(f"${name}: {kind}" for name, kind in self.declared.items())
        return f"query it({declared}) {{ {' '.join(self.parts)} }}"

    def value(self, column: str, value: Value, kind: str) -> str:
        """Return a value as text; what has no literal is a parameter."""
        if isinstance(value, str) and kind != "Date":
            return f'"{value}"'
        if isinstance(value, int):
            return str(value)
        name = f"p{len(self.declared)}"
        optional = "?" if value is None else ""
        self.declared[name] = kind + optional
        self.params[name] = value
        return f"${name}"


# What every program starts from.
FIRST = Query(
    (
        Insert("Person", {"slug": "ann", "name": "anna", "age": 20, "badge": 1}),
        Insert("Person", {"slug": "ben", "name": "bert", "score": -0.0, "kind": "staff"}),
        Insert("Person", {"slug": "cleo", "name": "cleo", "age": 0, "score": 0.5}),
        Insert("Team", {"slug": "red", "motto": "win"}),
        Insert("Memo", {"id": "m1", "text": "hello", "size": 0}),
        Insert("Knows", {"id": "e1", "src": "ann", "dst": "ben", "weight": 0.5}),
        Insert("Knows", {"id": "e2", "src": "ben", "dst": "ben"}),
        Insert("Knows", {"id": "e3", "src": "cleo", "dst": "ann"}),
        Insert("Led", {"id": "e1", "src": "red", "dst": "ann"}),
        Insert("Member", {"src": "ben", "dst": "red", "role": "wing"}),
        Insert("About", {"id": "e1", "src": "m1", "dst": "ben"}),
    )
)


def rendered(query: Query) -> Text:
    """Return a query as text."""
    text = Text()
    text.parts = [_statement(text, each) for each in query.statements]
    return text


def random_query(random: Random) -> Query:
    """Return a mutation of one to four statements."""
    count = random.choice((1, 1, 1, 2, 2, 3, 4))
    chance = random.random()
    if chance < 0.04:
        return Query((_insert(random, "Person"), _delete(random)), is_wrong=True)
    if chance < 0.08:
        bad: tuple[Row, ...] = ({"kind": "boss"}, {"nmae": "anna"}, {"age": 2**31})
        update = Update("Person", random.choice(bad), _where(random, "Person"))
        return Query((update,), is_wrong=True)
    if chance < 0.25:
        return Query(tuple(_delete(random) for _ in range(count)))
    statements: list[Statement] = []
    if chance < 0.4:
        statements.append(Matched(random.choice(list(MATCHED))))
    for _ in range(count - len(statements)):
        statements += _constructive(random)
    return Query(tuple(statements))


def _constructive(random: Random) -> list[Statement]:
    name = random.choice(("Person", "Person", "Person", "Team", "Memo", *ENDS))
    if random.random() < 0.35 and PROPERTIES[name]:
        return [Update(name, _values(random, name, sparse=True), _where(random, name))]
    if name == "Team" and random.random() < 0.7:
        team = _insert(random, "Team")
        led = _insert(random, "Led")
        return [team, Insert("Led", {**led.values, "src": team.values["slug"]})]
    inserted = _insert(random, name)
    if random.random() < 0.3:
        return [Replace(name, inserted.values)]
    return [inserted]


def _insert(random: Random, name: str) -> Insert:
    row = _values(random, name, sparse=False)
    if name in ENDS:
        row["src"], row["dst"] = (random.choice(NODES[end]) for end in ENDS[name])
    elif name in KEYED:
        row["slug"] = random.choice(NODES[name])
    if name not in KEYED and random.random() < 0.9:
        row["id"] = random.choice(EDGE_IDS if name in ENDS else MEMOS)
    return Insert(name, row)


def _values(random: Random, name: str, *, sparse: bool) -> Row:
    """Return values of properties: of an update at least one, of an insert all that are needed."""
    kinds = PROPERTIES[name]
    optional = [each for each, kind in kinds.items() if sparse or kind.endswith("?")]
    optional += [] if sparse else list(DEFAULTS.get(name, ()))
    chosen = [each for each in kinds if each not in optional or random.random() < 0.4]
    if sparse and not chosen:
        chosen = [random.choice(optional)]
    return {each: _value(random, each, kinds[each]) for each in chosen}


def _value(random: Random, column: str, kind: str) -> Value:
    if kind.endswith("?") and random.random() < 0.2:
        return None
    # The values that break a rule come last, and seldom.
    values = VALUES[column]
    return values[-1] if random.random() < 0.08 else random.choice(values[:-1] or values)


def _delete(random: Random) -> Delete:
    name = random.choice((*NODES, *NODES, *ENDS))
    return Delete(name, _where(random, name))


def _where(random: Random, name: str, depth: int = 0) -> Where:
    chance = random.random()
    if depth < 2 and chance < 0.2:
        word = random.choice(("and", "or"))
        return Both(_where(random, name, depth + 1), word, _where(random, name, depth + 1))
    if depth < 2 and chance < 0.3:
        return Not(_where(random, name, depth + 1))
    columns = ["id", "id", *PROPERTIES[name], *(("src", "dst") if name in ENDS else ())]
    column = random.choice(columns)
    if random.random() < 0.15 and PROPERTIES[name].get(column, "").endswith("?"):
        return Test(column, random.choice(("is null", "is not null")))
    # The enum has no order.
    operators = ("=", "=", "=", "!=") if column == "kind" else ("=", "=", "=", "!=", "<", ">=")
    return Test(column, random.choice(operators), _compared(random, name, column))


def _compared(random: Random, name: str, column: str) -> Value:
    if column == "id":
        ids = EDGE_IDS if name in ENDS else NODES[name]
        return random.choice(ids)
    if column in ("src", "dst"):
        return random.choice(NODES[ENDS[name][column == "dst"]])
    return random.choice(VALUES[column])


def _statement(text: Text, statement: Statement) -> str:
    match statement:
        case Matched(name):
            return MATCHED[name]
        case Insert(name, values):
            return f"insert {name} {{ {_assigned(text, name, values)} }}"
        case Replace(name, values):
            return f"replace {name} {{ {_assigned(text, name, values)} }}"
        case Update(name, values, where):
            given = _assigned(text, name, values)
            return f"update {name} set {{ {given} }} where {_condition(text, name, where)}"
        case Delete(name, where):
            return f"delete {name} where {_condition(text, name, where)}"


def _assigned(text: Text, name: str, values: Row) -> str:
    return ", ".join(
        f"{column}: {text.value(column, value, _kind(name, column))}"
        for column, value in values.items()
    )


def _condition(text: Text, name: str, where: Where) -> str:
    match where:
        case Both(left, word, right):
            return f"({_condition(text, name, left)} {word} {_condition(text, name, right)})"
        case Not(inner):
            return f"not ({_condition(text, name, inner)})"
        case Test(column, operator, None):
            return f"{column} {operator}"
        case Test(column, operator, value):
            return f"{column} {operator} {text.value(column, value, _kind(name, column))}"


def _kind(name: str, column: str) -> str:
    return PROPERTIES[name].get(column, "String").rstrip("?")
