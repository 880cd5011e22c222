"""Archives: how tests unpack what they wrote themselves."""

import tarfile
from pathlib import Path


def unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Unpack an archive; the first releases of Python 3.11 have no filters to choose from."""
    if hasattr(tarfile, "data_filter"):
        archive.extractall(folder, filter="data")
    else:
        archive.extractall(folder)
