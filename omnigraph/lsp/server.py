"""Server: the language server itself, over standard input and output."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import from_fs_path, to_fs_path

from omnigraph import __version__
from omnigraph.errors import SourceError
from omnigraph.frozen import dataclass
from omnigraph.lsp.findings import (
    Finding,
    compile_or_none,
    names_of_queries,
    query_findings,
    schema_findings,
)
from omnigraph.lsp.schemas import QUERIES, SCHEMA, SchemaFinder
from omnigraph.query.editor.about import (
    explain_query_word,
    explain_schema_word,
    find_query_declaration,
    find_schema_declaration,
    names_of_schema,
)
from omnigraph.query.editor.complete import Completion, complete
from omnigraph.query.editor.complete_schema import complete_schema
from omnigraph.query.layout import format_queries
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.parsing.layout import format_schema
from omnigraph.span import Source, Span

if TYPE_CHECKING:
    from pygls.workspace import TextDocument

_KINDS = {
    "keyword": lsp.CompletionItemKind.Keyword,
    "type": lsp.CompletionItemKind.Class,
    "edge": lsp.CompletionItemKind.Reference,
    "property": lsp.CompletionItemKind.Field,
    "function": lsp.CompletionItemKind.Function,
    "variable": lsp.CompletionItemKind.Variable,
    "parameter": lsp.CompletionItemKind.Variable,
}
_NO_TYPES = Catalog({}, {}, {})
_SYMBOLS = {
    "node": lsp.SymbolKind.Class,
    "edge": lsp.SymbolKind.Event,
    "interface": lsp.SymbolKind.Interface,
}


def make_server(schema: Path | None = None) -> LanguageServer:
    """Return the language server; `schema` is that of all files of queries."""
    server = LanguageServer("omnigraph", __version__)
    _Features(server, SchemaFinder(given=schema)).register()
    return server


@dataclass(slots=True)
class _Features:
    """What the server answers."""

    server: LanguageServer
    finder: SchemaFinder

    def register(self) -> None:
        """Register what the server answers."""
        offering = lsp.CompletionOptions(trigger_characters=["$", ".", ":", "@", " "])
        answers: dict[str, Callable[[Any], object]] = {
            lsp.INITIALIZED: self.begin,
            lsp.TEXT_DOCUMENT_DID_OPEN: self.opened,
            lsp.TEXT_DOCUMENT_DID_CHANGE: self.changed,
            lsp.TEXT_DOCUMENT_DID_CLOSE: self.closed,
            lsp.TEXT_DOCUMENT_HOVER: self.hover,
            lsp.TEXT_DOCUMENT_DEFINITION: self.definition,
            lsp.TEXT_DOCUMENT_FORMATTING: self.formatting,
            lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL: self.symbols,
        }
        for name, answer in answers.items():
            self.server.feature(name)(_function(answer))
        self.server.feature(lsp.TEXT_DOCUMENT_COMPLETION, offering)(_function(self.completion))

    def begin(self, _: lsp.InitializedParams) -> None:
        """Take note of the folders of the project."""
        folders = [to_fs_path(each) for each in self.server.workspace.folders]
        roots = tuple(Path(each).resolve() for each in folders if each is not None)
        self.finder = replace(self.finder, roots=roots)

    def opened(self, params: lsp.DidOpenTextDocumentParams) -> None:
        self._check(params.text_document.uri)

    def changed(self, params: lsp.DidChangeTextDocumentParams) -> None:
        self._check(params.text_document.uri)

    def closed(self, params: lsp.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        self.server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri=uri, diagnostics=[])
        )
        # What was not saved is gone, and queries are checked with the file again.
        if _is_schema(self._document(uri)):
            self._tell_queries()

    def completion(self, params: lsp.CompletionParams) -> lsp.CompletionList:
        """Return what can stand at a place, as `POST /complete` does."""
        document = self._document(params.text_document.uri)
        offset = document.offset_at_position(params.position)
        if _is_schema(document):
            found = complete_schema(document.source, offset)
        else:
            found = complete(document.source, offset, self._catalog(document) or _NO_TYPES)
        place = _range(document, Span(found.start, offset))
        items = [_item(each, place, at) for at, each in enumerate(found.items)]
        return lsp.CompletionList(is_incomplete=False, items=items)

    def hover(self, params: lsp.HoverParams) -> lsp.Hover | None:
        """Return what the word at a place means."""
        document = self._document(params.text_document.uri)
        offset = document.offset_at_position(params.position)
        if _is_schema(document):
            catalog = compile_or_none(_source(document))
            found = explain_schema_word(document.source, offset, catalog)
        else:
            found = explain_query_word(document.source, offset, self._catalog(document))
        if found is None:
            return None
        text = lsp.MarkupContent(kind=lsp.MarkupKind.Markdown, value=found.markdown)
        return lsp.Hover(contents=text, range=_range(document, found.span))

    def definition(self, params: lsp.DefinitionParams) -> lsp.Location | None:
        """Return where the name at a place is declared."""
        document = self._document(params.text_document.uri)
        offset = document.offset_at_position(params.position)
        schema = document if _is_schema(document) else self._schema(document)
        if _is_schema(document):
            found = find_schema_declaration(document.source, offset)
        else:
            source = None if schema is None else _source(schema)
            catalog = self._catalog(document)
            found = find_query_declaration(document.source, offset, catalog, source)
        if found is None:
            return None
        place = schema if found.is_in_schema and schema is not None else document
        return lsp.Location(uri=place.uri, range=_range(place, found.span))

    def formatting(self, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
        """Return the text laid out; None for one that does not parse."""
        document = self._document(params.text_document.uri)
        write = format_schema if _is_schema(document) else format_queries
        try:
            written = write(_source(document))
        except SourceError:
            return None
        if written == document.source:
            return []
        whole = _range(document, Span(0, len(document.source)))
        return [lsp.TextEdit(range=whole, new_text=written)]

    def symbols(self, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
        """Return the queries or the types of a text."""
        document = self._document(params.text_document.uri)
        if _is_schema(document):
            found = [
                (each.name.text, each.name.span, _SYMBOLS[kind])
                for kind, each in names_of_schema(_source(document))
            ]
        else:
            found = [
                (name, span, lsp.SymbolKind.Function)
                for name, span in names_of_queries(_source(document))
            ]
        places = [(name, _range(document, span), kind) for name, span, kind in found]
        return [
            lsp.DocumentSymbol(name=name, kind=kind, range=place, selection_range=place)
            for name, place, kind in places
        ]

    def _check(self, uri: str) -> None:
        """Publish what is wrong with a text; a schema may make queries wrong that are open."""
        document = self._document(uri)
        self._tell(document)
        if _is_schema(document):
            self._tell_queries()

    def _tell_queries(self) -> None:
        for each in list(self.server.workspace.text_documents.values()):
            if _ending(each) == QUERIES:
                self._tell(each)

    def _tell(self, document: "TextDocument") -> None:
        source = _source(document)
        if _is_schema(document):
            found = schema_findings(source)
        else:
            found = query_findings(source, self._catalog(document))
        diagnostics = [_diagnostic(document, each) for each in found]
        self.server.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(
                uri=document.uri, version=document.version, diagnostics=diagnostics
            )
        )

    def _document(self, uri: str) -> "TextDocument":
        return self.server.workspace.get_text_document(uri)

    def _schema(self, document: "TextDocument") -> "TextDocument | None":
        """Return the schema of a file of queries, as it is in the editor or on the disk."""
        path = to_fs_path(document.uri)
        found = None if path is None else self.finder.find(Path(path).resolve())
        if found is None or not found.exists():
            return None
        opened: dict[str, TextDocument] = dict(self.server.workspace.text_documents)
        for uri, each in opened.items():
            other = to_fs_path(uri)
            if other is not None and Path(other).resolve() == found.resolve():
                return each
        uri = from_fs_path(str(found))
        assert uri is not None
        return self._document(uri)

    def _catalog(self, document: "TextDocument") -> Catalog | None:
        schema = self._schema(document)
        return None if schema is None else compile_or_none(_source(schema))


def _function(method: Callable[[Any], object]) -> Callable[[Any], object]:
    """Return a method as a function, to which the server attaches its own notes."""

    def answer(params: Any) -> object:  # noqa: ANN401 - each method has its own
        return method(params)

    return answer


def _ending(document: "TextDocument") -> str:
    return Path(document.path or document.uri).suffix


def _is_schema(document: "TextDocument") -> bool:
    return _ending(document) == SCHEMA


def _source(document: "TextDocument") -> Source:
    return Source(Path(document.path or document.uri).name, document.source)


def _range(document: "TextDocument", span: Span) -> lsp.Range:
    return lsp.Range(
        start=document.client_position_at_offset(span.start),
        end=document.client_position_at_offset(span.end),
    )


def _item(item: Completion, place: lsp.Range, at: int) -> lsp.CompletionItem:
    return lsp.CompletionItem(
        label=item.label,
        kind=_KINDS[item.kind],
        detail=item.detail,
        sort_text=f"{at:04}",
        filter_text=item.label,
        text_edit=lsp.TextEdit(range=place, new_text=item.insert or item.label),
    )


def _diagnostic(document: "TextDocument", finding: Finding) -> lsp.Diagnostic:
    severity = lsp.DiagnosticSeverity.Error if finding.is_error else lsp.DiagnosticSeverity.Warning
    return lsp.Diagnostic(
        range=_range(document, finding.span),
        message=finding.message,
        severity=severity,
        code=finding.code,
        source="omnigraph",
    )
