"""A thread of LangGraph is a branch, with its graph, and what agents remember is found again."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_core.embeddings import Embeddings
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.conformance.test_utils import (
    generate_checkpoint,
    generate_config,
    generate_metadata,
)
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import IndexConfig
from langgraph.types import Command, interrupt

from omnigraph import open as open_graph
from omnigraph.adapters.langgraph import (
    CHECKPOINT_SCHEMA,
    OmniGraphSaver,
    OmniGraphStore,
    store_schema,
)
from omnigraph.api.graph import Graph, connect, init
from omnigraph.errors import InputError, NotFoundError
from tests.parity.serving import serving
from tests.templates import fresh_graph

NOTES = "node Note { slug: String @key }"
ADD = "query add($slug: String) { insert Note { slug: $slug } }"
ALL = "query all() { match { $n: Note } return { $n.slug as slug } order { slug asc } }"

EVERY = """query every() { match { $c: Checkpoint } return {
  $c.slug as slug, $c.namespace as namespace, $c.checkpoint as checkpoint, $c.form as form,
  $c.content as content, $c.metadata_form as metadata_form, $c.metadata as metadata,
  $c.channels as channels
} }"""


class State(TypedDict):
    said: list[str]


class Letters(Embeddings):
    """A vector by the first letter of a text."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(each) for each in texts]

    def embed_query(self, text: str) -> list[float]:
        return [1.0, 0.1] if text.startswith("a") else [0.1, 1.0]


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[Graph]:
    schema = CHECKPOINT_SCHEMA + store_schema(2) + NOTES
    with fresh_graph(tmp_path / "g", schema) as found:
        yield found


@pytest.fixture
def saver(graph: Graph) -> OmniGraphSaver:
    return OmniGraphSaver(graph)


def put(saver: OmniGraphSaver, config: RunnableConfig, **values: Any) -> RunnableConfig:
    checkpoint = generate_checkpoint(channel_values=values)
    versions: Any = {name: saver.get_next_version(None, None) for name in values}
    checkpoint["channel_versions"] = versions
    return saver.put(config, checkpoint, generate_metadata(), versions)


def test_a_checkpoint_is_a_commit_of_the_branch_of_its_thread(
    graph: Graph, saver: OmniGraphSaver
) -> None:
    first = put(saver, generate_config("t1"), a=1)
    second = put(saver, first, a=2)
    branch = saver.branch("t1")
    assert graph.branches() == ["main", "thread/t1"]
    assert saver.commit_of(second) == branch.commit.id == saver.commit_of(generate_config("t1"))
    assert saver.commit_of(first) == branch.commit.parent
    assert branch.commit.message == f"checkpoint {second['configurable']['checkpoint_id']}"
    with pytest.raises(NotFoundError, match="no checkpoint of the thread 'other'"):
        saver.commit_of(generate_config("other"))


def test_a_fork_begins_where_the_graph_stood_at_a_checkpoint(saver: OmniGraphSaver) -> None:
    saver_branch = saver.branch("t1")
    first = put(saver, generate_config("t1"), a=1)
    saver_branch.mutate(ADD, slug="early")
    second = put(saver, first, a=2)
    saver_branch.mutate(ADD, slug="late")
    put(saver, second, a=3)

    forked = saver.fork(second, "t2")

    found = saver.get_tuple(generate_config("t2"))
    assert found is not None
    assert found.config == forked
    assert found.checkpoint["channel_values"] == {"a": 2}
    assert saver.branch("t2").query(ALL).to_dicts() == [{"slug": "early"}]
    assert len(saver_branch.query(ALL)) == 2
    assert len(list(saver.list(generate_config("t2")))) == 2


@pytest.mark.parametrize(
    "thread", ["plain", "A", "a", "with space", "x/y", "ümlaut.lock", "-dash", "a=b", "__x", "%~^:"]
)
def test_any_thread_id_has_a_branch_of_its_own(
    thread: str, graph: Graph, saver: OmniGraphSaver
) -> None:
    put(saver, generate_config("a"), of="a")
    put(saver, generate_config(thread), of=thread)
    found = saver.get_tuple(generate_config(thread))
    assert found is not None
    assert found.checkpoint["channel_values"] == {"of": thread}
    threads = {each.config["configurable"]["thread_id"] for each in saver.list(None)}
    assert threads == {"a", thread}


@pytest.mark.parametrize("where", ["at hand", "a server"])
def test_a_thread_has_no_checkpoints_of_threads_that_were_merged(
    where: str, tmp_path: Path
) -> None:
    init(tmp_path / "g", CHECKPOINT_SCHEMA, durable=False).close()
    if where == "at hand":
        with open_graph(tmp_path / "g") as graph:
            keep_apart(graph)
        return
    with serving(tmp_path / "g") as url, connect(url) as graph:
        keep_apart(graph)


def keep_apart(graph: Graph) -> None:
    saver = OmniGraphSaver(graph)
    ana = put(saver, generate_config("ana"), a=1)
    saver.put_writes(ana, [("a", 1)], "task")
    put(saver, generate_config("ana", checkpoint_ns="child"), c=1)
    graph.merge("thread/ana", "main")
    saver.put_writes(generate_config("bob", checkpoint_id="first"), [("b", 1)], "task")
    assert saver.get_tuple(generate_config("bob")) is None
    put(saver, generate_config("bob"), b=1)
    newer = put(saver, ana, a=2)
    graph.merge("thread/ana", "main")
    graph.merge("main", "thread/bob")

    assert values(saver, "bob") == [{"b": 1}]
    assert saver.get_tuple(generate_config("bob", checkpoint_ns="child")) is None
    assert saver.get_tuple(generate_config("bob", checkpoint_id=of(newer))) is None
    saver.prune(["bob"])
    graph.merge("thread/bob", "main")
    graph.merge("main", "thread/ana")
    assert values(saver, "ana") == [{"a": 2}, {"a": 1}, {"c": 1}]


def values(saver: OmniGraphSaver, thread: str) -> list[dict[str, Any]]:
    found = [each.checkpoint["channel_values"] for each in saver.list(generate_config(thread))]
    whole = saver.list({"configurable": {"thread_id": thread, "checkpoint_ns": "child"}})
    return [*found, *(each.checkpoint["channel_values"] for each in whole)]


def of(config: RunnableConfig) -> str:
    return str(config["configurable"]["checkpoint_id"])


def test_a_fork_of_forks_has_the_checkpoints_of_all(graph: Graph, saver: OmniGraphSaver) -> None:
    config = put(saver, generate_config("t0"), a=0)
    for number in range(1, 70):
        saver.copy_thread(f"t{number - 1}", f"t{number}")
        if number % 20 == 0:
            config["configurable"]["thread_id"] = f"t{number}"
            config = put(saver, config, a=number)
    assert values(saver, "t69") == [{"a": 60}, {"a": 40}, {"a": 20}, {"a": 0}]
    forked = saver.fork(generate_config("t69", checkpoint_id=of(config)), "last")
    assert saver.get_tuple(forked) is not None


def test_a_checkpoint_that_is_saved_again_in_a_fork_replaces_the_inherited_one(
    saver: OmniGraphSaver,
) -> None:
    checkpoint = generate_checkpoint()
    first = saver.put(generate_config("t1"), checkpoint, generate_metadata(step=1), {})
    saver.copy_thread("t1", "t2")
    saver.put(generate_config("t2"), checkpoint, generate_metadata(step=2), {})
    for config in (generate_config("t2"), generate_config("t2", checkpoint_id=of(first))):
        found = saver.get_tuple(config)
        assert found is not None
        assert found.metadata["step"] == 2
    assert len(list(saver.list(generate_config("t2")))) == 1


def test_checkpoints_whose_keys_do_not_name_their_thread_are_read(
    graph: Graph, saver: OmniGraphSaver
) -> None:
    first = put(saver, generate_config("t"), a=1)
    row = saver.branch("t").query(EVERY).to_dicts()[0]
    saver.branch("t").mutate(
        "query d($k: String) { delete Checkpoint where slug = $k }", k=row["slug"]
    )
    row["slug"] = f'["", "{row["checkpoint"]}"]'
    saver.branch("t").load({"Checkpoint": [row]})
    second = put(saver, first, a=2)
    assert values(saver, "t") == [{"a": 2}, {"a": 1}]
    saver.prune(["t"])
    assert values(saver, "t") == [{"a": 2}]
    assert saver.get_tuple(first) is None
    assert saver.get_tuple(second) is not None


def test_pruning_keeps_what_a_channel_of_changes_is_rebuilt_from(saver: OmniGraphSaver) -> None:
    configs = [generate_config("t")]
    for step, values in enumerate([{"log": ["a"]}, {}, {}]):
        checkpoint = generate_checkpoint(channel_values=values)
        checkpoint["channel_versions"] = {"log": step + 1}
        counters: Any = (
            {} if step == 0 else {"counters_since_delta_snapshot": {"log": (step, step)}}
        )
        noted = generate_metadata(step=step, **counters)
        configs.append(saver.put(configs[-1], checkpoint, noted, {"log": step + 1}))
        saver.put_writes(configs[-1], [("log", [str(step)])], f"task-{step}")
    put(saver, generate_config("t", checkpoint_ns="child"), other=1)

    before = saver.get_delta_channel_history(config=configs[-1], channels=["log"])
    saver.prune(["t"])
    after = saver.get_delta_channel_history(config=configs[-1], channels=["log"])

    assert after == before
    assert after["log"]["seed"] == ["a"]
    assert len(list(saver.list(generate_config("t")))) == 3
    with pytest.raises(InputError, match="a strategy is"):
        saver.prune(["t"], strategy="keep_some")


def test_writes_need_the_checkpoint_that_they_belong_to(saver: OmniGraphSaver) -> None:
    put(saver, generate_config("t"), a=1)
    with pytest.raises(InputError, match="belong to a checkpoint"):
        saver.put_writes(generate_config("t"), [("a", 2)], "task")


def test_pruning_leaves_no_channel_that_nobody_needs(saver: OmniGraphSaver) -> None:
    config = generate_config("t")
    for number in range(4):
        config = put(saver, config, a=number)
        saver.put_writes(config, [("a", number)], "task")
    saver.prune(["t"])
    rows = saver.branch("t").snapshot.commit.tables
    counts = {name: each.row_count for name, each in rows.items()}
    assert counts["node:Checkpoint"] == counts["node:CheckpointChannel"] == 1
    assert counts["node:CheckpointWrite"] == 1


def agent(saver: OmniGraphSaver, store: OmniGraphStore | None = None) -> Any:
    def ask(state: State) -> State:
        answer = interrupt("who are you?")
        return {"said": [*state["said"], answer]}

    def reply(state: State) -> State:
        return {"said": [*state["said"], f"hello {state['said'][-1]}"]}

    builder = StateGraph(State)
    builder.add_node("ask", ask)
    builder.add_node("reply", reply)
    builder.add_edge(START, "ask")
    builder.add_edge("ask", "reply")
    builder.add_edge("reply", END)
    return builder.compile(checkpointer=saver, store=store)


@pytest.mark.parametrize("where", ["at hand", "a server"])
def test_an_agent_is_interrupted_resumed_and_taken_back(where: str, tmp_path: Path) -> None:
    init(tmp_path / "g", CHECKPOINT_SCHEMA, durable=False).close()
    if where == "at hand":
        with open_graph(tmp_path / "g") as graph:
            converse(OmniGraphSaver(graph))
        return
    with serving(tmp_path / "g") as url, connect(url) as graph:
        converse(OmniGraphSaver(graph))


def converse(saver: OmniGraphSaver) -> None:
    config: RunnableConfig = {"configurable": {"thread_id": "t1"}}
    asked = agent(saver).invoke({"said": ["hi"]}, config)
    assert asked["__interrupt__"][0].value == "who are you?"
    done = agent(saver).invoke(Command(resume="ana"), config)
    assert done["said"] == ["hi", "ana", "hello ana"]
    history = list(agent(saver).get_state_history(config))
    assert [each.values.get("said") for each in history][:2] == [
        ["hi", "ana", "hello ana"],
        ["hi", "ana"],
    ]
    again = agent(saver).invoke(None, history[1].config)
    assert again["said"] == ["hi", "ana", "hello ana"]
    saver.copy_thread("t1", "t2")
    copied = agent(saver).get_state({"configurable": {"thread_id": "t2"}})
    assert copied.values["said"] == ["hi", "ana", "hello ana"]


async def test_an_async_agent_runs_beside_others(saver: OmniGraphSaver) -> None:
    async def one(number: int) -> list[str]:
        config: RunnableConfig = {"configurable": {"thread_id": f"t{number}"}}
        await agent(saver).ainvoke({"said": [str(number)]}, config)
        done = await agent(saver).ainvoke(Command(resume="bo"), config)
        said: list[str] = done["said"]
        return said

    found = await asyncio.gather(*(one(number) for number in range(4)))
    assert found == [[str(number), "bo", "hello bo"] for number in range(4)]


def test_items_are_put_read_changed_and_deleted(graph: Graph) -> None:
    store = OmniGraphStore(graph.branch())
    store.put(("users", "ana"), "prefs", {"theme": "dark", "size": 3})
    first = store.get(("users", "ana"), "prefs")
    assert first is not None
    assert (first.value, first.key, first.namespace) == (
        {"theme": "dark", "size": 3},
        "prefs",
        ("users", "ana"),
    )
    version = graph.branch().commit.version
    store.put(("users", "ana"), "prefs", {"theme": "light"})
    assert graph.branch().commit.version == version + 1
    second = store.get(("users", "ana"), "prefs")
    assert second is not None
    assert (second.value, second.created_at) == ({"theme": "light"}, first.created_at)
    assert second.updated_at >= first.updated_at
    assert store.get(("users",), "prefs") is None
    store.delete(("users", "ana"), "prefs")
    assert store.get(("users", "ana"), "prefs") is None
    with pytest.raises(InputError, match="are JSON"):
        store.put(("users",), "x", {"it": object()})


def test_namespaces_are_told_apart_listed_and_searched_below(graph: Graph) -> None:
    store = OmniGraphStore(graph.branch())
    for namespace in [
        ("a",),
        ("a", "b"),
        ("ab",),
        ('a"/', "b"),
        ("c", "x", "v1"),
        ("c", "y", "v1"),
    ]:
        store.put(namespace, "k", {"of": "/".join(namespace)})
    assert {each.namespace for each in store.search(("a",))} == {("a",), ("a", "b")}
    assert [each.namespace for each in store.search(('a"/',))] == [('a"/', "b")]
    assert len(store.search(())) == 6
    assert store.list_namespaces(prefix=("c",), max_depth=2) == [("c", "x"), ("c", "y")]
    assert store.list_namespaces(suffix=("v1",)) == [("c", "x", "v1"), ("c", "y", "v1")]
    assert store.list_namespaces(prefix=("c", "*", "v1"), limit=1, offset=1) == [("c", "y", "v1")]


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ({"kind": "tea"}, ["k1"]),
        ({"size": {"$gt": 2}}, ["k2", "k3"]),
        ({"size": {"$gte": 2, "$lt": 3}}, ["k1"]),
        ({"kind": {"$ne": "tea"}}, ["k2", "k3"]),
        ({"in": {"a": 1}}, ["k3"]),
        ({"kind": None}, ["k3"]),
        ({"kind": {"$lte": 3}}, []),
    ],
)
def test_a_search_filters_by_values(graph: Graph, wanted: dict[str, Any], found: list[str]) -> None:
    store = OmniGraphStore(graph.branch())
    store.put(("n",), "k1", {"kind": "tea", "size": 2})
    store.put(("n",), "k2", {"kind": "cup", "size": 3})
    store.put(("n",), "k3", {"size": 4, "in": {"a": 1, "b": 2}})
    assert [each.key for each in store.search(("n",), filter=wanted)] == found
    with pytest.raises(InputError, match="unknown operator"):
        store.search(("n",), filter={"size": {"$almost": 1}})


def test_a_query_ranks_by_words_or_by_meaning(graph: Graph) -> None:
    by_words = OmniGraphStore(graph.branch())
    by_words.put(("n",), "one", {"text": "tea from china"})
    by_words.put(("n",), "two", {"text": "a cup"})
    found = by_words.search(("n",), query="cup")
    assert [(each.key, each.score is None) for each in found] == [("two", False), ("one", True)]

    index: IndexConfig = {"dims": 2, "embed": Letters(), "fields": ["text"]}
    by_meaning = OmniGraphStore(graph.branch(), index=index)
    by_meaning.put(("m",), "apple", {"text": "apple"})
    by_meaning.put(("m",), "bee", {"text": "bee"})
    by_meaning.put(("m",), "hidden", {"text": "ant"}, index=False)
    ranked = by_meaning.search(("m",), query="ants", limit=2)
    assert [each.key for each in ranked] == ["apple", "bee"]
    assert ranked[0].score == pytest.approx(1.0, abs=1e-6)
    assert [each.key for each in by_meaning.search(("m",), query="ants", offset=2)] == ["hidden"]


async def test_a_store_is_awaited(graph: Graph) -> None:
    store = OmniGraphStore(graph.branch())
    await store.aput(("n",), "k", {"a": 1})
    found = await store.aget(("n",), "k")
    assert found is not None
    assert found.value == {"a": 1}


def test_what_the_schema_lacks_is_named_with_what_declares_it(tmp_path: Path) -> None:
    with init(tmp_path / "g", NOTES, durable=False) as graph:
        with pytest.raises(InputError, match="no types Checkpoint, CheckpointChannel") as one:
            OmniGraphSaver(graph)
        assert one.value.hint == "CHECKPOINT_SCHEMA declares them"
        with pytest.raises(InputError, match="no type 'StoreItem'"):
            OmniGraphStore(graph.branch())
        graph.apply_schema(NOTES + store_schema())
        with pytest.raises(InputError, match="no vector of 2 numbers"):
            OmniGraphStore(graph.branch(), index={"dims": 2, "embed": Letters()})


def test_a_missing_package_is_named_with_the_line_that_installs_it() -> None:
    code = "import sys; sys.modules['langgraph'] = None; import omnigraph.adapters.langgraph"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'omnigraph[langgraph]'" in done.stderr
