"""Annotations: which exist, where each is allowed, and what each means."""

from collections.abc import Iterable
from dataclasses import field

from omnigraph.errors import Code
from omnigraph.frozen import dataclass
from omnigraph.schema.catalog import Annotation, Cardinality, Embed
from omnigraph.schema.parsing import ast
from omnigraph.syntax.literal import Literal, Name
from omnigraph.syntax.problems import Problems

PLACES = {
    "description": ("node", "edge", "property"),
    "instruction": ("node", "edge"),
    "rename_from": ("node", "edge", "property"),
    "card": ("edge",),
    "key": ("property",),
    "unique": ("property",),
    "index": ("property",),
    "default": ("property",),
    "embed": ("property",),
    "range": (),
    "check": (),
}
_BODY_FORM = {
    "key": "@key(name) in the body, or @key after the property",
    "unique": "@unique(name) in the body, or @unique after the property",
    "index": "@index(name) in the body, or @index after the property",
    "range": "@range(name, 0..100) in the body",
    "check": '@check(name, "pattern") in the body',
}
_FLAGS = ("key", "unique", "index")


@dataclass(slots=True)
class Notes:
    """The annotations of one type or property, as values."""

    flags: dict[str, ast.Annotation] = field(default_factory=dict)
    description: str | None = None
    instruction: str | None = None
    renamed_from: Name | None = None
    default: Literal | None = None
    embed: Embed | None = None
    embed_annotation: ast.Annotation | None = None
    cardinality: Cardinality = field(default_factory=Cardinality)
    kept: list[Annotation] = field(default_factory=list)


def read_annotations(
    annotations: Iterable[ast.Annotation], place: str, problems: Problems
) -> Notes:
    """Read the annotations of one type or property; report misplaced and malformed ones."""
    notes = Notes()
    seen: set[str] = set()
    for annotation in annotations:
        if annotation.name not in PLACES:
            _keep(annotation, notes, problems)
        elif place not in PLACES[annotation.name]:
            _report_misplaced(annotation, place, problems)
        elif annotation.name in seen:
            message = f"@{annotation.name} is repeated"
            problems.report(Code.REPEATED_ANNOTATION, annotation.span, message)
        else:
            seen.add(annotation.name)
            _AnnotationReader(annotation, problems).read(notes)
    return notes


@dataclass(frozen=True, slots=True)
class _AnnotationReader:
    """Reads one known annotation in a place where it is allowed."""

    annotation: ast.Annotation
    problems: Problems

    def read(self, notes: Notes) -> None:
        name = self.annotation.name
        if name in _FLAGS:
            self._options()
            notes.flags[name] = self.annotation
        elif name == "description":
            notes.description = self._text()
        elif name == "instruction":
            notes.instruction = self._text()
        elif name == "rename_from":
            notes.renamed_from = self._name()
        elif name == "default":
            notes.default = self._literal()
        elif name == "card":
            notes.cardinality = self._cardinality()
        else:
            notes.embed, notes.embed_annotation = self._embed(), self.annotation

    def _text(self) -> str | None:
        self._options()
        value = self.annotation.value
        if isinstance(value, Literal) and isinstance(value.value, str) and value.value.strip():
            return value.value
        self._wrong("a non-empty string", '("…")')
        return None

    def _name(self) -> Name | None:
        self._options()
        found = self._named()
        if found is None:
            self._wrong("the old name", '("OldName")')
        return found

    def _literal(self) -> Literal | None:
        self._options()
        value = self.annotation.value
        if isinstance(value, Literal):
            return value
        self._wrong("a literal", "(0)")
        return None

    def _cardinality(self) -> Cardinality:
        self._options()
        value = self.annotation.value
        if not isinstance(value, ast.RangeBounds):
            self._wrong("a range of counts", "(0..1)")
            return Cardinality()
        least, most = value.minimum, value.maximum
        if not isinstance(least, int) or not isinstance(most, int | None) or least < 0:
            message = "@card needs a range of whole numbers"
        elif most is not None and most < least:
            message = f"@card needs at least {least} edges but allows at most {most}"
        else:
            return Cardinality(minimum=least, maximum=most)
        self.problems.report(Code.BAD_CARDINALITY, value.span, message, "write @card(0..1)")
        return Cardinality()

    def _embed(self) -> Embed | None:
        options = self._options("model")
        source = self._named()
        if source is None:
            self._wrong("the name of a String property", '("text")')
            return None
        model = options.get("model")
        if model is not None and not (isinstance(model, str) and model):
            self._wrong("a string as its model", '("text", model="…")')
            return None
        return Embed(source=source.text, model=model)

    def _named(self) -> Name | None:
        value = self.annotation.value
        if isinstance(value, Name):
            return value
        if isinstance(value, Literal) and isinstance(value.value, str) and value.value:
            return Name(value.value, value.span)
        return None

    def _options(self, *allowed: str) -> dict[str, object]:
        _check_options(self.annotation, self.problems)
        for name, literal in self.annotation.options:
            if name not in allowed:
                message = f"@{self.annotation.name} has no option '{name}'"
                hint = self.problems.nearest(name, allowed)
                self.problems.report(Code.ANNOTATION_ARGUMENT, literal.span, message, hint)
        return {name: literal.value for name, literal in self.annotation.options}

    def _wrong(self, wanted: str, example: str) -> None:
        name, span = self.annotation.name, self.annotation.span
        message = f"@{name} takes {wanted}"
        self.problems.report(Code.ANNOTATION_ARGUMENT, span, message, f"write @{name}{example}")


def _keep(annotation: ast.Annotation, notes: Notes, problems: Problems) -> None:
    value = annotation.value
    if isinstance(value, ast.RangeBounds):
        message = f"@{annotation.name} takes a literal or a name, not a range"
        problems.report(Code.ANNOTATION_ARGUMENT, value.span, message)
        return
    _check_options(annotation, problems)
    text = value.text if isinstance(value, Name) else None if value is None else _plain(value)
    options = tuple((name, _plain(literal)) for name, literal in annotation.options)
    notes.kept.append(Annotation(name=annotation.name, value=text, options=options))


def _check_options(annotation: ast.Annotation, problems: Problems) -> None:
    """Report an option that is given twice; only one of the two could count."""
    seen: set[str] = set()
    for name, literal in annotation.options:
        if name in seen:
            message = f"@{annotation.name} repeats the option '{name}'"
            problems.report(Code.REPEATED_ANNOTATION, literal.span, message)
        seen.add(name)


def _plain(literal: Literal) -> str | int | float | bool:
    assert isinstance(literal.value, str | int | float | bool)
    return literal.value


def _report_misplaced(annotation: ast.Annotation, place: str, problems: Problems) -> None:
    name = annotation.name
    places = PLACES[name]
    if place == "edge" and name in _BODY_FORM:
        hint = "an edge type can have @unique(…), @index(…) and @key(src, dst) in its body"
    elif name in _BODY_FORM:
        hint = f"write {_BODY_FORM[name]}"
    else:
        hint = f"@{name} is allowed on {' or '.join(_article(each) for each in places)}"
    message = f"@{name} is not allowed on {_article(place)}"
    problems.report(Code.MISPLACED_ANNOTATION, annotation.span, message, hint)


def _article(place: str) -> str:
    return {"node": "a node type", "edge": "an edge type"}.get(place, f"a {place}")
