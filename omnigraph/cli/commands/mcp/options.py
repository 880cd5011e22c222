"""Options: what says who an agent is, and where it works."""

import click

READ_ONLY = click.option("--read-only", is_flag=True, help="Only the tools that read.")
ACTOR = click.option("--actor", "agent", metavar="ACTOR", help="Who the agent is; as --as.")
BRANCH = click.option(
    "--branch",
    metavar="NAME",
    help="Read and write there.  [default: read main, write agent/ACTOR/RUN]",
)
