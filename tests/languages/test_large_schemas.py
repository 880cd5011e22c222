"""A schema of thousands of types compiles in seconds, or is refused by its size."""

import time

import pytest

from omnigraph.errors import SchemaError
from omnigraph.schema.compile import compile_schema
from omnigraph.schema.migration import plan_schema_migration

TYPES = 5_000
MOST_SECONDS = 5.0
PAIRS = range(TYPES // 2)
SHAPES = {
    "nodes and edges": "".join(
        f"node P{n:04} {{ name: String }}\nedge K{n:04}: P{n:04} -> P0000\n" for n in PAIRS
    ),
    "interfaces": "".join(
        f"interface I{n} {{ name: String }}\nnode N{n} implements I{n} {{ name: String }}\n"
        for n in PAIRS
    ),
    "renamed": "".join(f'node N{n} @rename_from("M{n}") {{ a: I32? }}\n' for n in range(TYPES)),
    "many properties": "interface I {"
    + "".join(f" p{n}: I32?" for n in range(9_000))
    + " }\nnode N implements I { x: I32? }\nnode M {"
    + "".join(f" p{n}: I32?" for n in range(9_000))
    + " }\n",
    "many interfaces": "".join(f"interface I{n} {{ p{n}: I32? }}\n" for n in range(100))
    + "".join(
        f"node N{n} implements {', '.join(f'I{m}' for m in range(100))} {{ x: I32? }}\n"
        for n in range(400)
    ),
}
FEW = ("nodes and edges",)


@pytest.mark.parametrize(
    "shape", [pytest.param(each, marks=() if each in FEW else pytest.mark.long) for each in SHAPES]
)
def test_thousands_of_types_compile_within_seconds(shape: str) -> None:
    began = time.process_time()
    catalog = compile_schema(SHAPES[shape])
    again = compile_schema(SHAPES[shape], accepted=catalog)
    assert plan_schema_migration(catalog, again).steps == ()
    assert (time.process_time() - began) / 2 < MOST_SECONDS


def test_thousands_of_mistakes_are_told_within_seconds() -> None:
    nodes = "".join(f"node Person{n:04} {{ name: String }}\n" for n in range(4_000))
    edges = "".join(f"edge Knows{n:04}: Persn{n:04} -> Peson{n:04}\n" for n in range(1_000))
    began = time.process_time()
    with pytest.raises(SchemaError, match="unknown node type"):
        compile_schema(nodes + edges)
    assert time.process_time() - began < MOST_SECONDS
