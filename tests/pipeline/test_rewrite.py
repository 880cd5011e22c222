"""What an offline embed does to one line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnigraph.errors import Code
from omnigraph.write.embed.rewrite import BadLine, CleanedRow, DueRow, EmbedMode, KeptLine, Rewrite
from omnigraph.write.embed.row_filter import RowFilter, Select
from omnigraph.write.embed.seed import Fields, Spec

SPEC = Spec(dimension=2, types={"Doc": Fields("body", "v")}, model="mock")
FILL = Rewrite(SPEC, EmbedMode.FILL_MISSING, RowFilter())
RENEW = Rewrite(SPEC, EmbedMode.REEMBED_ALL, RowFilter())
CLEAN = Rewrite(SPEC, EmbedMode.CLEAN, RowFilter())
EVERY = (FILL, RENEW, CLEAN)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=6,
)
NUMBERS = st.integers() | st.floats() | st.just(10**400)
VECTORS = st.lists(NUMBERS, min_size=1, max_size=3)


def doc(**data: object) -> bytes:
    return json.dumps({"type": "Doc", "data": data}).encode() + b"\n"


def codes(line: bytes, rewrite: Rewrite = FILL) -> list[tuple[Code, str | None]]:
    step = rewrite.step(line)
    assert isinstance(step, BadLine), step
    return [(each.code, each.field) for each in step.faults]


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"  // a comment {\n",
        b'{"type": "Other", "data": {"v": "whatever", "body": 7}}\n',
        b'{"edge": "Doc", "from": "a", "to": "b", "data": {"body": "text"}}\r\n',
    ],
    ids=["blank", "comment", "another type", "edge"],
)
@pytest.mark.parametrize("rewrite", EVERY, ids=lambda each: each.mode)
def test_lines_that_are_no_rows_of_the_spec_stay(line: bytes, rewrite: Rewrite) -> None:
    step = rewrite.step(line)
    assert isinstance(step, KeptLine)
    assert step.line is line
    assert not step.is_selected


@pytest.mark.parametrize("target", ["", ', "v": null', ', "v": []', ', "v": [ ]'])
@pytest.mark.parametrize("rewrite", [FILL, RENEW], ids=lambda each: each.mode)
def test_a_row_without_a_vector_is_due(target: str, rewrite: Rewrite) -> None:
    line = f'{{"data": {{"n": 1.0, "body": "a\\u00e9"{target}}}, "type": "Doc"}}'.encode()
    assert rewrite.step(line) == DueRow(
        b'{"data": {"n": 1.0, "body": "a\\u00e9", "v": ', "aé", b'}, "type": "Doc"}'
    )


def test_a_row_with_a_vector_is_due_only_when_all_are_made_anew() -> None:
    line = doc(body="text", v=[1, 0.5])
    assert FILL.step(line) == KeptLine(line, is_selected=True)
    assert isinstance(RENEW.step(line), DueRow)


@pytest.mark.parametrize("data", [{}, {"body": None}, {"body": ""}, {"body": " \n\u2003"}])
@pytest.mark.parametrize("rewrite", EVERY, ids=lambda each: each.mode)
def test_a_row_without_text_and_vector_stays(data: dict[str, object], rewrite: Rewrite) -> None:
    line = doc(**data)
    assert rewrite.step(line) == KeptLine(line, is_selected=True)


def test_an_old_vector_whose_text_is_gone_cannot_be_made_anew() -> None:
    assert codes(doc(body=" ", v=[1, 2]), RENEW) == [(Code.REQUIRED_VALUE, "body")]
    assert codes(doc(v=[1, 2]), RENEW) == [(Code.REQUIRED_VALUE, "body")]


def test_cleaning_removes_whatever_the_field_holds() -> None:
    assert CLEAN.step(doc(a=1, v="no vector", body=5)) == CleanedRow(doc(a=1, body=5))
    assert CLEAN.step(doc(v=None)) == CleanedRow(doc())


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b'{"type": "Doc", "data": {}', Code.RECORD_SYNTAX),
        (b'{"type": "Doc", "data": {"a": NaN}}', Code.RECORD_SYNTAX),
        (b'{"type": "Doc", "data": {"a": "\\ud800"}}', Code.RECORD_SYNTAX),
        (b'{"type": "Other", "data": {"a": 01}}', Code.RECORD_SYNTAX),
        (b'{"type": "Doc", "data": ' + b"[" * 9999 + b"]" * 9999 + b"}", Code.RECORD_SYNTAX),
        (b"[1, 2]", Code.RECORD_SHAPE),
        (b'"text"', Code.RECORD_SHAPE),
        (b'{"data": {}}', Code.RECORD_SHAPE),
        (b'{"type": 7, "data": {}}', Code.RECORD_SHAPE),
        (b'{"type": "Doc", "edge": "Doc", "data": {}}', Code.RECORD_SHAPE),
        (b'{"type": "Doc"}', Code.RECORD_SHAPE),
        (b'{"type": "Other", "data": [1]}', Code.RECORD_SHAPE),
        (b'{"type": "Doc", "data": null}', Code.RECORD_SHAPE),
        (b'{"type": "Doc", "type": "Doc", "data": {}}', Code.REPEATED_FIELD),
        (b'{"type": "Doc", "data": {"v": [], "v": []}}', Code.REPEATED_FIELD),
    ],
)
@pytest.mark.parametrize("rewrite", EVERY, ids=lambda each: each.mode)
def test_a_line_that_is_no_record_has_its_code(line: bytes, code: Code, rewrite: Rewrite) -> None:
    assert [each for each, _ in codes(line, rewrite)] == [code]


@pytest.mark.parametrize("body", [7, 1.5, True, ["text"], {"a": "text"}])
@pytest.mark.parametrize("rewrite", [FILL, RENEW], ids=lambda each: each.mode)
def test_a_text_has_to_be_a_text(body: object, rewrite: Rewrite) -> None:
    assert codes(doc(body=body), rewrite) == [(Code.VALUE_TYPE, "body")]


@pytest.mark.parametrize("vector", [7, "x", [1], [1, 2, 3], [1, None], [1, "2"], {}, [1, 1e39]])
def test_a_vector_that_is_there_has_to_be_one(vector: object) -> None:
    assert codes(doc(body="text", v=vector)) == [(Code.VALUE_TYPE, "v")]
    assert isinstance(RENEW.step(doc(body="text", v=vector)), DueRow)


@pytest.mark.parametrize("vector", ["[3.4028235e+38, -0]", "[1e-45, 12345678901234567890123]"])
def test_every_float_of_32_bits_is_a_number_of_a_vector(vector: str) -> None:
    line = doc(body="text", v=0).replace(b"0", vector.encode())
    assert FILL.step(line) == KeptLine(line, is_selected=True)


@pytest.mark.parametrize("depth", [300, 900, 990, 1100])
def test_deep_values_are_judged(depth: int) -> None:
    deep = b"[" * depth + b"]" * depth
    for field in ("v", "body", "other"):
        line = (
            b'{"type": "Doc", "data": {"body": "text", "' + field.encode() + b'": ' + deep + b"}}"
        )
        assert FILL.step(line) is not None


@given(st.binary(max_size=40) | JSON.map(lambda each: json.dumps(each).encode()))
def test_no_line_is_too_odd_to_be_judged(line: bytes) -> None:
    for rewrite in EVERY:
        try:
            text = line.decode()
        except UnicodeDecodeError:
            return
        assert isinstance(rewrite.step(text.encode()), KeptLine | BadLine)


@given(JSON, JSON | VECTORS)
def test_no_value_is_too_odd_to_be_judged(body: object, vector: object) -> None:
    for rewrite in EVERY:
        assert rewrite.step(doc(body=body, v=vector)) is not None


@given(st.dictionaries(st.text(max_size=3), JSON), st.text(max_size=5))
def test_what_is_filled_in_can_be_taken_out_again(data: dict[str, object], body: str) -> None:
    data.pop("v", None)
    line = doc(**{**data, "body": body})
    step = FILL.step(line)
    if isinstance(step, DueRow):
        filled = step.before + b"[0.6,0.8]" + step.after
        assert json.loads(filled) == json.loads(doc(**{**data, "body": body, "v": [0.6, 0.8]}))
        assert CLEAN.step(filled) == CleanedRow(line)


@pytest.mark.parametrize(
    ("selects", "data", "is_selected"),
    [
        (["Doc:lang=de"], {"lang": "de"}, True),
        (["Doc:lang=de"], {"lang": "en"}, False),
        (["Doc:lang=de", "Doc:lang=en"], {"lang": "en"}, True),
        (['Doc:lang="de"'], {"lang": "de"}, True),
        (["Doc:n=1"], {"n": 1.0}, True),
        (["Doc:n=1"], {"n": "1"}, False),
        (['Doc:n="1"'], {"n": "1"}, True),
        (["Doc:n=1"], {"n": True}, False),
        (["Doc:n=true"], {"n": True}, True),
        (["Doc:n=null"], {}, True),
        (["Doc:n=null"], {"n": None}, True),
        (["Doc:n=[1,true]"], {"n": [1, True]}, True),
        (["Doc:n=[1,true]"], {"n": [1, 1]}, False),
        (['Doc:n={"a": 1}'], {"n": {"a": 1}}, True),
        (["Doc:url=a=b:c"], {"url": "a=b:c"}, True),
        (["Doc:n=9007199254740993"], {"n": 9007199254740992}, False),
        (["Other:lang=de"], {"lang": "de"}, False),
    ],
)
def test_a_row_is_selected_by_the_value_of_a_field(
    selects: list[str], data: dict[str, object], is_selected: bool
) -> None:
    rows = RowFilter(selects=tuple(map(Select.parsed, selects)))
    step = Rewrite(SPEC, EmbedMode.FILL_MISSING, rows).step(doc(**data))
    assert isinstance(step, KeptLine)
    assert step.is_selected is is_selected
