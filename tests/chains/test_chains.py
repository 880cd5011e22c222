"""How many requests to a bucket follow one another; each takes a moment, and all add up.

Whatever slows a request down, or the machine, only makes a chain longer. So of several times that
the same is done, the shortest chain counts.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from uuid import uuid4

import pytest

from omnigraph import Branch, Graph, init
from omnigraph import open as open_graph
from tests.chains.recording import Asked, Recording, longest_chain, recorded
from tests.stores import BUCKET, s3_lane

SCHEMA = """
node Person { slug: String @key  name: String @index  age: I32? @index  born: Date? @index }
edge Knows: Person -> Person
"""
WIDE = "\n".join(
    [
        *(f"node T{n} {{ slug: String @key  name: String @index }}" for n in range(20)),
        *(f"edge E{n}: T{n} -> T{n + 1}" for n in range(10)),
    ]
)
INSERT = """
query add($slug: String, $age: I32) { insert Person { slug: $slug, name: $slug, age: $age } }
"""
CONNECT = "query connect($a: String, $b: String) { insert Knows { from: $a, to: $b } }"
READ = "query one($slug: String) { match { $p: Person { slug: $slug } } return { $p.age } }"
PAUSE = 0.03
# Creating many tables keeps this machine busy for longer than a short pause.
LONG_PAUSE = 0.25
MOST_TRIES = 6


@pytest.fixture(params=["standin", pytest.param("seaweedfs", marks=pytest.mark.long)])
def recording(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Recording]:
    """Record what is asked of a bucket: of a server in memory, and of a real one."""
    if request.param == "standin":
        behind = request.getfixturevalue("standin").environment["AWS_ENDPOINT_URL"]
    else:
        behind = request.getfixturevalue("seaweedfs")
    with recorded(behind) as (address, found):
        s3_lane(request.param, address, monkeypatch)
        yield found


@pytest.fixture
def graph(recording: Recording) -> Graph:
    """A graph in the bucket with a few persons, to which this process has written before."""
    made = init(_place(), SCHEMA)
    for number in range(3):
        made.branch().mutate(INSERT, {"slug": f"p{number}", "age": number})
    return made


def _place() -> str:
    return f"s3://{BUCKET}/{uuid4().hex}/graph"


def _names() -> Iterator[str]:
    return (f"n{uuid4().hex}" for _ in range(MOST_TRIES))


def _shortest(
    recording: Recording,
    limit: int,
    works: Iterable[Callable[[], object]],
    pause: float = PAUSE,
    kind: Callable[[list[Asked]], bool] = lambda _: True,
) -> list[Asked]:
    """Return the shortest chain of works of a kind, or the first within the limit."""
    chains = []
    for work in works:
        with recording.taken(pause) as asked:
            work()
        if kind(asked):
            chains.append(longest_chain(asked))
            if len(chains[-1]) <= limit:
                break
    return min(chains, key=len)


def _folds(asked: list[Asked]) -> bool:
    """Whether the rows of earlier inserts were joined with the new one."""
    return sum(each.method == "PUT" and "/edges/" in each.key for each in asked) > 2


def _shown(chain: list[Asked]) -> str:
    return "\n".join(map(str, chain))


def _inserts(branch: Branch) -> Iterator[Callable[[], object]]:
    return (partial(branch.mutate, INSERT, {"slug": name, "age": 1}) for name in _names())


def test_a_node_with_three_indexes_and_one_of_texts_is_inserted_in_a_chain_of_twelve(
    graph: Graph, recording: Recording
) -> None:
    chain = _shortest(recording, 12, _inserts(graph.branch()))

    assert len(chain) <= 12, _shown(chain)


@pytest.mark.parametrize("folds", [False, True], ids=["alone", "with those before it"])
def test_an_edge_is_inserted_in_a_chain_of_eight(
    graph: Graph, recording: Recording, folds: bool
) -> None:
    branch = graph.branch()
    ends = ({"a": f"p{n % 3}", "b": f"p{n % 2}"} for n in range(2 * MOST_TRIES))
    works = (partial(branch.mutate, CONNECT, each) for each in ends)

    chain = _shortest(recording, 8, works, kind=lambda asked: _folds(asked) is folds)

    assert len(chain) <= 8, _shown(chain)


def test_a_branch_is_created_in_a_chain_of_three(graph: Graph, recording: Recording) -> None:
    works = (partial(graph.create_branch, name) for name in _names())

    chain = _shortest(recording, 3, works)

    assert len(chain) <= 3, _shown(chain)


def test_ten_rows_are_merged_in_a_chain_of_sixteen(graph: Graph, recording: Recording) -> None:
    main = graph.branch()

    def merges() -> Iterator[Callable[[], object]]:
        for name in _names():
            graph.create_branch(name)
            rows = "\n".join(
                f'{{"type": "Person", "data": {{"slug": "{name}{n}", "name": "x"}}}}'
                for n in range(10)
            )
            graph.branch(name).load(rows)
            main.mutate(INSERT, {"slug": f"{name}-main", "age": 1})
            yield partial(main.merge, name)

    chain = _shortest(recording, 16, merges())

    assert len(chain) <= 16, _shown(chain)


@pytest.mark.parametrize(
    ("schema", "pause"),
    [(SCHEMA, PAUSE), pytest.param(WIDE, LONG_PAUSE, marks=pytest.mark.long)],
    ids=["two types", "thirty types"],
)
def test_a_graph_is_made_in_a_chain_of_twenty(
    recording: Recording, schema: str, pause: float
) -> None:
    works = (partial(init, _place(), schema) for _ in range(MOST_TRIES))

    chain = _shortest(recording, 20, works, pause)

    assert len(chain) <= 20, _shown(chain)


def test_a_warm_read_looks_for_a_new_version_and_nothing_else_however_long_the_history(
    graph: Graph, recording: Recording
) -> None:
    branch = graph.branch()

    def read() -> list[Asked]:
        list(branch.query(READ, {"slug": "p1"}))
        with recording.taken(PAUSE) as asked:
            assert [row["p.age"] for row in branch.query(READ, {"slug": "p1"})] == [1]
        return asked

    asked = [read()]
    for number in range(12):
        graph.create_branch(f"b{number}")
    asked.append(read())

    for each in asked:
        assert [one.method for one in each] == ["HEAD", "HEAD"], _shown(each)
        assert sum(one.received for one in each) == 0
    assert min(len(longest_chain(each)) for each in asked) == 1


def test_another_process_reads_what_was_sent(graph: Graph) -> None:
    branch = graph.branch()
    branch.mutate(CONNECT, {"a": "p0", "b": "p1"})
    branch.mutate('query drop() { delete Person where slug = "p2" }')
    branch.mutate('query older() { update Person set { age: 70 } where slug = "p1" }')

    other = open_graph(graph.uri)

    ages = other.branch().query("query all() { match { $p: Person } return { $p.slug, $p.age } }")
    assert {row["p.slug"]: row["p.age"] for row in ages} == {"p0": 0, "p1": 70}
    found = other.branch().query(
        'query texts() { match { $p: Person  search($p.name, "p1") } return { $p.slug } }'
    )
    assert [row["p.slug"] for row in found] == ["p1"]
    assert other.fsck().is_sound
