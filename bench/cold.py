"""Cold: the first answer of a new process, and what it takes; also the process itself."""

import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.questions import QUESTIONS
from bench.systems import SYSTEMS


@dataclass(frozen=True, slots=True)
class Cold:
    """What one new process needed, from the import of the system to its first answer."""

    answer: object
    total_s: float
    answer_s: float
    peak_mb: float
    read_mb: float


def ask_cold(system: str, root: Path, question: str) -> Cold:
    """Let a new process open a system and answer one question."""
    command = [sys.executable, "-m", "bench.cold", system, str(root), question]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{system} cannot answer {question} in a new process:\n{done.stderr}")
    return Cold(**json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    """Answer one question and print what it took."""
    system, root, name = sys.argv[1:]
    read = _read_mb()
    begun = time.perf_counter()
    opened = SYSTEMS[system](Path(root))
    ready = time.perf_counter()
    answer = opened.ask(QUESTIONS[name])
    done = time.perf_counter()
    found = Cold(answer, done - begun, done - ready, _peak_mb(), _read_mb() - read)
    print(json.dumps(asdict(found), default=str))


def _peak_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("Linux says how much memory a process had")


def _read_mb() -> float:
    """Return how much this process has read, from disk or from the page cache."""
    first = Path("/proc/self/io").read_text().splitlines()[0]
    return int(first.removeprefix("rchar: ")) / 1e6


if __name__ == "__main__":
    main()
