"""Family: the family `mcp`, which serves where no command is named."""

import click

from omnigraph.cli.commands.mcp.install import install
from omnigraph.cli.commands.mcp.serving import serve


class _Door(click.Group):
    """Serves where no command is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_named = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if is_named else ["serve", *args])


@click.group(cls=_Door, subcommand_metavar="[GRAPH] | COMMAND [ARGS]...")
def mcp() -> None:
    """Let an agent work on a graph by the Model Context Protocol.

    `omnigraph mcp GRAPH` serves a graph, and takes the options of serve.
    """


mcp.add_command(serve)
mcp.add_command(install)
