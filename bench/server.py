"""Server: reads, writes, a noisy neighbour, policy decisions and a large export over HTTP."""

import argparse
import asyncio
import json
import multiprocessing
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.record import DATA_SEED, Timing, store, timing
from omnigraph import Graph, init
from omnigraph.policy.actions import Action, Request
from omnigraph.policy.policy import parse_policy

SCHEMA = """
node Account { number: I64 @key  owner: String  note: String? }
edge Pays: Account -> Account
"""
READ = "query q($n: I64) { match { $a: Account { number: $n } } return { $a.owner } }"
COUNT = "query q() { match { $a: Account $a pays $b $b pays $c } return { count($a) } }"
ADD = 'query q($n: I64) { insert Account { number: $n owner: "new" } }'
TOKENS = {"quiet": "token-of-the-quiet", "noisy": "token-of-the-noisy"}
POLICY = b"""
version: 1
groups: {all: [quiet, noisy]}
protected_branches: [main]
rules:
  - {id: data, allow: {actors: {group: all}, actions: [read, export, change], branch_scope: any}}
"""
ACCOUNTS = 10_000
WRITERS = 16
NOISY = 16
_NOTE = "x" * 1_000


@dataclass
class Connection:
    """A connection that is kept open, as a client library would, until the server closes it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    actor: str
    is_closed: bool = False

    async def post(self, path: str, body: object) -> tuple[int, bytes]:
        """Send a request and return the status and the body of the answer."""
        data = json.dumps(body).encode()
        head = (
            f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {TOKENS[self.actor]}\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        self.writer.write(head.encode() + data)
        headers = await self.reader.readuntil(b"\r\n\r\n")
        self.is_closed = b"\r\nconnection: close" in headers.lower()
        length = re.search(rb"content-length: (\d+)", headers)
        assert length is not None, headers
        return int(headers[9:12]), await self.reader.readexactly(int(length[1]))


@dataclass
class Load:
    """The times of requests that were sent as fast as they were answered."""

    seconds: list[float] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)

    def at(self, share: float) -> float:
        """Return the time in milliseconds that a share of the requests did not exceed."""
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1_000


@asynccontextmanager
async def connected(address: str, actor: str) -> AsyncIterator[Connection]:
    """Open a connection to the server."""
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    yield Connection(reader, writer, actor)
    writer.close()


async def reads(address: str, actor: str, until: float, query: str = READ) -> Load:
    """Read on one connection until a point in time."""
    found = Load()
    async with connected(address, actor) as connection:
        number = 0
        while time.perf_counter() < until:
            number = (number + 7_919) % ACCOUNTS
            params = {"n": number} if query is READ else {}
            begun = time.perf_counter()
            status, _ = await connection.post("/read", {"query_source": query, "params": params})
            found.seconds.append(time.perf_counter() - begun)
            found.statuses.append(status)
    return found


async def writes(address: str, first: int, until: float) -> tuple[Load, list[int]]:
    """Write on one connection until a point in time; return what was acknowledged."""
    found, numbers = Load(), []
    async with connected(address, "quiet") as connection:
        number = first
        while time.perf_counter() < until:
            number += 1
            begun = time.perf_counter()
            body = {"query_source": ADD, "params": {"n": number}}
            status, _ = await connection.post("/change", body)
            found.seconds.append(time.perf_counter() - begun)
            found.statuses.append(status)
            numbers += [number] if status == 200 else []
    return found, numbers


def main() -> None:
    """Measure, print and store."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=10)
    options.add_argument("--export-mb", type=int, default=1_000)
    options.add_argument("--no-store", action="store_true")
    chosen = options.parse_args()
    findings: dict[str, object] = {"policy_decision": _decisions()}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        fill(root / "graph")
        with serving(root) as (address, _):
            findings |= asyncio.run(_reading(address, chosen.seconds))
            findings |= asyncio.run(_writing(address, chosen.seconds))
            findings |= asyncio.run(_beside_a_noisy_one(address, chosen.seconds))
        _fill_large(root / "large", chosen.export_mb)
        with serving(root, "large") as (address, process):
            findings |= asyncio.run(_exporting(address, process))
    for name, found in findings.items():
        print(f"{name:32} {found}")
    if not chosen.no_store:
        store("server", ["uvicorn", "httptools", "starlette", "cedarpy"], findings)


async def _reading(address: str, seconds: float) -> dict[str, object]:
    await reads(address, "quiet", time.perf_counter() + 1)
    alone = await reads(address, "quiet", time.perf_counter() + seconds)
    until = time.perf_counter() + seconds
    many = await asyncio.gather(*(reads(address, "quiet", until) for _ in range(8)))
    assert {status for each in (alone, *many) for status in each.statuses} == {200}
    return {
        "read_one_connection": timing(alone.seconds),
        "read_one_connection_p99_ms": alone.at(0.99),
        "reads_per_second_8_connections": sum(len(each.seconds) for each in many) / seconds,
    }


async def _writing(address: str, seconds: float) -> dict[str, object]:
    until = time.perf_counter() + seconds
    starts = (1_000_000 * (number + 1) for number in range(WRITERS))
    done = await asyncio.gather(*(writes(address, first, until) for first in starts))
    every = Load([each for load, _ in done for each in load.seconds])
    acknowledged = [number for _, numbers in done for number in numbers]
    refused = sum(status != 200 for load, _ in done for status in load.statuses)
    query = 'query q() { match { $a: Account { owner: "new" } } return { $a.number } }'
    async with connected(address, "quiet") as connection:
        _, body = await connection.post("/read", {"query_source": query})
    there = {row["a.number"] for row in json.loads(body)["rows"]}
    return {
        "writers": WRITERS,
        "writes_per_second": len(acknowledged) / seconds,
        "write_p50_ms": every.at(0.5),
        "write_p99_ms": every.at(0.99),
        "writes_refused": refused,
        "writes_lost": len(set(acknowledged) - there),
    }


async def _beside_a_noisy_one(address: str, seconds: float) -> dict[str, object]:
    """Read as a quiet actor, alone and beside a noisy one, which is a process of its own."""
    alone = await reads(address, "quiet", time.perf_counter() + seconds)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        await asyncio.wrap_future(pool.submit(_noise, address, 0.5))
        noise = pool.submit(_noise, address, seconds)
        beside = await reads(address, "quiet", time.perf_counter() + seconds)
        others = await asyncio.wrap_future(noise)
    return {
        "quiet_alone_p99_ms": alone.at(0.99),
        "quiet_beside_noisy_p99_ms": beside.at(0.99),
        "quiet_p99_beside_over_alone": beside.at(0.99) / alone.at(0.99),
        "quiet_alone_p50_ms": alone.at(0.5),
        "quiet_beside_noisy_p50_ms": beside.at(0.5),
        "noisy_requests": others,
    }


def _noise(address: str, seconds: float) -> int:
    """Send as many costly reads as are answered, and return how many these were."""

    async def noise() -> int:
        until = time.perf_counter() + seconds
        done = await asyncio.gather(*(reads(address, "noisy", until, COUNT) for _ in range(NOISY)))
        return sum(len(each.seconds) for each in done)

    return asyncio.run(noise())


async def _exporting(address: str, process: int) -> dict[str, object]:
    before, most, size = _memory(process), 0, 0
    begun = time.perf_counter()
    async with connected(address, "quiet") as connection:
        body = b"{}"
        connection.writer.write(
            f"POST /export HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Authorization: Bearer {TOKENS['quiet']}\r\nContent-Length: 2\r\n"
            "Connection: close\r\n\r\n".encode()
            + body
        )
        while piece := await connection.reader.read(1 << 20):
            size += len(piece)
            most = max(most, _memory(process))
    seconds = time.perf_counter() - begun
    return {
        "export_mb": size / 1e6,
        "export_mb_per_second": size / 1e6 / seconds,
        "export_memory_before_mb": before / 1e6,
        "export_memory_most_mb": most / 1e6,
    }


def _decisions() -> Timing:
    policy = parse_policy("policy.yaml", POLICY)
    times = []
    for number in range(2_000):
        request = Request("quiet", Action.READ, branch=f"work/{number % 50}")
        begun = time.perf_counter()
        assert policy.decide(request).allowed
        times.append(time.perf_counter() - begun)
    return timing(times)


def fill(root: Path) -> Graph:
    graph = init(root, SCHEMA)
    rows: list[object] = [
        {"type": "Account", "data": {"number": n, "owner": f"owner {n % 97}"}}
        for n in range(ACCOUNTS)
    ]
    rows += [
        {"edge": "Pays", "from": str(n), "to": str((n * 31 + 7) % ACCOUNTS)}
        for n in range(ACCOUNTS)
    ]
    graph.load("\n".join(map(json.dumps, rows)))
    return graph


def _fill_large(root: Path, megabytes: int) -> None:
    graph, chance = init(root, SCHEMA, durable=False), random.Random(DATA_SEED)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "rows.jsonl")
        with file.open("w") as lines:
            for n in range(megabytes * 1_000_000 // 1_090):
                data = {"number": n, "owner": chance.randbytes(16).hex(), "note": _NOTE}
                print(json.dumps({"type": "Account", "data": data}), file=lines)
        graph.load(file, engine="inline")


@contextmanager
def serving(root: Path, name: str = "graph", *options: str) -> Iterator[tuple[str, int]]:
    """Run the server's command; return its address and the number of its process."""
    (root / "policy.yaml").write_bytes(POLICY)
    command = [str(Path(sys.executable).with_name("omnigraph-server")), str(root / name)]
    command += ["--bind", "127.0.0.1:0", "--policy", str(root / "policy.yaml"), *options]
    given = {**os.environ, "OMNIGRAPH_SERVER_BEARER_TOKENS_JSON": json.dumps(TOKENS)}
    log = root / f"{name}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(command, stderr=file, env=given)
    try:
        while (found := re.search(r'"address": "([^"]+)"', log.read_text())) is None:
            assert process.poll() is None, log.read_text()
            time.sleep(0.05)
        yield found[1], process.pid
    finally:
        process.terminate()
        process.wait(60)


def _memory(process: int) -> int:
    """Return the memory of a process that no other one shares, in bytes."""
    pages = Path(f"/proc/{process}/statm").read_text().split()
    return (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main()
