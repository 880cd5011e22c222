"""A plan has a step for every difference of two schemas, and names what cannot be done."""

from dataclasses import dataclass

import pytest

from omnigraph.errors import SchemaError
from omnigraph.schema.codec import catalog_json, decode_catalog, encode_catalog
from omnigraph.schema.compile import compile_schema
from omnigraph.schema.migration import note_dropped, plan_schema_migration
from omnigraph.schema.steps import DropProperty, DropType, SchemaMigrationPlan
from tests.evolution.town import SCHEMA, edited, renamed_type

MAIL = "mail: String? @unique"
SCORE = "score: F64?"


@dataclass(frozen=True, slots=True)
class Case:
    """What is done to the schema of the town, and the steps that it takes."""

    name: str
    desired: str
    steps: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


def case(name: str, *changes: tuple[str, str], steps: tuple[str, ...]) -> Case:
    return Case(name, edited(*changes), steps)


SUPPORTED = [
    Case("nothing", SCHEMA, ()),
    case("other text", (SCORE, f"{SCORE}  // a note"), steps=()),
    case(
        "other order",
        ("node City { name: String @key }\n", ""),
        ("interface Named", "node City { name: String @key }\ninterface Named"),
        steps=(),
    ),
    Case("node", f"{SCHEMA}node Dog {{ name: String @key }}", ("add node Dog",)),
    Case("edge", f"{SCHEMA}edge Likes: Person -> City", ("add edge Likes",)),
    Case("interface", f"{SCHEMA}interface Old {{ since: I32? }}", ("add interface Old",)),
    Case(
        "node and edge to it",
        f"edge Owns: Person -> Dog\n{SCHEMA}node Dog {{ name: String @key }}",
        ("add node Dog", "add edge Owns"),
    ),
    Case("renamed node", renamed_type("Person", "Human"), ("rename node Person to Human",)),
    case(
        "renamed edge",
        ("edge Lives:", "edge Dwells:"),
        ("@card(0..1)", '@rename_from("Lives") @card(0..1)'),
        steps=("rename edge Lives to Dwells",),
    ),
    case(
        "renamed property",
        ("age: I32?", 'years: I32? @rename_from("age")'),
        steps=("rename property Person.age to years",),
    ),
    case(
        "renamed property of a constraint",
        (MAIL, 'post: String? @unique @rename_from("mail")'),
        ("@check(mail,", "@check(post,"),
        steps=("rename property Person.mail to post",),
    ),
    case(
        "renamed key",
        ("name: String @key\n  age", 'slug: String @key @rename_from("name")\n  age'),
        steps=("rename property Person.name to slug",),
    ),
    case(
        "renamed property of an edge",
        ("since: I32?", 'begun: I32? @rename_from("since")'),
        steps=("rename property Lives.since to begun",),
    ),
    case(
        "renamed property of an interface",
        ("title: String?", 'rank: String? @rename_from("title")'),
        steps=(
            "rename property Named.title to rank",
            "rename property Person.title to rank",
        ),
    ),
    case(
        "nullable property",
        (SCORE, f"{SCORE}\n  nick: String?"),
        steps=("add property Person.nick: String?",),
    ),
    case(
        "required property with a default",
        (SCORE, f'{SCORE}\n  nick: String @default("x")'),
        steps=("add property Person.nick: String",),
    ),
    case(
        "property of an edge",
        ("since: I32?", "since: I32?  until: I32?"),
        steps=("add property Lives.until: I32?",),
    ),
    case(
        "property of an interface",
        ("title: String?", "title: String?  level: I32?"),
        steps=("add property Named.level: I32?", "add property Person.level: I32?"),
    ),
    case(
        "interface of a node",
        ("node City {", "node City implements Named {"),
        steps=("add property City.title: String?", "update the metadata of node City"),
    ),
    case(
        "more values of an enum",
        ("enum(glad, sad)", "enum(sad, calm, glad, angry)"),
        steps=("add angry, calm to the values of Person.mood",),
    ),
    case("index", (SCORE, f"{SCORE} @index"), steps=("add @index(score) to Person",)),
    case(
        "index of an edge",
        ("since: I32?", "since: I32? @index"),
        steps=("add @index(since) to Lives",),
    ),
    case("unique", (SCORE, f"{SCORE} @unique"), steps=("add @unique(score) to Person",)),
    case(
        "unique of several",
        (SCORE, f"{SCORE}\n  @unique(age, mood)"),
        steps=("add @unique(age, mood) to Person",),
    ),
    case(
        "range",
        (SCORE, f"{SCORE}\n  @range(age, 0..)"),
        steps=("add @range(age, 0..) to Person",),
    ),
    case(
        "check",
        (SCORE, f'{SCORE}\n  @check(bio, "[a-z]*")'),
        steps=('add @check(bio, "[a-z]*") to Person',),
    ),
    case(
        "constraint of a new property",
        (SCORE, f"{SCORE}\n  rank: I32? @unique\n  @range(rank, 1..)"),
        steps=(
            "add property Person.rank: I32?",
            "add @unique(rank) to Person",
            "add @range(rank, 1..) to Person",
        ),
    ),
    case(
        "description",
        ('@description("people")', '@description("all people")'),
        steps=("update the metadata of node Person",),
    ),
    case(
        "description that goes",
        (' @description("people")', ""),
        steps=("update the metadata of node Person",),
    ),
    case(
        "annotation of a property",
        (SCORE, f"{SCORE} @unit(points)"),
        steps=("update the metadata of Person.score",),
    ),
    case(
        "all at once",
        ("age: I32?", 'years: I32? @rename_from("age")'),
        ("enum(glad, sad)", "enum(glad, sad, calm)"),
        (SCORE, f'{SCORE} @description("points") @index\n  nick: String?'),
        ("edge Knows", "node Dog { name: String @key }\nedge Knows"),
        ("since: I32?", "since: I32?  until: I32?"),
        steps=(
            "rename property Person.age to years",
            "add calm to the values of Person.mood",
            "update the metadata of Person.score",
            "add property Person.nick: String?",
            "add @index(score) to Person",
            "add node Dog",
            "add property Lives.until: I32?",
        ),
    ),
]

DROPPED = [
    case(
        "node and edge",
        ("node City { name: String @key }\n", ""),
        ("edge Lives: Person -> City @card(0..1) { since: I32? }\n", ""),
        steps=("drop node City", "drop edge Lives"),
    ),
    Case(
        "interface",
        edited(
            ("interface Named { title: String? }\n", ""),
            (" implements Named", ""),
            (SCORE, f"{SCORE}\n  title: String?"),
        ),
        ("drop interface Named of Person", "drop interface Named"),
    ),
    case(
        "property",
        ("  mood: enum(glad, sad)?\n", ""),
        steps=("drop property Person.mood",),
    ),
    case(
        "property with its rules",
        (f"  {MAIL}\n", ""),
        ('  @check(mail, ".+@.+")\n', ""),
        steps=(
            "drop property Person.mail",
            "drop @unique(mail) of Person",
            'drop @check(mail, ".+@.+") of Person',
        ),
    ),
    case(
        "property of an interface",
        ("title: String?", ""),
        steps=("drop property Named.title", "drop property Person.title"),
    ),
    case(
        "property of an edge",
        ("{ since: I32? }", "{ }"),
        steps=("drop property Lives.since",),
    ),
    case(
        "range",
        ("  @range(score, 0.0..9.0)\n", ""),
        steps=("drop @range(score, 0.0..9.0) of Person",),
    ),
    case(
        "other range",
        ("0.0..9.0", "0.0..10.0"),
        steps=(
            "drop @range(score, 0.0..9.0) of Person",
            "add @range(score, 0.0..10.0) to Person",
        ),
    ),
    case("index", ("age: I32? @index", "age: I32?"), steps=("drop @index(age) of Person",)),
    case("unique", (MAIL, "mail: String?"), steps=("drop @unique(mail) of Person",)),
    case(
        "check that changes",
        ('".+@.+"', '".*@.*"'),
        steps=(
            'drop @check(mail, ".+@.+") of Person',
            'add @check(mail, ".*@.*") to Person',
        ),
    ),
]

UNSUPPORTED = [
    case(
        "other type that is unique",
        ("bio: String? @index", "bio: U64? @index @unique"),
        steps=(
            "cannot change Person.bio: its type cannot change from String to U64",
            "add @unique(bio) to Person",
        ),
    ),
    case(
        "other type",
        ("age: I32?", "age: I64?"),
        steps=("cannot change Person.age: its type cannot change from I32 to I64",),
    ),
    case(
        "list of the type",
        (SCORE, "score: [F64]?"),
        ("@range(score, 0.0..9.0)", ""),
        steps=(
            "cannot change Person.score: its type cannot change from F64 to [F64]",
            "drop @range(score, 0.0..9.0) of Person",
        ),
    ),
    case(
        "enum that loses values",
        ("enum(glad, sad)", "enum(glad, calm)"),
        steps=("cannot change Person.mood: an enum cannot lose values: sad",),
    ),
    case(
        "enum that becomes a text",
        ("enum(glad, sad)?", "String?"),
        steps=("cannot change Person.mood: its type cannot change from enum(glad, sad) to String",),
    ),
    case(
        "required",
        ("age: I32?", "age: I32"),
        steps=("cannot change Person.age: a property cannot become required",),
    ),
    case(
        "required with a default",
        ("age: I32?", "age: I32 @default(1)"),
        steps=(
            "cannot change Person.age: a property cannot become required",
            "cannot change Person.age: the default of a property cannot change",
        ),
    ),
    Case(
        "nullable",
        edited(
            (
                "node City { name: String @key }",
                "node City { name: String @key  size: I32? @default(1) }",
            )
        ),
        ("cannot change City.size: a property cannot become nullable",),
    ),
    case(
        "default",
        (SCORE, f"{SCORE} @default(1.0)"),
        steps=("cannot change Person.score: the default of a property cannot change",),
    ),
    case(
        "new property that is required",
        (SCORE, f"{SCORE}\n  nick: String"),
        steps=(
            "cannot change Person.nick: a new required property needs a @default for existing rows",
        ),
    ),
    case(
        "other key",
        ("name: String @key\n  age", "name: String\n  @key(name, mail)\n  age"),
        (MAIL, "mail: String @unique"),
        steps=(
            "cannot change Person.mail: a property cannot become required",
            "cannot change node Person: the key of a type cannot change",
        ),
    ),
    case(
        "other cardinality",
        ("@card(0..1)", "@card(0..2)"),
        steps=("cannot change edge Lives: the cardinality of an edge type cannot change",),
    ),
    case(
        "other end",
        ("Lives: Person -> City", "Lives: Person -> Person"),
        steps=("cannot change edge Lives: an edge type cannot connect other types",),
    ),
]
NOT_NULLABLE = edited(
    ("node City { name: String @key }", "node City { name: String @key  size: I32 @default(1) }")
)


def plan(desired: str, accepted: str = SCHEMA) -> SchemaMigrationPlan:
    known = compile_schema(accepted)
    return plan_schema_migration(known, compile_schema(desired, accepted=known))


@pytest.mark.parametrize("each", SUPPORTED, ids=str)
def test_a_supported_change_has_its_steps(each: Case) -> None:
    found = plan(each.desired)

    assert (tuple(map(str, found.steps)), found.supported) == (each.steps, True)


@pytest.mark.parametrize("each", DROPPED, ids=str)
def test_what_is_dropped_has_its_steps(each: Case) -> None:
    found = plan(each.desired)

    assert (tuple(map(str, found.steps)), found.supported) == (each.steps, True)


@pytest.mark.parametrize("each", DROPPED, ids=str)
def test_what_was_dropped_is_restored_by_the_same_text(each: Case) -> None:
    known = compile_schema(SCHEMA)
    bare = note_dropped(known, compile_schema(each.desired, accepted=known), "then")
    again = decode_catalog(encode_catalog(bare))

    back = compile_schema(SCHEMA, accepted=again)

    assert again == bare
    assert catalog_json(back) == catalog_json(known)
    steps = plan_schema_migration(bare, back).steps
    assert not any(isinstance(step, DropType | DropProperty) for step in steps)


@pytest.mark.parametrize("each", UNSUPPORTED, ids=str)
def test_an_unsupported_change_is_told_with_its_reason(each: Case) -> None:
    found = plan(each.desired, NOT_NULLABLE if each.name == "nullable" else SCHEMA)

    assert (tuple(map(str, found.steps)), found.supported) == (each.steps, False)


@pytest.mark.parametrize("each", [*SUPPORTED, *DROPPED, *UNSUPPORTED], ids=str)
def test_after_a_change_there_is_nothing_left_to_do(each: Case) -> None:
    known = compile_schema(NOT_NULLABLE if each.name == "nullable" else SCHEMA)
    desired = compile_schema(each.desired, accepted=known)

    assert (
        plan_schema_migration(desired, compile_schema(each.desired, accepted=desired)).steps == ()
    )


def test_a_schema_can_be_put_back_in_any_order_without_a_step() -> None:
    lines = "node A { name: String @key  x: I32? }\nnode B { name: String @key }\n"
    turned = "node B { name: String @key }\nnode A { x: I32?  name: String @key }\n"

    assert plan(turned, lines).steps == ()


@pytest.mark.parametrize(
    ("desired", "reason"),
    [
        (
            edited(("age: I32?", 'years: I32? @rename_from("agee")')),
            "cannot rename 'agee' to 'years'",
        ),
        (
            edited(("age: I32?", 'age: I32?\n  years: I32? @rename_from("age")')),
            "cannot rename from 'age'",
        ),
    ],
)
def test_a_rename_of_what_is_not_there_does_not_compile(desired: str, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        plan(desired)


def test_every_kind_of_step_has_its_machine_form() -> None:
    desired = edited(
        (
            "interface Named { title: String? }",
            "interface Named { title: String? }\nnode Dog { name: String @key }",
        ),
        ("age: I32?", 'years: I32? @rename_from("age")'),
        ("enum(glad, sad)", "enum(glad, sad, calm)"),
        ('@description("people")', '@description("all") @pii(high, by="law")'),
        (
            SCORE,
            f'{SCORE} @description("points") @index @unique\n  nick: String?\n'
            '  @range(years, 0..)\n  @check(bio, "a*")',
        ),
        ("edge Lives:", "edge Dwells:"),
        ("@card(0..1)", '@rename_from("Lives") @card(0..1)'),
        ("weight: F32?", "weight: F64?"),
    )

    found = plan(desired).to_json()

    person = {"type_kind": "node", "type_name": "Person"}
    assert found == {
        "supported": False,
        "steps": [
            {"kind": "add_type", "type_kind": "node", "name": "Dog"},
            {"kind": "rename_property", **person, "from": "age", "to": "years"},
            {"kind": "extend_enum", **person, "property_name": "mood", "values": ["calm"]},
            {
                "kind": "update_property_metadata",
                **person,
                "property_name": "score",
                "annotations": [{"name": "description", "value": "points", "options": {}}],
            },
            {
                "kind": "add_property",
                **person,
                "property_name": "nick",
                "property_type": "String?",
            },
            {
                "kind": "add_constraint",
                **person,
                "constraint": {"kind": "unique", "properties": ["score"]},
            },
            {
                "kind": "add_constraint",
                **person,
                "constraint": {"kind": "index", "properties": ["score"]},
            },
            {
                "kind": "add_constraint",
                **person,
                "constraint": {
                    "kind": "range",
                    "property": "years",
                    "minimum": 0,
                    "maximum": None,
                },
            },
            {
                "kind": "add_constraint",
                **person,
                "constraint": {"kind": "check", "property": "bio", "pattern": "a*"},
            },
            {
                "kind": "update_type_metadata",
                "type_kind": "node",
                "name": "Person",
                "annotations": [
                    {"name": "description", "value": "all", "options": {}},
                    {"name": "pii", "value": "high", "options": {"by": "law"}},
                ],
            },
            {"kind": "rename_type", "type_kind": "edge", "from": "Lives", "to": "Dwells"},
            {
                "kind": "unsupported_change",
                "entity": "Knows.weight",
                "reason": "its type cannot change from F32 to F64",
            },
        ],
    }
