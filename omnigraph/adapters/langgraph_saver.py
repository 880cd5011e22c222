"""Langgraph saver: checkpoints: a thread is a branch, and each checkpoint a commit of it."""

import asyncio
import json
import random
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from omnigraph.adapters.extras import missing_extra
from omnigraph.adapters.rows import delete_rows, read_rows
from omnigraph.api.branch import Branch
from omnigraph.api.graph import Graph
from omnigraph.api.view import View
from omnigraph.errors import BranchExistsError, BranchNotFoundError, InputError, NotFoundError
from omnigraph.frozen import dataclass
from omnigraph.versioning.names import MAIN

try:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.base import (
        WRITES_IDX_MAP,
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        PendingWrite,
        get_checkpoint_id,
        get_checkpoint_metadata,
        writes_sort_key,
    )
    from langgraph.checkpoint.serde.base import SerializerProtocol
except ImportError:
    raise missing_extra("langgraph", "langgraph-checkpoint") from None

CHECKPOINT_SCHEMA = """
node Checkpoint {
  slug: String @key
  namespace: String
  checkpoint: String
  parent: String?
  run: String?
  form: String
  content: String
  metadata_form: String
  metadata: String
  channels: String
}
node CheckpointChannel {
  slug: String @key
  form: String
  content: String
}
node CheckpointWrite {
  slug: String @key
  of: String @index
  task: String
  place: I32
  path: String
  channel: String
  form: String
  content: String
}
"""
# The method `list` of the saver hides the type there.
Rows: TypeAlias = list[dict[str, Any]]
PendingWrites: TypeAlias = list[PendingWrite]
_TYPES = ("Checkpoint", "CheckpointChannel", "CheckpointWrite")
_EMPTY = "empty"
_KEPT = "abcdefghijklmnopqrstuvwxyz0123456789"
_RETURNED = """
  $c.slug as slug, $c.namespace as namespace, $c.checkpoint as checkpoint, $c.parent as parent,
  $c.run as run, $c.form as form, $c.content as content, $c.metadata_form as metadata_form,
  $c.metadata as metadata, $c.channels as channels
"""
_ONE = f"""query one($keys: [String]) {{
  match {{ $c: Checkpoint  $c.slug in $keys }} return {{ {_RETURNED} }}
}}"""
_CHANNELS = """query channels($keys: [String]) {
  match { $c: CheckpointChannel  $c.slug in $keys }
  return { $c.slug as slug, $c.form as form, $c.content as content }
}"""
_WRITES = """query writes($keys: [String]) {
  match { $w: CheckpointWrite  $w.of in $keys }
  return { $w.slug as slug, $w.of as of, $w.task as task, $w.place as place, $w.path as path,
           $w.channel as channel, $w.form as form, $w.content as content }
}"""
# The keys of checkpoints began so before they named their thread.
_WITHOUT_THREAD = '["'


@dataclass(frozen=True, slots=True)
class _Place:
    """A checkpoint that a config names, or the latest one of a namespace."""

    thread: str
    namespace: str
    checkpoint: str | None

    @classmethod
    def of(cls, config: RunnableConfig) -> "_Place":
        about = config["configurable"]
        found = get_checkpoint_id(config)
        return cls(str(about["thread_id"]), str(about.get("checkpoint_ns", "")), found)

    def config(self, checkpoint: str) -> RunnableConfig:
        return {
            "configurable": {
                "thread_id": self.thread,
                "checkpoint_ns": self.namespace,
                "checkpoint_id": checkpoint,
            }
        }


class OmniGraphSaver(BaseCheckpointSaver[str]):
    """Keeps the checkpoints of each thread on a branch of its own, which starts at `base`.

    What an agent writes to the same branch belongs to the thread: `fork` begins another thread
    where the graph stood at a checkpoint, and `delete_thread` removes the branch.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        base: str = MAIN,
        prefix: str = "thread/",
        serde: SerializerProtocol | None = None,
    ) -> None:
        super().__init__(serde=serde)
        missing = [name for name in _TYPES if name not in graph.branch(base).catalog.nodes]
        if missing:
            hint = "CHECKPOINT_SCHEMA declares them"
            raise InputError(f"'{base}' has no types {', '.join(missing)}", hint=hint)
        self._graph = graph
        self._base = base
        self._prefix = prefix

    def branch(self, thread_id: str) -> Branch:
        """Return the branch of a thread, which is made by its first checkpoint."""
        return self._graph.branch(self._name(thread_id))

    def commit_of(self, config: RunnableConfig) -> str:
        """Return the id of the commit that a checkpoint was saved by; the latest by default."""
        place = _Place.of(config)
        _, row = self._existing(place)
        blamed = self.branch(place.thread).blame("Checkpoint", row["slug"])
        return next(each.commit.id for each in blamed if each.property == "content")

    def fork(self, config: RunnableConfig, thread_id: str) -> RunnableConfig:
        """Begin a thread where the graph stood at a checkpoint; returns its config."""
        place = _Place.of(config)
        _, row = self._existing(place)
        found = place.config(row["checkpoint"])
        self._follow(place.thread, thread_id, self.commit_of(found))
        return _Place(thread_id, place.namespace, None).config(row["checkpoint"])

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint, or the latest of its thread; None when there is none."""
        place = _Place.of(config)
        found = self._row(place)
        if found is None:
            return None
        view, row = found
        return next(self._tuples(place.thread, view, [row]))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the word of LangGraph
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield the checkpoints of a thread, or of all, newest first in each namespace."""
        threads = self._threads() if config is None else [_Place.of(config).thread]
        for thread in threads:
            view = self._view(thread)
            rows = [] if view is None else self._listed(thread, view, config, before)
            if filter:
                rows = [each for each in rows if _fits(self._metadata(each), filter)]
            if limit is not None:
                rows = rows[: max(limit, 0)]
                limit -= len(rows)
            if view is not None:
                yield from self._tuples(thread, view, rows)

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint with the channels that are new in it, as one commit."""
        place = _Place.of(config)
        noted = get_checkpoint_metadata(config, metadata)
        values = checkpoint["channel_values"]
        form, content = self._dumped({**checkpoint, "channel_values": {}})
        metadata_form, about = self._dumped(noted)
        versions = checkpoint["channel_versions"]
        row: dict[str, Any] = {
            "slug": _checkpoint_slug(place.thread, place.namespace, checkpoint["id"]),
            "namespace": place.namespace,
            "checkpoint": checkpoint["id"],
            "parent": place.checkpoint,
            "run": noted.get("run_id"),
            "form": form,
            "content": content,
            "metadata_form": metadata_form,
            "metadata": about,
            "channels": json.dumps({name: str(each) for name, each in versions.items()}),
        }
        channels: Rows = []
        for name, version in new_versions.items():
            form, content = self._dumped(values[name]) if name in values else (_EMPTY, "")
            slug = _slug(place.namespace, name, str(version))
            channels.append({"slug": slug, "form": form, "content": content})
        rows: Mapping[str, Rows] = {"Checkpoint": [row], "CheckpointChannel": channels}
        self._save(place.thread, rows, f"checkpoint {checkpoint['id']}")
        return place.config(checkpoint["id"])

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Save what a task wrote, as one commit; what was saved before stays as it is."""
        place = _Place.of(config)
        if place.checkpoint is None:
            raise InputError("writes belong to a checkpoint, which the config has to name")
        of = _slug(place.namespace, place.checkpoint)
        view = self._view(place.thread)
        known = {} if view is None else {each["slug"] for each in read_rows(view, _WRITES, [of])}
        rows = []
        for number, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, number)
            slug = _slug(place.namespace, place.checkpoint, task_id, str(index))
            # Errors and interrupts are written anew, all else only once.
            if index >= 0 and slug in known:
                continue
            form, content = self._dumped(value)
            about = {"of": of, "task": task_id, "place": index, "path": task_path}
            rows.append(
                {"slug": slug, **about, "channel": channel, "form": form, "content": content}
            )
        self._save(place.thread, {"CheckpointWrite": rows}, f"writes of {task_id}")

    def delete_thread(self, thread_id: str) -> None:
        """Delete the branch of a thread; a thread that is not there is no error."""
        try:
            self._graph.delete_branch(self._name(thread_id))
        except BranchNotFoundError:
            return

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Begin a thread where another one stands; raises when it is there already."""
        source = self._name(source_thread_id)
        self._follow(source_thread_id, target_thread_id, source)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of some runs in all threads, with their writes."""
        runs = set(run_ids)
        for thread in self._threads() if runs else ():
            view = self._view(thread)
            rows = [] if view is None else self._all(thread, view)
            self._delete(thread, rows, [each for each in rows if each["run"] not in runs])

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep only the latest checkpoint of each namespace, or nothing with `delete`.

        The checkpoints from which a channel of changes is rebuilt are kept as well.
        """
        if strategy not in ("keep_latest", "delete"):
            raise InputError(f"a strategy is keep_latest or delete, not {strategy!r}")
        for thread in thread_ids:
            if strategy == "delete":
                self.delete_thread(thread)
                continue
            view = self._view(thread)
            if view is not None:
                rows = self._all(thread, view)
                self._delete(thread, rows, self._needed(view, rows))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return a checkpoint, or the latest of its thread; None when there is none."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - the word of LangGraph
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield the checkpoints of a thread, or of all, newest first in each namespace."""
        items = self.list(config, filter=filter, before=before, limit=limit)
        while (each := await asyncio.to_thread(next, items, None)) is not None:
            yield each

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Save a checkpoint with the channels that are new in it, as one commit."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Save what a task wrote, as one commit; what was saved before stays as it is."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """Delete the branch of a thread; a thread that is not there is no error."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Begin a thread where another one stands; raises when it is there already."""
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Delete the checkpoints of some runs in all threads, with their writes."""
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Keep only the latest checkpoint of each namespace, or nothing with `delete`."""
        await asyncio.to_thread(self.prune, thread_ids, strategy=strategy)

    def _existing(self, place: _Place) -> tuple[View, dict[str, Any]]:
        """Return the row of a checkpoint with its view; raises NotFoundError for none."""
        found = self._row(place)
        if found is None:
            raise NotFoundError(f"no checkpoint of the thread '{place.thread}'")
        return found

    def _row(self, place: _Place) -> tuple[View, dict[str, Any]] | None:
        """Return the row of a checkpoint, or of the latest of its thread, with its view."""
        view = self._view(place.thread)
        if view is None:
            return None
        threads = self._followed(place.thread, view)
        if place.checkpoint is None:
            rows = _own_rows(view, threads, latest_of=place.namespace)
        else:
            about = (place.namespace, place.checkpoint)
            keys = [*(_checkpoint_slug(each, *about) for each in threads), _slug(*about)]
            by_slug = {each["slug"]: each for each in read_rows(view, _ONE, keys)}
            rows = [by_slug[each] for each in keys if each in by_slug]
        return (view, rows[0]) if rows else None

    def get_next_version(self, current: str | None, channel: None) -> str:  # noqa: ARG002
        """Return a version that is greater, and that no other line of the same thread has."""
        number = 0 if current is None else int(str(current).partition(".")[0])
        return f"{number + 1:032}.{random.random():016}"  # noqa: S311 - nothing is kept secret

    def _name(self, thread_id: str) -> str:
        """Return the name of a thread's branch; threads that differ in case have two branches."""
        kept = [
            chr(byte) if chr(byte) in _KEPT or (byte == ord("-") and place) else f"={byte:02x}"
            for place, byte in enumerate(str(thread_id).encode())
        ]
        return self._prefix + "".join(kept)

    def _threads(self) -> Sequence[str]:
        """Return the ids of all threads."""
        names = [each for each in self._graph.branches() if each.startswith(self._prefix)]
        return [_thread(each.removeprefix(self._prefix)) for each in names]

    def _view(self, thread: str) -> View | None:
        """Return where a thread stands; None when there is no such thread."""
        try:
            return self._graph.at(self._name(thread))
        except BranchNotFoundError:
            return None

    def _save(
        self, thread: str, rows: Mapping[str, Sequence[dict[str, Any]]], message: str
    ) -> None:
        given = {name: list(each) for name, each in rows.items() if each}
        if not given:
            return
        branch = self.branch(thread)
        try:
            branch.load(given, mode="replace", message=message)
        except BranchNotFoundError:
            self._begin(thread)
            branch.load(given, mode="replace", message=message)

    def _follow(self, source: str, thread: str, at: str) -> None:
        """Begin a thread that goes on from the checkpoints of another one."""
        view = self._view(source)
        followed = [source] if view is None else self._followed(source, view)
        self._graph.create_branch(self._name(thread), at)
        row = {"slug": _followed_slug(thread), "form": _EMPTY, "content": json.dumps(followed)}
        try:
            self.branch(thread).load({"CheckpointChannel": [row]}, mode="replace")
        except BaseException:
            # A thread that does not know whom it follows would look empty.
            self.delete_thread(thread)
            raise

    def _followed(self, thread: str, view: View) -> Sequence[str]:
        """Return a thread and those that it goes on from: whose checkpoints are its own.

        Others may be on its branch as well: those of threads that were merged into its base.
        """
        rows = list(read_rows(view, _CHANNELS, [_followed_slug(thread)]))
        others = json.loads(rows[0]["content"]) if rows else []
        return list(dict.fromkeys([thread, *others]))

    def _all(self, thread: str, view: View) -> Rows:
        """Return the rows of all checkpoints of a thread, newest first in each namespace."""
        return _own_rows(view, self._followed(thread, view))

    def _begin(self, thread: str) -> None:
        """Make the branch of a thread; its checkpoints and writes may be saved at the same time."""
        try:
            self._graph.create_branch(self._name(thread), self._base)
        except BranchExistsError:
            return

    def _delete(
        self, thread: str, rows: Sequence[dict[str, Any]], kept: Sequence[dict[str, Any]]
    ) -> None:
        """Delete all checkpoints but some, with their writes and channels that nobody needs."""
        slugs = {each["slug"] for each in kept}
        gone = [each for each in rows if each["slug"] not in slugs]
        view = self._view(thread)
        if not gone or view is None:
            return
        needed = {slug for each in kept for slug in _channels(each).values()}
        channels = {slug for each in gone for slug in _channels(each).values()}
        writes = read_rows(view, _WRITES, map(_written, gone))
        delete_rows(
            self.branch(thread),
            {
                "Checkpoint": [each["slug"] for each in gone],
                "CheckpointWrite": [each["slug"] for each in writes],
                "CheckpointChannel": sorted(channels - needed),
            },
        )

    def _needed(self, view: View, rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
        """Return the latest checkpoint of each namespace, and those that it is rebuilt from."""
        by_place = {(each["namespace"], each["checkpoint"]): each for each in rows}
        latest: dict[str, dict[str, Any]] = {}
        for each in rows:
            latest.setdefault(each["namespace"], each)
        kept = []
        for row in latest.values():
            kept.append(row)
            rebuilt = set(self._metadata(row).get("counters_since_delta_snapshot") or ())
            while rebuilt and row["parent"] is not None:
                place = (row["namespace"], row["parent"])
                if place not in by_place:
                    break
                row = by_place[place]  # noqa: PLW2901 - the line of its ancestors
                kept.append(row)
                # A channel is rebuilt from the nearest ancestor that holds its value.
                rebuilt -= set(self._values(view, [row])[row["slug"]])
        return kept

    def _listed(
        self,
        thread: str,
        view: View,
        config: RunnableConfig | None,
        before: RunnableConfig | None,
    ) -> Sequence[dict[str, Any]]:
        namespace = None if config is None else config["configurable"].get("checkpoint_ns")
        only = None if config is None else get_checkpoint_id(config)
        end = None if before is None else get_checkpoint_id(before)
        return [
            each
            for each in self._all(thread, view)
            if (namespace is None or each["namespace"] == namespace)
            and (only is None or each["checkpoint"] == only)
            and (end is None or each["checkpoint"] < end)
        ]

    def _tuples(
        self, thread: str, view: View, rows: Sequence[dict[str, Any]]
    ) -> Iterator[CheckpointTuple]:
        values = self._values(view, rows)
        writes = self._writes(view, [_written(each) for each in rows])
        for row in rows:
            place = _Place(thread, row["namespace"], row["checkpoint"])
            parent = row["parent"]
            checkpoint: Checkpoint = self._loaded(row["form"], row["content"])
            yield CheckpointTuple(
                config=place.config(row["checkpoint"]),
                checkpoint={**checkpoint, "channel_values": values[row["slug"]]},
                metadata=self._metadata(row),
                parent_config=None if parent is None else place.config(parent),
                pending_writes=writes.get(_written(row), []),
            )

    def _values(self, view: View, rows: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return the values of the channels of some checkpoints; empty channels have none."""
        wanted = {each["slug"]: _channels(each) for each in rows}
        slugs = {slug for each in wanted.values() for slug in each.values()}
        stored = {each["slug"]: each for each in read_rows(view, _CHANNELS, sorted(slugs))}
        return {
            of: {
                name: self._loaded(stored[slug]["form"], stored[slug]["content"])
                for name, slug in channels.items()
                if slug in stored and stored[slug]["form"] != _EMPTY
            }
            for of, channels in wanted.items()
        }

    def _writes(self, view: View, slugs: Sequence[str]) -> dict[str, PendingWrites]:
        rows = sorted(
            read_rows(view, _WRITES, slugs),
            key=lambda each: writes_sort_key(each["path"], each["task"], each["place"]),
        )
        found: dict[str, PendingWrites] = {}
        for each in rows:
            value = self._loaded(each["form"], each["content"])
            found.setdefault(each["of"], []).append((each["task"], each["channel"], value))
        return found

    def _metadata(self, row: Mapping[str, Any]) -> CheckpointMetadata:
        found: CheckpointMetadata = self._loaded(row["metadata_form"], row["metadata"])
        return found

    def _dumped(self, value: object) -> tuple[str, str]:
        form, content = self.serde.dumps_typed(value)
        return form, b64encode(content).decode()

    def _loaded(self, form: str, content: str) -> Any:  # noqa: ANN401 - whatever was saved
        return self.serde.loads_typed((form, b64decode(content)))


def _slug(*parts: str) -> str:
    """Return a key of some parts, whatever characters they have."""
    return json.dumps(parts, ensure_ascii=False)


def _checkpoint_slug(thread: str, namespace: str, checkpoint: str) -> str:
    """Return the key of a checkpoint, which begins with its thread."""
    return f"{_keys_of(thread)}{_slug(namespace, checkpoint)[1:]}"


def _keys_of(thread: str) -> str:
    """Return how the keys of the checkpoints of a thread begin, and those of no other thread."""
    return f"[{_slug(thread)}, "


def _followed_slug(thread: str) -> str:
    """Return the key under which a thread keeps whom it follows; channels have three parts."""
    return _slug("follows", thread)


def _written(row: Mapping[str, Any]) -> str:
    """Return what the writes of a checkpoint say that they are of."""
    return _slug(row["namespace"], row["checkpoint"])


def _own_rows(view: View, threads: Sequence[str], latest_of: str | None = None) -> Rows:
    """Return the checkpoints of some threads, newest first in each namespace.

    With `latest_of`, only the latest one of that namespace. Of checkpoints with the same id only
    that of the first thread is returned: the others are what it replaced.
    """
    starts = [*map(_keys_of, threads), _WITHOUT_THREAD]
    found: Rows = view.query(*_own_query(starts, latest_of)).to_dicts()
    ranked = sorted(found, key=lambda row: _rank(row["slug"], starts), reverse=True)
    chosen = {_written(each): each for each in ranked}
    rows = [each for each in found if chosen[_written(each)] is each]
    return rows if latest_of is None else rows[:1]


def _own_query(starts: Sequence[str], latest_of: str | None) -> tuple[str, dict[str, Any]]:
    """Return a query for the checkpoints whose keys begin in some ways, with its parameters."""
    given = {f"k{place}": each for place, each in enumerate(starts)}
    own = " or ".join(f"$c.slug starts_with ${name}" for name in given)
    latest = most = ""
    if latest_of is not None:
        given["namespace"] = latest_of
        # Each thread may have one with the id of the latest.
        latest, most = "$c.namespace = $namespace", f"limit {len(starts)}"
    declared = ", ".join(f"${name}: String" for name in given)
    text = f"""query own({declared}) {{
      match {{ $c: Checkpoint  {latest}  ({own}) }}
      return {{ {_RETURNED} }} order {{ $c.namespace asc, $c.checkpoint desc }} {most}
    }}"""
    return text, given


def _rank(slug: str, starts: Sequence[str]) -> int:
    return next(place for place, each in enumerate(starts) if slug.startswith(each))


def _channels(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the keys of the channels of a checkpoint, by their names."""
    versions = json.loads(row["channels"])
    return {name: _slug(row["namespace"], name, version) for name, version in versions.items()}


def _fits(metadata: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    return all(metadata.get(name) == value for name, value in wanted.items())


def _thread(name: str) -> str:
    """Return the id of the thread whose branch has a name."""
    first, *rest = name.split("=")
    return (first.encode() + b"".join(bytes.fromhex(x[:2]) + x[2:].encode() for x in rest)).decode()
