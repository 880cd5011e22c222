"""The commands `completion` and `lsp`: what shells complete by, and a server for editors."""

from pathlib import Path

import click

from omnigraph.cli import completing
from omnigraph.cli.program import ended_by_interrupt
from omnigraph.errors import UnavailableError, hint_install

_SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print the completion script of a shell.

    For bash: eval "$(omnigraph completion bash)"
    """
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root()
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(root.command, {}, "omnigraph", "_OMNIGRAPH_COMPLETE").source())


@click.command()
@click.option(
    "--schema",
    metavar="FILE",
    shell_complete=completing.files,
    help="The schema of all queries.  [default: that of the deployment or the folder]",
)
@click.option(
    "--grammar",
    type=click.Choice(("gq", "pg")),
    help="Print the TextMate grammar of a language, and serve nothing.",
)
def lsp(schema: str | None, grammar: str | None) -> None:
    """Serve editors over standard input and output, for .gq and .pg files.

    Problems, completion, hover, formatting and declarations; needs pip install 'omnigraph[lsp]'.
    """
    if grammar is not None:
        from omnigraph.query.editor.textmate import grammar_text

        click.echo(grammar_text(grammar), nl=False)
        return
    try:
        from omnigraph.lsp.server import make_server
    except ImportError as missing:
        hint = hint_install("lsp")
        raise UnavailableError(f"{missing.name} is not installed", hint=hint) from None
    with ended_by_interrupt():
        make_server(None if schema is None else Path(schema).resolve()).start_io()
