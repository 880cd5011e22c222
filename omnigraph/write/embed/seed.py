"""Seed: the spec of an offline embed: which fields of which types, from which file to which."""

import json
import os
from collections.abc import Mapping
from pathlib import Path

from omnigraph.errors import ConfigError
from omnigraph.files.bytes import file_bytes
from omnigraph.files.yaml import Section, parse_yaml
from omnigraph.frozen import dataclass
from omnigraph.schema.types import MOST_DIMENSIONS

_SEED = ("input", "output", "spec")
_SPEC = ("dimension", "types", "model")
_FIELDS = ("source", "target")


@dataclass(frozen=True, slots=True)
class Fields:
    """The field with the text of a type's rows, and the field that gets its vector."""

    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What to embed: fields by type, the dimension of the vectors, and the model.

    Without a model the environment chooses.
    """

    dimension: int
    types: Mapping[str, Fields]
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Seed:
    """An offline embed in one file: the input, the output, and the spec."""

    input: str
    output: str
    spec: Spec


def read_seed(path: str | os.PathLike[str]) -> Seed:
    """Read a seed from YAML; its paths are relative to its own folder."""
    folder, name = Path(path).parent, os.fspath(path)
    seed = parse_yaml(name, file_bytes(path), _SEED)
    source, target = (_below(folder, seed.required(key)) for key in ("input", "output"))
    if seed.is_text("spec"):
        place = _below(folder, seed.required("spec"))
        seed.check()
        return Seed(source, target, read_spec(place))
    return Seed(source, target, _spec(seed.section("spec", _SPEC), name))


def read_spec(path: str | os.PathLike[str]) -> Spec:
    """Read a spec from a JSON or YAML file."""
    # A tab is white space in JSON, but not in YAML.
    data = file_bytes(path).replace(b"\t", b" ")
    return _spec(parse_yaml(os.fspath(path), data, _SPEC), os.fspath(path))


def spec_of(given: Mapping[str, object]) -> Spec:
    """Return the spec in a mapping that has the form of a spec file."""
    try:
        data = json.dumps(dict(given)).encode()
    except (TypeError, ValueError) as bad:
        raise ConfigError(f"the spec has a value that JSON cannot hold: {bad}") from None
    return _spec(parse_yaml("the spec", data, _SPEC), "the spec")


def _spec(section: Section, name: str) -> Spec:
    dimension = section.count("dimension")
    if dimension is not None and dimension > MOST_DIMENSIONS:
        section.report("dimension", f"is at most {MOST_DIMENSIONS}")
    inner = section.sections("types", _FIELDS)
    types = {key: _fields(each) for key, each in inner.items()}
    model = section.text("model")
    section.check()
    if dimension is None:
        raise ConfigError(f"{name}: the spec has no 'dimension'")
    if not types:
        raise ConfigError(f"{name}: the spec has no 'types'")
    return Spec(dimension=dimension, types=types, model=model)


def _fields(section: Section) -> Fields:
    fields = Fields(section.required("source"), section.required("target"))
    if fields.source and fields.source == fields.target:
        section.report("target", "is the source too")
    return fields


def _below(folder: Path, place: str) -> str:
    return place if "://" in place else str(folder / place)
