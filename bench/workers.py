"""Workers: what a second process of the server brings, and what one costs.

Clients run on the same cores, and so does whatever else runs: the load average is stored. Reads in
a second of the server's processor time say the same on a busy machine; two workers that do as many
of them as one serve twice as many where each has a core of its own.

A quiet actor reads single rows beside one that scans, encodes and loads without pause. Both have a
process of their own, also while the noisy one is idle. Rounds alone and beside alternate, and the
median of their ratios is the figure, with the least and the most of them.
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from bench.record import store
from bench.server import ACCOUNTS, READ, Connection, Load, fill, serving

COSTLY = (
    "query q() { match { $a: Account $a pays $b $b pays $c $c pays $d } "
    "return { $d.owner as owner, count($a) as n } order { n desc } limit 3 }"
)
ALL = "query q() { match { $a: Account } return { $a.number, $a.owner } }"
# What each connection of the noisy actor does: loads are to a branch of its own.
NOISE = ("scan", "encode", "load") * 2
BRANCH, LOADED = "noisy", 1_000
CONNECTIONS, ROUNDS, WARM_UP, APART = 6, 5, 1.5, 1.5


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
        fill(root / "graph").create_branch(BRANCH)
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
                beside = asyncio.run(_beside_a_noisy_one(address, chosen.seconds / 2))
                if workers == 1:
                    findings |= {f"{name}_1_worker": each for name, each in beside.items()}
                else:
                    findings |= beside
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
    """Read on several connections, and return how many reads were answered in a second."""
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
    """Read as a quiet actor, in turn alone and beside a noisy one, each a process of its own."""
    alone, beside, ratios, others = Load(), Load(), [], 0
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        await asyncio.wrap_future(pool.submit(_noise, address, 1.0))
        for _ in range(ROUNDS):
            await asyncio.sleep(APART)
            quiet = await _reads(address, "quiet", READ, time.perf_counter() + seconds)
            noise = pool.submit(_noise, address, WARM_UP + seconds)
            await _reads(address, "quiet", READ, time.perf_counter() + WARM_UP)
            disturbed = await _reads(address, "quiet", READ, time.perf_counter() + seconds)
            others += await asyncio.wrap_future(noise)
            assert {*quiet.statuses, *disturbed.statuses} == {200}
            ratios.append(disturbed.at(0.99) / quiet.at(0.99))
            alone.seconds += quiet.seconds
            beside.seconds += disturbed.seconds
    return {
        "quiet_alone_p50_ms": alone.at(0.5),
        "quiet_beside_noisy_p50_ms": beside.at(0.5),
        "quiet_alone_p99_ms": alone.at(0.99),
        "quiet_beside_noisy_p99_ms": beside.at(0.99),
        "quiet_p99_beside_over_alone": statistics.median(ratios),
        "quiet_p99_beside_over_alone_least": min(ratios),
        "quiet_p99_beside_over_alone_most": max(ratios),
        "noisy_requests": others,
    }


def _noise(address: str, seconds: float) -> int:
    """Scan, encode and load for some seconds, and return how many requests were answered."""

    async def noise() -> int:
        until = time.perf_counter() + seconds
        doing = (_disturb(address, what, number, until) for number, what in enumerate(NOISE))
        return sum(await asyncio.gather(*doing))

    return asyncio.run(noise())


async def _disturb(address: str, what: str, number: int, until: float) -> int:
    """Do one thing again and again on one connection."""
    connection, done = await _connect(address, "noisy"), 0
    while time.perf_counter() < until:
        if what == "load":
            first = ACCOUNTS * (number + 1) + done % 5 * LOADED
            rows = "\n".join(
                json.dumps({"type": "Account", "data": {"number": first + n, "owner": f"{done}"}})
                for n in range(LOADED)
            )
            body = {"data": rows, "branch": BRANCH, "mode": "merge"}
            status, _ = await connection.post("/load", body)
        else:
            query = COSTLY if what == "scan" else ALL
            status, _ = await connection.post("/read", {"query_source": query})
        assert status == 200, (what, status)
        done += 1
    connection.writer.close()
    return done


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
