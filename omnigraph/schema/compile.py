"""Compile: `.pg` text to catalog in one call."""

from omnigraph.errors import Code, SchemaError
from omnigraph.schema.build import build_catalog
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.parsing.parser import parse_schema
from omnigraph.span import Source
from omnigraph.syntax.problems import Problems
from omnigraph.syntax.source import make_source, size_problem


def compile_schema(text: str | Source, *, accepted: Catalog | None = None) -> Catalog:
    """Compile a schema to its catalog; raise SchemaError with all problems.

    Types and properties that `accepted` already has, under the same name or the one in
    `@rename_from`, keep their identity.
    """
    source = make_source(text, "<schema>")
    if (too_large := size_problem(source, Code.SCHEMA_CAP)) is not None:
        raise SchemaError([too_large], source=source)
    problems = Problems()
    schema = parse_schema(source, problems)
    catalog = build_catalog(schema, accepted, problems) if not problems.total else None
    if catalog is None or problems.total:
        raise SchemaError(problems.in_order(), source=source, total=problems.total)
    return catalog
