"""Hostile texts: as large as the cap allows, and shaped to be slow where something is quadratic."""

from collections.abc import Callable
from dataclasses import dataclass

from omnigraph.syntax.source import MOST_BYTES

PEOPLE = (
    "node Person { slug: String @key  name: String  age: I32? } node Doc { title: String }"
    " edge Knows: Person -> Person  edge Wrote: Person -> Doc"
)
_MATCH = "query q() { match { $p: Person "
_RETURN = "} return { $p.name } }"


@dataclass(frozen=True, slots=True)
class Hostile:
    """A text of one language; a query with the schema it is checked against."""

    text: str
    schema: str | None = None


def filled(head: str, item: Callable[[int], str], tail: str = "", size: int = MOST_BYTES) -> str:
    """Return the head, as many items as fit, and the tail."""
    items: list[str] = []
    left = size - len(head) - len(tail)
    while len(each := item(len(items))) <= left:
        items.append(each)
        left -= len(each)
    return "".join([head, *items, tail])


def _query(head: str, item: Callable[[int], str], tail: str = _RETURN) -> Hostile:
    return Hostile(filled(head, item, tail), PEOPLE)


def _reversed_chain() -> Hostile:
    """Return traversals of which each is understood only after the one behind it."""
    chain = filled("", lambda at: f"$v{at} knows $v{at + 1}\n", size=MOST_BYTES - 100)
    lines = "\n".join(reversed(chain.splitlines()))
    return Hostile(f"query q() {{ match {{ {lines} $v0: Person }} return {{ $v0.name }} }}", PEOPLE)


def _wide(size: int = MOST_BYTES) -> str:
    return filled("node A {", lambda at: f"p{at}:I32 ", "} edge K: A -> A", size)


def _misspelt_long_names() -> Hostile:
    long = "A" * 180
    types = filled("", lambda at: f"node {long}{at}{{}}\n", size=MOST_BYTES * 8 // 10)
    return Hostile(filled(types, lambda at: f"edge E{at}:{long}x{at}->{long}y{at}\n"))


def _many_edges() -> str:
    return filled("node A{}", lambda at: f"edge E{at}:A->A\n")


def _negations_of_many_variables() -> Hostile:
    bound = filled(_MATCH, lambda at: f"$p knows $v{at} ", size=MOST_BYTES // 2)
    return Hostile(filled(bound, lambda _: "not{$p knows $v}", _RETURN), PEOPLE)


def _wide_order() -> Hostile:
    head = "query q() { match { $p: A } return distinct { "
    shown = filled(head, lambda at: f"$p.p{at},", size=MOST_BYTES // 2)
    return Hostile(
        filled(shown + "} order { $p.p1", lambda at: f",$p.p{at % 9_000}", "} }"), _wide()
    )


def _columns_of_wide_rows() -> Hostile:
    chain = filled(
        "query q() { match { $v0: A ", lambda at: f"$v{at} k $v{at + 1} ", size=MOST_BYTES // 2
    )
    text = filled(chain + "} return { ", lambda at: f"$v{at % 8_000}.p1 as c{at},", "} }")
    return Hostile(text, _wide())


def _many_types_of_one_interface() -> str:
    head = "interface I { a: I32 }"
    return filled(head, lambda at: f"node A{at} implements I{{}}")


def _outsiders_of_a_huge_enum() -> Hostile:
    schema = filled("node A { e: enum(v", lambda at: f",v{at}", ") }")
    head = "query q() { match { $p: A "
    return Hostile(filled(head, lambda at: f'$p.e="w{at}" ', "} return { $p.e } }"), schema)


HOSTILE: dict[str, Callable[[], Hostile]] = {
    "nested braces in a schema": lambda: Hostile(filled("node A ", lambda _: "{")),
    "nested braces in a query": lambda: _query("query q() { match ", lambda _: "{", ""),
    "one giant conjunction": lambda: _query(f"{_MATCH} $p.age=1", lambda _: " and $p.age=1"),
    "one giant disjunction": lambda: _query(f"{_MATCH} $p.age=1", lambda _: " or $p.age=1"),
    "thousands of conditions": lambda: _query(_MATCH, lambda _: "$p.age=1 "),
    "thousands of tiny queries": lambda: _query(
        "", lambda at: f"query q{at}(){{match{{$p:Person}}return{{$p.name}}}}\n", ""
    ),
    "thousands of tiny types": lambda: Hostile(filled("", lambda at: f"node A{at}{{}}\n")),
    "thousands of tiny edges": lambda: Hostile(_many_edges()),
    "thousands of traversals in the worst order": _reversed_chain,
    "an unclosed string in a schema": lambda: Hostile(
        filled("node A { ", lambda _: '"\\\\" \\', '"')
    ),
    "an unclosed string in a query": lambda: _query("query q() { ", lambda _: '"\\"', ""),
    "thousands of misspelt variables": lambda: _query(_MATCH, lambda at: f"$persn{at}.age=1 "),
    "thousands of misspelt properties": lambda: _query(_MATCH, lambda at: f"$p.nam{at}=1 "),
    "thousands of misspelt functions": lambda: _query(
        "", lambda at: f"query q{at}(){{match{{mach_txt{at}()}}\n", ""
    ),
    "thousands of misspelt types in a schema": lambda: Hostile(
        filled(
            filled("", lambda at: f"node Type{at}{{}}\n", size=MOST_BYTES // 2),
            lambda at: f"edge E{at}:Typo{at}->Typo{at}\n",
        )
    ),
    "thousands of misspelt types in a query": lambda: Hostile(
        filled("query q() { match { ", lambda at: f"$p{at}: Typo{at} ", "} return { $p1.id } }"),
        filled("", lambda at: f"node Type{at}{{}}\n"),
    ),
    "misspelt long names": _misspelt_long_names,
    "misspelt properties of a wide type": lambda: Hostile(
        filled("query q() { match { $p: A ", lambda at: f"$p.q{at}=1 ", "} return { $p.p1 } }"),
        _wide(),
    ),
    "misspelt edges beside many edges": lambda: Hostile(
        filled("query q() { match { $p: A ", lambda at: f"$p f{at} $q ", "} return { $p.id } }"),
        _many_edges(),
    ),
    "thousands of indexes": lambda: Hostile(
        filled("node A{", lambda at: f"p{at}:I32@index\n", "}")
    ),
    "thousands of ranges": lambda: Hostile(
        filled("node A{", lambda at: f"p{at}:I32 @range(p{at},0..)\n", "}")
    ),
    "thousands of costly patterns": lambda: Hostile(
        filled("node A{p:String ", lambda at: f'@check(p,"\\\\pL{{{900 - at % 100}}}{at}")\n', "}")
    ),
    "thousands of optional blocks": lambda: _query(
        _MATCH, lambda at: f"optional{{$p knows $v{at}}}"
    ),
    "thousands of negations": lambda: _query(_MATCH, lambda _: "not{$p knows $v}"),
    "thousands of negations beside many variables": _negations_of_many_variables,
    "thousands of order keys over a wide result": _wide_order,
    "thousands of variables of a wide type": _columns_of_wide_rows,
    "thousands of alternatives in one traversal": lambda: Hostile(
        "query q() { match { $p: A $p "
        + "|".join(f"e{at}" for at in range(14_000))
        + " $q } return { $p.id } }",
        _many_edges(),
    ),
    "thousands of variables of a large interface": lambda: Hostile(
        filled("query q() { match { ", lambda at: f"$v{at}: I ", "} return { $v0.a } }"),
        _many_types_of_one_interface(),
    ),
    "thousands of inserts into a wide type": lambda: Hostile(
        filled("query q() { ", lambda _: "insert A{p0:1} ", "}"), _wide()
    ),
    "strings outside a huge enum": _outsiders_of_a_huge_enum,
    "a hundred problems behind many lines": lambda: _query(
        _MATCH + "\n" * (MOST_BYTES - 8_000), lambda at: f"$p.x{at}=1\n"
    ),
}
