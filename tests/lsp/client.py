"""Client: a real client of the language server, over the pipes of its process."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

_SECONDS = 60.0
_LEAVING_SECONDS = 10.0
_Found = TypeVar("_Found")


class Editor:
    """An editor with some files of a folder open."""

    def __init__(self, client: LanguageClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.problems: dict[str, asyncio.Queue[list[lsp.Diagnostic]]] = {}

        @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)  # type: ignore[untyped-decorator]
        def told(params: lsp.PublishDiagnosticsParams) -> None:
            name = params.uri.rpartition("/")[2]
            self.problems.setdefault(name, asyncio.Queue()).put_nowait(list(params.diagnostics))

    def uri(self, name: str) -> str:
        return (self.folder / name).as_uri()

    def open(self, name: str, text: str | None = None) -> None:
        """Open a file of the folder, perhaps with a text that is not saved."""
        text = (self.folder / name).read_text() if text is None else text
        ending = name.rpartition(".")[2]
        item = lsp.TextDocumentItem(uri=self.uri(name), language_id=ending, version=1, text=text)
        self.client.text_document_did_open(lsp.DidOpenTextDocumentParams(text_document=item))

    def change(self, name: str, text: str, version: int = 2) -> None:
        """Change the whole text of an open file."""
        document = lsp.VersionedTextDocumentIdentifier(uri=self.uri(name), version=version)
        whole = lsp.TextDocumentContentChangeWholeDocument(text=text)
        self.client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(text_document=document, content_changes=[whole])
        )

    def close(self, name: str) -> None:
        """Close a file; what was not saved of it is gone."""
        document = lsp.TextDocumentIdentifier(uri=self.uri(name))
        self.client.text_document_did_close(lsp.DidCloseTextDocumentParams(text_document=document))

    async def told(self, name: str) -> list[lsp.Diagnostic]:
        """Return the next list of problems of a file."""
        queue = self.problems.setdefault(name, asyncio.Queue())
        return await within(queue.get())

    async def ask(self, method: str, name: str, place: tuple[int, int] | None = None) -> Any:
        """Ask about a file, or a place in it: line and character from 0."""
        document = lsp.TextDocumentIdentifier(uri=self.uri(name))
        more: dict[str, Any] = {}
        if place is not None:
            more["position"] = lsp.Position(*place)
        kinds: dict[str, Any] = {
            "completion": lsp.CompletionParams,
            "hover": lsp.HoverParams,
            "definition": lsp.DefinitionParams,
            "formatting": lsp.DocumentFormattingParams,
            "document_symbol": lsp.DocumentSymbolParams,
        }
        if method == "formatting":
            more["options"] = lsp.FormattingOptions(tab_size=2, insert_spaces=True)
        asked = getattr(self.client, f"text_document_{method}_async")
        return await within(asked(kinds[method](text_document=document, **more)))


async def within(work: Awaitable[_Found]) -> _Found:
    """Wait for something, with a deadline."""
    return await asyncio.wait_for(work, _SECONDS)


def edit(folder: Path, script: Callable[[Editor], Awaitable[None]], *options: str) -> None:
    """Run a script of an editor with a language server of its own."""

    async def run() -> None:
        client = LanguageClient("tests", "1")
        program = "from omnigraph.cli.main import main; main()"
        await within(client.start_io(sys.executable, "-c", program, "lsp", *options))
        try:
            root = lsp.WorkspaceFolder(uri=folder.as_uri(), name="project")
            await within(
                client.initialize_async(
                    lsp.InitializeParams(
                        capabilities=lsp.ClientCapabilities(), workspace_folders=[root]
                    )
                )
            )
            client.initialized(lsp.InitializedParams())
            await script(Editor(client, folder))
            await within(client.shutdown_async(None))
            client.exit(None)
        finally:
            server = client._server
            assert server is not None
            with suppress(TimeoutError):
                await asyncio.wait_for(server.wait(), _LEAVING_SECONDS)
            if server.returncode is None:
                server.kill()
            await within(client.stop())  # type: ignore[no-untyped-call]

    asyncio.run(run())
