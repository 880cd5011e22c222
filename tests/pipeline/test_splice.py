"""One member of a JSON object changes, and no other byte."""

import json
from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from omnigraph.write.embed.splice import JsonMembers

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=12,
)
OBJECTS = st.dictionaries(st.text(max_size=4), VALUES, max_size=6)
STYLES = st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :  ")])


def written(value: object, style: tuple[str, str], ascii_only: bool) -> bytes:
    return json.dumps(value, separators=style, ensure_ascii=ascii_only).encode()


@given(OBJECTS, STYLES, st.booleans())
@example(found={"a": ["]", {"b": '"}'}], "}": "\\"}, style=(",", ":"), ascii_only=True)
def test_every_member_is_found_with_its_value(
    found: Mapping[str, object], style: tuple[str, str], ascii_only: bool
) -> None:
    members = JsonMembers(b"  " + written(found, style, ascii_only), 2)
    for name, value in found.items():
        assert members.value(name) == written(value, style, ascii_only)


@given(OBJECTS, st.text(max_size=4), STYLES)
def test_putting_a_member_in_changes_nothing_else(
    found: dict[str, object], name: str, style: tuple[str, str]
) -> None:
    before, after = JsonMembers(written(found, style, ascii_only=True), 0).around(name)
    assert json.loads(before + b"[1.0]" + after) == {**found, name: [1.0]}
    assert [*json.loads(before + b"[1.0]" + after)] == [*{**found, name: None}]


@given(OBJECTS.filter(bool), st.data(), STYLES)
def test_taking_a_member_out_changes_nothing_else(
    found: dict[str, object], data: st.DataObject, style: tuple[str, str]
) -> None:
    name = data.draw(st.sampled_from([*found]))
    text = JsonMembers(written(found, style, ascii_only=True), 0).without(name)
    rest = {key: value for key, value in found.items() if key != name}
    assert json.loads(text) == rest
    assert [*json.loads(text)] == [*rest]


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ('{"a":1}', '{"a":1,"v":[]}'),
        ('{"a": 1}', '{"a": 1, "v": []}'),
        ('{"a" :  1  }', '{"a" :  1,  "v":  []  }'),
        ("{}", '{"v": []}'),
        ('{ "v" : null , "a": 1.0}', '{ "v" : [] , "a": 1.0}'),
    ],
)
def test_a_new_member_is_written_as_the_others_are(text: str, filled: str) -> None:
    before, after = JsonMembers(text.encode(), 0).around("v")
    assert (before + b"[]" + after).decode() == filled


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ('{"v":1}', "{}"),
        ('{"v": 1, "a": 2}', '{"a": 2}'),
        ('{"a": 2, "v": 1}', '{"a": 2}'),
        ('{"a": 2, "v": [1, {"v": 3}], "b": 1e2}', '{"a": 2, "b": 1e2}'),
        (r'{"a": 2, "\u0076": 1}', '{"a": 2}'),
    ],
)
def test_a_member_goes_with_its_comma(text: str, rest: str) -> None:
    assert JsonMembers(text.encode(), 0).without("v").decode() == rest


def test_a_member_that_is_given_twice_is_found_twice() -> None:
    assert len(JsonMembers(b'{"v": 1, "a": {"v": 2}, "v": 3}', 0).named("v")) == 2
