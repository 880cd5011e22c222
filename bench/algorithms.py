"""Algorithms: what the shape of a graph says of its nodes, beside networkx in its own process."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa

import omnigraph as og
from bench.record import DATA_SEED, Timing, measure, over, store, timing

SCHEMA = "node Person { slug: String @key }\nedge Follows: Person -> Person"
ASKED = {
    "pagerank": "nx.pagerank(graph)",
    "components": "list(nx.weakly_connected_components(graph))",
    "k_core": "nx.core_number(plain)",
    "triangles": "nx.triangles(plain)",
    "communities": "list(nx.community.label_propagation_communities(plain))",
}
# networkx has the graph in memory before the time counts, as OmniGraph has its arrays.
NETWORKX = """
import json, sys, time
import networkx as nx, numpy as np
ends = np.load(sys.argv[1])
graph = nx.DiGraph()
graph.add_nodes_from(range(int(sys.argv[2])))
graph.add_edges_from(map(tuple, ends.tolist()))
plain = nx.Graph(graph)
plain.remove_edges_from(list(nx.selfloop_edges(plain)))
found = []
for _ in range(int(sys.argv[4])):
    begun = time.perf_counter()
    eval(sys.argv[3])
    found.append(time.perf_counter() - begun)
print(json.dumps(found))
"""
FULL, QUICK = (20_000, 200_000), (2_000, 20_000)
PACKAGES = ["networkit", "networkx", "numpy", "pyarrow", "pylance"]


def main() -> None:
    """Measure, print and store; a quick run is for trying out and is not stored."""
    options = argparse.ArgumentParser(prog="python -m bench.algorithms", description=__doc__)
    options.add_argument("--quick", action="store_true", help="small sizes; nothing is stored")
    options.add_argument("--runs", type=int, default=5)
    chosen = options.parse_args()
    persons, follows = QUICK if chosen.quick else FULL
    findings: dict[str, object] = {"persons": persons, "follows": follows}
    findings["load_average"] = round(os.getloadavg()[0], 1)
    with tempfile.TemporaryDirectory() as name:
        ends = np.random.default_rng(DATA_SEED).integers(0, persons, (follows, 2))
        np.save(Path(name) / "ends.npy", ends)
        _fill(Path(name) / "graph", persons, ends)
        for algorithm, text in ASKED.items():
            ours = measure(partial(_ask, Path(name), algorithm), runs=chosen.runs, warm_up=1)
            theirs = _networkx(Path(name) / "ends.npy", persons, text, min(chosen.runs, 3))
            found: dict[str, object] = {
                algorithm: ours,
                f"{algorithm}_networkx": theirs,
                f"{algorithm}_networkx_over_ours": over(theirs, ours),
            }
            findings |= found
            for what, each in found.items():
                print(f"{what:36} {each}")
    if not chosen.quick:
        print(f"stored in {store('algorithms', PACKAGES, findings).relative_to(Path.cwd())}")


def _fill(root: Path, persons: int, ends: "np.ndarray") -> None:
    graph = og.init(root, SCHEMA, durable=False)
    ids = np.array([f"p{number:07}" for number in range(persons)])
    follows = {"from": pa.array(ids[ends[:, 0]]), "to": pa.array(ids[ends[:, 1]])}
    graph.load({"Person": pa.table({"slug": pa.array(ids)}), "Follows": pa.table(follows)})


def _ask(folder: Path, algorithm: str) -> int:
    """Run an algorithm on a graph that was just opened, which has computed nothing yet."""
    graph = og.open(folder / "graph", durable=False)
    return len(getattr(graph.algo, algorithm)("Follows"))


def _networkx(ends: Path, persons: int, text: str, runs: int) -> Timing:
    command = [sys.executable, "-c", NETWORKX, str(ends), str(persons), text, str(runs)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return timing(json.loads(done.stdout))


if __name__ == "__main__":
    main()
