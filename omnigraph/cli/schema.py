"""The command `schema check`."""

import click

from omnigraph.cli.output import counted, show_json
from omnigraph.cli.session import read_schema


@click.group()
def schema() -> None:
    """Work with schemas."""


@schema.command()
@click.option(
    "--schema", "schema_path", required=True, metavar="FILE", help="The .pg file; - for stdin."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document, with the IR.")
def check(schema_path: str, as_json: bool) -> None:
    """Compile a schema and print its types and content hash."""
    from omnigraph.schema.codec import catalog_json, content_hash
    from omnigraph.schema.compile import compile_schema

    catalog = compile_schema(read_schema(schema_path))
    if as_json:
        show_json({"schema_hash": content_hash(catalog), "ir": catalog_json(catalog)})
        return
    for node in catalog.nodes.values():
        key = f", key {', '.join(node.key)}" if node.key else ""
        count = counted(len(node.properties), "property")
        click.echo(f"node {node.name}: {count}{key}")
    for edge in catalog.edges.values():
        click.echo(f"edge {edge.name}: {edge.source} -> {edge.target}")
    click.echo(f"schema hash {content_hash(catalog)}")
