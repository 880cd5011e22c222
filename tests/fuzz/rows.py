"""Rows: the targets that read the files of a load, an import and an offline embed."""

import bz2
import gzip
import io
import json
import lzma
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cache
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq

from omnigraph import Catalog, compile_schema
from omnigraph.data.values.ids import assign_ids
from omnigraph.data.values.soundness import check_sound
from omnigraph.errors import Violation, ViolationsError
from omnigraph.schema.codec import encode_catalog
from omnigraph.spark.deadline import Deadline
from omnigraph.storage.store import Store
from omnigraph.write.embed.rewrite import CleanedRow, DueRow, EmbedMode, KeptLine, Rewrite
from omnigraph.write.embed.row_filter import RowFilter, Select
from omnigraph.write.embed.seed import Fields, Spec
from omnigraph.write.infer.inferred import infer
from omnigraph.write.load.sources.files import File
from omnigraph.write.load.sources.records import JSON_SPACE, Block
from omnigraph.write.load.sources.splits import blocks, source_of, splits_of
from omnigraph.write.load.stage import broken_rules
from tests.fuzz.corpus import ODD
from tests.fuzz.mutation import Language, damaged, hostile_bytes, hostile_file, hostile_json
from tests.fuzz.target import Broken, Target, scratch, written

SCHEMA = """
node Person { slug: String @key  name: String  age: I32?  score: F64?  small: F32?  big: U64?
  count: I64?  status: enum(active, left)?  tags: [String]?  days: [Date]?  seen: DateTime?
  born: Date?  ok: Bool?  photo: Blob?  vec: Vector(2)?
  @range(age, 0..150)  @check(slug, "^[a-z]+$") }
node Room { number: I64 @key  title: String? @default("none") }
edge Knows: Person -> Person { since: Date?  weight: F32? }
edge In: Person -> Room
"""
TYPES = ("Person", "Room", "Knows", "In")
_LINES = (
    '{"type":"Person","data":{"slug":"ann","name":"Ann","age":3,"tags":["a","b"],"ok":true}}\n'
    '{"type": "Person", "data": {"slug": "bob", "name": "B", "vec": [1, 2.5], "big": 5}}\n'
    '{"edge":"Knows","from":"ann","to":"bob","data":{"since":"2024-01-31","weight":0.5}}\n',
    '{"type":"Person","data":{"slug":"cy","name":"\\u00e9","score":-1.5e3,"status":"left",'
    '"seen":"2024-01-31T12:00:00Z","born":"1970-01-01","photo":"base64:AAAA","days":[]}}\n',
    '// rooms\n{"type":"Room","data":{"number":7}}\n\n{"edge":"In","from":"ann","to":7}\n',
    '{"slug":"dan","name":"Dan","count":9007199254740993,"small":0.25}\n{"number":1}\n',
    '{"from":"ann","to":"bob","since":null}\r\n{"id":"x","source":"ann","target":"bob"}\r\n',
)
_CSV = (
    'slug,name,age,tags,ok,born\nann,Ann,3,"[""a"", ""b""]",true,2024-01-31\nbob,B,,,,\n',
    'slug,name,score,vec,big,seen\r\ncy,"C, ""D""\nE",1.5,"[1, 2]",7,2024-01-31T12:00:00Z\r\n',
    "number,title\n1,one\n2,\n-3,x\n",
    "from,to,since,weight\nann,bob,2024-01-31,0.5\nbob,ann,,\n",
    "from,to\nann,1\nbob,2\n",
)
_JSON_SIGNS = (
    *'{}[]:,"\\-.+eE09',
    *('""', "null", "true", "NaN", "Infinity", "-0", "1e999", "1" * 30, "9" * 5_000, "[" * 2_000),
    *(
        '"\\ud800"',
        '"\\u0000"',
        '\\"',
        "//",
        "\n",
        "\r\n",
        "\r",
        ",,",
        '"type"',
        '"edge"',
        '"data"',
    ),
    *('"id":1,', '"slug":"ann"', '"from":1.5,', "2024-02-30", '"base64:é"', *ODD),
)
_CSV_SIGNS = (
    *',";\t|\n\r',
    *('""', '"', "\r\n", "\n\n", ",,", "[1,2]", "[", "[" * 2_000, "9" * 5_000, "1e999", "NaN"),
    *("true", "null", "{}", '"a"', '"[""x""]"', "base64:AA", "id", "src", "type", "-0", *ODD),
)
_JSON_LINES = Language(_LINES, words=("type", "edge", "data", *TYPES), signs=_JSON_SIGNS)
_TABLES = Language(_CSV, words=("slug", "from", "to", "id", "name"), signs=_CSV_SIGNS)


@dataclass(frozen=True, slots=True)
class Given:
    """A file of a load: its name and bytes, the type of its rows, and how they are loaded.

    `whole` are the bytes of the valid file of which these are a damaged form.
    """

    name: str
    data: bytes
    type: str | None = None
    partial: bool = False
    whole: bytes | None = None


@cache
def _catalog() -> Catalog:
    return compile_schema(SCHEMA)


@cache
def _encoded() -> str:
    return encode_catalog(_catalog())


def _read(given: Given) -> list[Block]:
    """Return all blocks of a file; what is wrong with its rows stands in them."""
    written(given.name, given.data)
    file = File(given.name, len(given.data), Store(str(scratch()), is_local=True), given.name)
    source = source_of(file, given.type, _catalog())
    return [
        block
        for split in splits_of([source], 1)
        for block in blocks(split, _encoded(), Deadline(), partial=given.partial)
    ]


def _run(given: Given) -> None:
    _judge(given, _read(given))


def _judge(given: Given, found: list[Block]) -> None:
    """Raise Broken unless the blocks of a file are sound, and ViolationsError for bad rows."""
    for block in found:
        _check_block(block)
    violations = [each for block in found for each in block.violations]
    if not violations:
        violations = [each for block in found for each in _broken(block)]
    if violations:
        raise ViolationsError(violations[:100], total=len(violations))
    if given.whole is not None and _columns(found) != _whole(replace(given, data=given.whole)):
        raise Broken("a damaged file was read as if it were whole, with other rows")


@cache
def _whole(given: Given) -> list[tuple[str, dict[str, list[object]]]]:
    return _columns(_read(given))


def _columns(found: list[Block]) -> list[tuple[str, dict[str, list[object]]]]:
    return [(rows.stored.name, rows.columns.to_pydict()) for each in found for rows in each.rows]


def _check_block(block: Block) -> None:
    """Raise Broken unless the rows of a block are sound, and each has a line of it."""
    for rows in block.rows:
        check_sound(rows.columns.columns)
        if len(rows.lines) != len(rows.columns):
            raise Broken("some rows have no line")
        if len(rows.lines) and not 0 <= rows.lines.min() <= rows.lines.max() < block.lines:
            raise Broken("a row has a line that its block does not have")
    for each in block.violations:
        if each.line is not None and not 0 <= each.line <= block.lines:
            raise Broken(f"a violation is in line {each.line} of {block.lines}")


def _broken(block: Block) -> Iterator[Violation]:
    """Yield the rules of single rows that rows break; those that break none get ids."""
    for rows in block.rows:
        broken = list(broken_rules(rows))
        yield from broken
        if not broken:
            assign_ids(rows.stored, rows.columns)


def _run_lines(given: Given) -> None:
    """Read JSON lines, and look for lines that are neither a row, nor blank, nor reported."""
    found = _read(given)
    lines = given.data.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    left = {
        at
        for at, line in enumerate(lines)
        if (each := line.strip(JSON_SPACE)) and each[:2] != b"//"
    }
    rows: list[int] = []
    before = 0
    for block in found:
        left -= {before + each.line for each in block.violations if each.line is not None}
        rows += (before + line for each in block.rows for line in each.lines.tolist())
        before += block.lines
    if left - set(rows):
        raise Broken(f"the lines {sorted(left - set(rows))[:5]} are neither a row nor an error")
    if len(set(rows)) != len(rows):
        raise Broken("a line became two rows")
    _judge(given, found)


def _lines(random: Random) -> Given:
    kind = random.choice((None, None, *TYPES))
    return Given("a.jsonl", hostile_file(random, _JSON_LINES), kind, random.random() < 0.3)


def _json_rows(random: Random) -> Given:
    """Return records of which members are others, so that the lines are JSON."""
    lines = [hostile_json(random, _records()) for _ in range(random.choice((1, 2, 3)))]
    data = "\n".join(lines).encode(errors="surrogatepass")
    return Given("a.jsonl", data, random.choice((None, None, *TYPES)), random.random() < 0.3)


@cache
def _records() -> tuple[str, ...]:
    lines = (line for text in _LINES for line in text.splitlines())
    return tuple(line for line in lines if line.startswith("{"))


def _csv(random: Random) -> Given:
    kind = random.choice(TYPES)
    return Given("a.csv", hostile_file(random, _TABLES), kind, random.random() < 0.3)


@cache
def _arrow_tables() -> tuple[pa.Table, ...]:
    """Return rows of every type that columns of frames have."""
    noon = datetime(2024, 1, 31, 12, tzinfo=UTC)
    slugs = pa.array(["ann", "bob", "cy"])
    plain = {
        "slug": slugs,
        "name": pa.array(["Ann", "é", ""]).dictionary_encode(),
        "age": pa.array([3, None, 7], pa.int8()),
        "score": pa.array([1.5, None, -0.0]),
        "big": pa.array([1, 2, None], pa.uint64()),
        "ok": pa.array([True, None, False]),
        "born": pa.array([date(1970, 1, 1), None, date(2024, 1, 31)]),
        "seen": pa.array([noon, None, noon], pa.timestamp("us", "UTC")),
        "tags": pa.array([["a", "b"], [], None]),
        "vec": pa.array([[1.0, 2.0], None, [0.0, 3.5]], pa.list_(pa.float32(), 2)),
        "photo": pa.array(["base64:AAAA", None, "s3://b/c"]),
    }
    large = {
        "slug": slugs.cast(pa.large_string()),
        "name": slugs.cast(pa.string_view()),
        "days": pa.array([[date(2024, 1, 31)], None, []], pa.large_list(pa.date32())),
        "seen": pa.array([noon, noon, None], pa.timestamp("ns", "UTC")),
        "status": pa.array(["active", "left", None]).dictionary_encode(),
        "photo": pa.array([b"\0", None, b""], pa.binary()),
        "vec": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.int16())),
    }
    edges = {"src": slugs, "dst": slugs.take([2, 1, 0]), "weight": pa.array([0.5, None, 1.0])}
    rooms = {"number": pa.array([1, 2, 3]), "title": pa.array(["a", None, "c"])}
    inside = {"from": slugs, "to": pa.array([1, 2, 3], pa.int32())}
    return tuple(map(pa.table, (plain, large, edges, rooms, inside)))


_OF_TABLES = ("Person", "Person", "Knows", "Room", "In")


@cache
def _parquet() -> tuple[tuple[str, bytes], ...]:
    ways: tuple[dict[str, object], ...] = (
        {"compression": "none", "use_dictionary": False},
        {"compression": "snappy", "row_group_size": 2},
        {"compression": "zstd", "data_page_version": "2.0", "store_schema": False},
        {"compression": "gzip", "write_statistics": False, "use_byte_stream_split": ["score"]},
        {"compression": "lz4", "use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"},
    )
    found = []
    for kind, table in zip(_OF_TABLES, _arrow_tables(), strict=True):
        for way in ways:
            file = io.BytesIO()
            try:
                pq.write_table(table, file, **way)
            except (pa.ArrowException, OSError):
                continue  # this way cannot store such columns
            found.append((kind, file.getvalue()))
    return tuple(found)


@cache
def _arrow() -> tuple[tuple[str, bytes], ...]:
    found = []
    for kind, table in zip(_OF_TABLES, _arrow_tables(), strict=True):
        for make in (pa.ipc.new_file, pa.ipc.new_stream):
            for codec in (None, "lz4", "zstd"):
                sink = io.BytesIO()
                options = pa.ipc.IpcWriteOptions(compression=codec)
                with make(sink, table.schema, options=options) as writer:
                    writer.write_table(table, max_chunksize=2)
                found.append((kind, sink.getvalue()))
    return tuple(found)


def _typed(name: str, corpus: Callable[[], tuple[tuple[str, bytes], ...]]) -> Callable[..., Given]:
    def make(random: Random) -> Given:
        kind, data = random.choice(corpus())
        # Parts of other files fit in places where random bytes do not.
        others = (data, data, random.choice(corpus())[1])
        return Given(name, hostile_bytes(random, others), kind, random.random() < 0.3)

    return make


_PACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": lambda data: gzip.compress(data, mtime=0),
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.Codec("zstd").compress(data, asbytes=True),
}


@cache
def _packed() -> tuple[tuple[str, str | None, bytes, int], ...]:
    plain = [("jsonl", None, text) for text in _LINES[:3]] + [("csv", "Room", _CSV[2])]
    found = []
    for kind, type_name, text in plain:
        for ending, pack in _PACK.items():
            data, half = text.encode(), len(text.encode()) // 2
            first, name = pack(data[:half]), f"a.{kind}.{ending}"
            found.append((name, type_name, pack(data), 0))
            found.append((name, type_name, first + pack(data[half:]), len(first)))
    return tuple(found)


def _pack(random: Random) -> Given:
    """Return a compressed file; one of every two is a valid one with little damage."""
    name, kind, data, seam = random.choice(_packed())
    if random.random() < 0.5:
        given = damaged(random, data)
        # Files of zstd may have no checksum, and what is cut at a seam is a valid file.
        is_sure = "zst" not in name and len(given) not in (0, seam)
        return Given(name, given, kind, whole=data if is_sure else None)
    return Given(name, hostile_bytes(random, [data, random.choice(_packed())[2]]), kind)


def _import(random: Random) -> Given:
    match random.randrange(6):
        case 0:
            return Given("a.csv", hostile_file(random, _TABLES))
        case 1:
            return Given("a.jsonl", hostile_file(random, _JSON_LINES))
        case 2:
            return Given("a.json", hostile_json(random, _DOCUMENTS).encode(errors="surrogatepass"))
        case 3:
            return Given("a.parquet", hostile_bytes(random, [random.choice(_parquet())[1]]))
        case _:
            return Given("a.graphml", hostile_file(random, _GRAPHML))


_DOCUMENTS = (
    '[{"id":1,"name":"Ann","tags":["a"],"at":{"x":1}},{"id":2,"name":null,"tags":[]}]',
    '{"people":[{"name":"Ann","age":3}],"orders":[{"number":1,"person_name":"Ann"}]}',
    '[{"type":"Person","data":{"slug":"ann"}},{"edge":"Knows","from":"ann","to":"ann"}]',
)
_GRAPHML = Language(
    (
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="n" for="node"'
        ' attr.name="type" attr.type="string"/><key id="w" for="edge" attr.name="w"'
        ' attr.type="double"/><graph edgedefault="directed"><node id="a"><data key="n">P</data>'
        '</node><node id="b"/><edge source="a" target="b"><data key="w">1.5</data></edge>'
        "</graph></graphml>",
    ),
    words=("graph", "node", "edge", "key", "data", "int", "boolean", "long", "yfiles"),
    signs=(*"<>/&;=\"'", "<![CDATA[", "<!--", "&amp;", "&#0;", "&x;", "<!DOCTYPE a>", *ODD),
)


def _run_import(given: Given) -> None:
    path = written(given.name, given.data)
    found = infer(path)
    compile_schema(found.schema)
    found.to_json()


_REWRITES = tuple(
    Rewrite(Spec(dimension=2, types={"Person": Fields("name", "vec")}), mode, rows)
    for mode in EmbedMode
    for rows in (RowFilter(), RowFilter(selects=(Select("Person", "slug", "ann"),)))
)


def _run_embed(given: Given) -> None:
    for line in given.data.splitlines(keepends=True):
        try:
            line.decode()
        except UnicodeDecodeError:
            continue  # is refused before it comes here
        for rewrite in _REWRITES:
            _check_step(line, rewrite)


def _check_step(line: bytes, rewrite: Rewrite) -> None:
    match rewrite.step(line):
        case KeptLine(kept):
            if kept != line:
                raise Broken("a kept line is another one")
        case DueRow(before, text, after):
            # Numbers of thousands of digits are kept as they are.
            found = json.loads(before + b"[0.5, 1.5]" + after, parse_int=str)
            if found["data"]["vec"] != [0.5, 1.5] or found["data"]["name"] != text:
                raise Broken("the row has not the vector or not the text")
        case CleanedRow(cleaned):
            if "vec" in json.loads(cleaned, parse_int=str)["data"]:
                raise Broken("a cleaned row has its vector")
        case bad:
            raise ViolationsError(bad.faults, total=len(bad.faults))


ROWS = (
    Target("json lines", _lines, _run_lines),
    Target("json rows", _json_rows, _run_lines),
    Target("csv", _csv, _run),
    Target("parquet", _typed("a.parquet", _parquet), _run),
    Target("arrow", _typed("a.arrow", _arrow), _run),
    Target("packed", _pack, _run),
    Target("import", _import, _run_import),
    Target("embed lines", lambda random: random.choice((_lines, _json_rows))(random), _run_embed),
)
