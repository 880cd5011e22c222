"""Workers: what a second process of the server brings, and what one costs.

Clients run on the same cores, and so does whatever else runs: the load average is stored. Reads in
a second of the server's processor time say the same on a busy machine; two workers that do as many
of them as one serve twice as many where each has a core of its own.
"""

import argparse
import asyncio
import multiprocessing
import os
import subprocess
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from bench.record import store
from bench.server import COUNT, READ, Connection, Load, fill, serving

COSTLY = (
    "query q() { match { $a: Account $a pays $b $b pays $c $c pays $d } "
    "return { $d.owner as owner, count($a) as n } order { n desc } limit 3 }"
)
CONNECTIONS, NOISY = 6, 8


def main() -> None:
    """Measure, print and store."""
    options = argparse.ArgumentParser(prog="python -m bench.workers", description=__doc__)
    options.add_argument("--seconds", type=float, default=10)
    options.add_argument("--no-store", action="store_true")
    chosen = options.parse_args()
    findings: dict[str, object] = {"load_average_before": os.getloadavg()[0]}
    rates: dict[int, float] = {}
    worked: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        fill(root / "graph")
        for workers in (1, 2):
            with serving(root, "graph", "--workers", str(workers)) as (address, process):
                asyncio.run(_many(address, "quiet", COSTLY, 2))
                own = _children(process) if workers > 1 else [process]
                before = sum(map(_processor_seconds, own))
                rates[workers] = asyncio.run(_many(address, "quiet", COSTLY, chosen.seconds))
                taken = sum(map(_processor_seconds, own)) - before
                worked[workers] = rates[workers] * chosen.seconds / taken
                findings[f"reads_per_second_{workers}_workers"] = rates[workers]
                findings[f"reads_per_processor_second_{workers}_workers"] = worked[workers]
                if workers == 2:
                    findings |= asyncio.run(_beside_a_noisy_one(address, chosen.seconds))
                    used = [_memory(each) for each in own]
                    findings["workers"] = len(used)
                    findings["memory_per_worker_mb"] = sum(used) / len(used) / 1e6
    findings["reads_2_over_1_workers"] = rates[2] / rates[1]
    findings["reads_by_processor_2_over_1_workers"] = worked[2] / worked[1]
    findings["load_average_after"] = os.getloadavg()[0]
    for name, found in findings.items():
        print(f"{name:32} {found}")
    if not chosen.no_store:
        store("workers", ["uvicorn", "httptools", "starlette"], findings)


async def _many(address: str, actor: str, query: str, seconds: float) -> float:
    """Read on several connections, and give how many reads were answered in a second."""
    until = time.perf_counter() + seconds
    done = await asyncio.gather(*(_reads(address, actor, query, until) for _ in range(CONNECTIONS)))
    assert {status for each in done for status in each.statuses} == {200}
    return sum(len(each.seconds) for each in done) / seconds


async def _reads(address: str, actor: str, query: str, until: float) -> Load:
    """Read until a point in time; a server of several workers may ask to connect again."""
    found, connection, number = Load(), None, 0
    while time.perf_counter() < until:
        begun = time.perf_counter()
        if connection is None:
            connection = await _connect(address, actor)
        number = (number + 7_919) % 10_000
        params = {"n": number} if query is READ else {}
        status, _ = await connection.post("/read", {"query_source": query, "params": params})
        found.seconds.append(time.perf_counter() - begun)
        found.statuses.append(status)
        if connection.is_closed:
            connection.writer.close()
            connection = None
    if connection is not None:
        connection.writer.close()
    return found


async def _connect(address: str, actor: str) -> Connection:
    host, _, port = address.rpartition(":")
    return Connection(*await asyncio.open_connection(host, int(port)), actor)


async def _beside_a_noisy_one(address: str, seconds: float) -> dict[str, object]:
    """Read as a quiet actor, alone and beside a noisy one, which is a process of its own."""
    alone = await _reads(address, "quiet", READ, time.perf_counter() + seconds)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        await asyncio.wrap_future(pool.submit(_noise, address, 0.5))
        noise = pool.submit(_noise, address, seconds)
        beside = await _reads(address, "quiet", READ, time.perf_counter() + seconds)
        others = await asyncio.wrap_future(noise)
    return {
        "quiet_alone_p99_ms": alone.at(0.99),
        "quiet_beside_noisy_p99_ms": beside.at(0.99),
        "quiet_p99_beside_over_alone": beside.at(0.99) / alone.at(0.99),
        "noisy_requests": others,
    }


def _noise(address: str, seconds: float) -> int:
    """Send as many costly reads as are answered, and give how many these were."""

    async def noise() -> int:
        until = time.perf_counter() + seconds
        done = await asyncio.gather(*(_reads(address, "noisy", COUNT, until) for _ in range(NOISY)))
        return sum(len(each.seconds) for each in done)

    return asyncio.run(noise())


def _children(process: int) -> list[int]:
    """Return the workers of a server."""
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True, check=True
    )
    return [int(each) for each in listed.stdout.split()]


def _processor_seconds(process: int) -> float:
    """Return the processor time that a process has taken."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(process: int) -> int:
    """Return the memory of a process in bytes; what others share with it counts in part."""
    for line in Path(f"/proc/{process}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("the system does not say how much memory a process has")


if __name__ == "__main__":
    main()
