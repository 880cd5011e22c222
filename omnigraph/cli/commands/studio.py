"""The command `studio`: a graph in the browser of this machine."""

import json
import os
import threading

import click

from omnigraph.cli.session import Session, graph_options
from omnigraph.errors import UnavailableError

_HOST = "127.0.0.1"


@click.command()
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(0, 65_535),
    default=0,
    help="The port on this machine.  [default: one that is free]",
)
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@graph_options
def studio(session: Session, port: int, no_browser: bool) -> None:
    """Explore, query, review and merge a graph in a browser, until Ctrl-C.

    Only this machine can reach the address. The code in it works once, within a minute.
    """
    import webbrowser

    from omnigraph.server.access.tokens import JSON
    from omnigraph.server.serve import Settings, serve_studio
    from omnigraph.server.studio.handover import Handover

    if session.address.is_remote:
        message = f"the graph is behind the server at {session.address.uri}"
        hint = f"open {session.address.uri.rstrip('/')}/studio in a browser"
        raise UnavailableError(message, hint=hint)
    actor = session.acting or _user()
    handover = Handover(actor)
    config = session.config

    def announce(address: str) -> None:
        handover.begin()
        url = f"http://{address}/studio#code={handover.code}"
        session.show({"url": url, "actor_id": actor}, url, "Ctrl-C stops it.")
        if not no_browser:
            # A browser in a terminal keeps its caller waiting.
            threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()

    settings = Settings(
        uri=session.local_uri,
        host=_HOST,
        port=port,
        policy=session.policy_file,
        queries=None if config is None else config.queries,
        allows_writes=True,
        handover=handover,
        announce=announce,
        environment={JSON: json.dumps({actor: handover.token})},
    )
    serve_studio(settings)


def _user() -> str:
    """Return the name of who is logged in, as whom changes are noted."""
    from getpass import getuser

    try:
        return getuser()
    except (OSError, KeyError):
        return os.environ.get("USER") or "local"
