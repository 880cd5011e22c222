"""Objects: small whole files below a root, created only where nothing is yet."""

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import obstore
from obstore.exceptions import AlreadyExistsError, NotFoundError
from obstore.store import LocalStore, ObjectStore, from_url

from omnigraph.storage.failures import reported


@dataclass(frozen=True, slots=True)
class Objects:
    """The small objects of one root."""

    store: ObjectStore

    @staticmethod
    def at(root: str, is_local: bool, options: dict[str, str]) -> "Objects":
        """Give the objects below a root; a local folder is made when it is missing."""
        return Objects(_open(root, is_local, tuple(sorted(options.items()))))

    def create(self, path: str, data: bytes) -> bool:
        """Write a new object; False when one is there already, which then stays as it is."""
        with reported(f"cannot write {path}"):
            try:
                obstore.put(self.store, path, data, mode="create")
            except AlreadyExistsError:
                return False
        return True

    def write(self, path: str, data: bytes) -> None:
        """Write an object, whatever was there before."""
        with reported(f"cannot write {path}"):
            obstore.put(self.store, path, data, mode="overwrite")

    def read(self, path: str) -> bytes | None:
        """Give the bytes of an object, or None when there is none."""
        with reported(f"cannot read {path}"):
            try:
                return bytes(obstore.get(self.store, path).bytes())
            except (NotFoundError, FileNotFoundError):
                return None

    def delete(self, path: str) -> None:
        """Remove an object, if it is there."""
        with reported(f"cannot delete {path}"), suppress(NotFoundError, FileNotFoundError):
            obstore.delete(self.store, path)

    def names(self, folder: str) -> list[str]:
        """Give the names of all objects below a folder, relative to it."""
        with reported(f"cannot list {folder}"):
            listed = obstore.list(self.store, f"{folder}/").collect()
        return sorted(each["path"].removeprefix(f"{folder}/") for each in listed)

    def copy(self, source: str, target: str) -> None:
        """Write an object with the content of another."""
        data = self.read(source)
        assert data is not None
        self.write(target, data)

    def delete_all(self, folder: str) -> None:
        """Remove everything below a folder."""
        for name in self.names(folder):
            self.delete(f"{folder}/{name}")

    def honours_create(self, folder: str) -> bool:
        """Tell whether creating an object twice is refused the second time."""
        path = f"{folder}/{uuid4().hex}"
        try:
            first = self.create(path, b"first")
            second = self.create(path, b"second")
            return first and not second and self.read(path) == b"first"
        finally:
            self.delete(path)


@lru_cache(maxsize=64)
def _open(root: str, is_local: bool, options: tuple[tuple[str, str], ...]) -> ObjectStore:
    with reported(f"cannot open {root}"):
        if is_local:
            return LocalStore(prefix=Path(root), mkdir=True, automatic_cleanup=True)
        given = dict(options)
        client: Any = {"allow_http": given.pop("allow_http", "false") == "true"}
        config: Any = given or None
        opened: ObjectStore = from_url(root, config=config, client_options=client)
        return opened
