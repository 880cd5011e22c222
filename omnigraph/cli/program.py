"""Program: a process that is nothing but the command line, and what it leaves out for that."""

import gc
import sys
from importlib.abc import MetaPathFinder


class Program:
    """Stands in the context of a command that has its process for itself."""


# Objects between two looks for rings of them. The usual 700 means fifty looks while modules are
# imported, a tenth of the time of a short command, and none of them finds anything.
_BETWEEN_COLLECTIONS = 50_000


class _NoPandas(MetaPathFinder):
    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("the command line works without pandas", name=fullname)


def collect_rarely() -> None:
    """Let the garbage collector look less often than is usual."""
    gc.set_threshold(_BETWEEN_COLLECTIONS)


def keep_pandas_out() -> None:
    """Let pyarrow find no pandas, until somebody asks it for a frame.

    It looks for pandas at its first array, to know one when it sees one. That takes a fifth of a
    second, and the command line has no frames. `to_pandas` imports pandas all the same.
    """
    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        import pyarrow as pa

        pa.array([0])
    finally:
        sys.meta_path.remove(finder)
