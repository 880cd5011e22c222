"""The commands `login` and `logout`: the token for a server, kept for later commands."""

import sys

import click

from omnigraph.cli.output import show_json
from omnigraph.cli.profiles import forget_token, read_profiles, store_token
from omnigraph.cli.session import json_option
from omnigraph.errors import InputError


@click.command()
@click.argument("server", metavar="SERVER")
@json_option
def login(server: str, as_json: bool) -> None:
    """Store the token for SERVER, one of ~/.omnigraph/config.yaml.

    The token is asked for, or read from standard input when that is not a terminal. It goes to the
    system keyring where the package keyring finds one, and to a file that only you can read
    otherwise. The server is asked whether it takes the token.
    """
    from omnigraph.api.client import Client

    url = read_profiles().url(server)
    token = click.prompt("token", hide_input=True, err=True) if sys.stdin.isatty() else _read()
    with Client(url, token, seconds=30) as client:
        client.get_text("/metrics")
    place = store_token(server, token)
    if as_json:
        show_json({"server": server, "url": url, "stored_in": place})
    else:
        click.echo(f"logged in to {url}; the token is in {place}")


@click.command()
@click.argument("server", metavar="SERVER")
@json_option
def logout(server: str, as_json: bool) -> None:
    """Remove the token for SERVER."""
    had = forget_token(server)
    if as_json:
        show_json({"server": server, "removed": had})
    else:
        click.echo(f"removed the token for {server}" if had else f"there is no token for {server}")


def _read() -> str:
    token = sys.stdin.readline().strip()
    if not token:
        raise InputError("no token on standard input", hint="pipe the token, and nothing else")
    return token
