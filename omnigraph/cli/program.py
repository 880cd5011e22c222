"""Program: a process that is nothing but the command line, and what it leaves out for that."""

import sys
from importlib.abc import MetaPathFinder


class Program:
    """Stands in the context of a command that has its process for itself."""


class _NoPandas(MetaPathFinder):
    def find_spec(self, fullname: str, *_: object) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("the command line works without pandas", name=fullname)


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
