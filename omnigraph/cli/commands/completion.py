"""The command `completion`: the script that makes a shell complete `omnigraph`."""

import click

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
