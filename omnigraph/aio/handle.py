"""Handle: a blocking handle and the threads that its methods run in."""

from typing import Any, Generic, TypeVar

from omnigraph.aio.calls import Calls

H_co = TypeVar("H_co", covariant=True)


class Handle(Generic[H_co]):
    """An async handle: each method runs that of the blocking handle in a thread."""

    def __init__(self, handle: H_co, calls: Calls) -> None:
        self._handle = handle
        self._calls = calls

    def __repr__(self) -> str:
        return f"Async{self._handle!r}"

    @property
    def blocking(self) -> H_co:
        """The blocking handle, for code that runs in a thread."""
        return self._handle


def blocking_place(place: Any) -> Any:  # noqa: ANN401 - whatever a caller names a place with
    """Return a place as blocking handles take it: a name, or a handle on it."""
    return place.blocking if isinstance(place, Handle) else place
