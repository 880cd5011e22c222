"""Troubles: what can happen to a task of a load after it has written its rows."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from omnigraph.write.load.sources.splits import Split
from omnigraph.write.load.stage import Stage, StagedSplit

FOREVER = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Troubled(Stage):
    """The first task of a load, which meets trouble once it has written all of its pieces.

    Every attempt leaves a mark in a folder, named after its file and numbered.
    """

    trouble: str
    folder: str

    def __call__(self, split: Split) -> StagedSplit:
        staged = Stage.__call__(self, split)
        attempt = self._mark(Path(split.name).name)
        match self.trouble:
            case "fails":
                raise RuntimeError("the task failed after it had written")
            case "fails once" if attempt == 1:
                raise RuntimeError("the task failed after it had written")
            case "dies":
                os._exit(1)
            case "hangs":
                time.sleep(FOREVER)
            case "one hangs" if self._mark("hung") == 1:
                time.sleep(FOREVER)
            case "waits":
                while not Path(self.folder, "go").exists():
                    time.sleep(0.05)
        return staged

    def _mark(self, name: str) -> int:
        """Leave a mark, and give its number."""
        for number in range(1, 100):
            try:
                Path(self.folder, f"{name}-{number}").touch(exist_ok=False)
            except FileExistsError:
                continue
            return number
        raise AssertionError("it was tried far too often")
