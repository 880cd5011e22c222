"""Frozen dataclasses behave as those of the standard library, whose functions they do without."""

import copy
import dataclasses
import inspect
import pickle
import re
from collections.abc import Callable
from dataclasses import FrozenInstanceError, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

import omnigraph.frozen
from tests.architecture import frozen_classes

T = TypeVar("T")
Maker = Callable[..., Any]
both = pytest.mark.parametrize("dataclass", [dataclasses.dataclass, omnigraph.frozen.dataclass])


def point(dataclass: Maker) -> Any:
    @dataclass(frozen=True, slots=True)
    class Point:
        """A place."""

        x: int
        y: int = 2
        names: list[str] = field(default_factory=list, compare=False)
        hidden: int = field(default=0, repr=False)

    return Point


@both
def test_it_is_made_of_places_names_and_defaults(dataclass: Maker) -> None:
    point_of = point(dataclass)
    one, other = point_of(1), point_of(1, y=2)
    assert (one.x, one.y, one.names, one.hidden) == (1, 2, [], 0)
    assert one.names is not other.names
    with pytest.raises(TypeError, match="__init__"):
        point_of()
    with pytest.raises(TypeError, match="'z'"):
        point_of(1, z=2)


@both
def test_equal_values_are_equal_and_have_one_hash(dataclass: Maker) -> None:
    point_of = point(dataclass)
    assert point_of(1) == point_of(1, names=["left out of it"])
    assert hash(point_of(1)) == hash(point_of(1))
    assert point_of(1) != point_of(2)
    assert point_of(1) != (1, 2, 0)
    assert point_of(1) != point(dataclass)(1)


def test_values_within_values_are_compared_and_hashed_once_each() -> None:
    asked: list[str] = []

    class Inmost:
        def __eq__(self, other: object) -> bool:
            asked.append("eq")
            return isinstance(other, Inmost)

        def __hash__(self) -> int:
            asked.append("hash")
            return 1

    @omnigraph.frozen.dataclass(frozen=True, slots=True)
    class Around:
        inner: object

    def nested() -> object:
        value: object = Inmost()
        for _ in range(10):
            value = Around(value)
        return value

    assert nested() == nested()
    assert isinstance(hash(nested()), int)
    assert asked == ["eq", "hash"]


@both
def test_it_is_shown_by_its_fields(dataclass: Maker) -> None:
    shown = repr(point(dataclass)(1, names=["a"]))
    assert shown == "point.<locals>.Point(x=1, y=2, names=['a'])"


@both
def test_nothing_of_it_is_set_or_deleted(dataclass: Maker) -> None:
    one = point(dataclass)(1)
    with pytest.raises(FrozenInstanceError, match="cannot assign to field 'x'"):
        one.x = 3
    with pytest.raises(FrozenInstanceError, match="cannot delete field 'x'"):
        del one.x


@both
def test_it_is_a_dataclass(dataclass: Maker) -> None:
    point_of = point(dataclass)
    one = point_of(1)
    assert [each.name for each in fields(one)] == ["x", "y", "names", "hidden"]
    assert replace(one, y=5) == point_of(1, 5)
    assert dataclasses.asdict(one) == {"x": 1, "y": 2, "names": [], "hidden": 0}
    assert point_of.__match_args__ == ("x", "y", "names", "hidden")
    assert point_of.__slots__ == ("x", "y", "names", "hidden")


@both
def test_its_signature_is_that_of_its_fields(dataclass: Maker) -> None:
    assert list(inspect.signature(point(dataclass)).parameters) == ["x", "y", "names", "hidden"]

    class Named(point(dataclass)):  # type: ignore[misc]
        def __init__(self, name: str) -> None:
            super().__init__(len(name))

    assert list(inspect.signature(Named).parameters) == ["name"]
    assert Named("abc").x == 3


@both
def test_parameters_by_name_come_last(dataclass: Maker) -> None:
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Named:
        name: str = ""
        size: int

    assert Named(size=3) == Named(name="", size=3)
    with pytest.raises(TypeError, match="positional"):
        Named("", 3)  # type: ignore[call-arg]


@both
def test_a_class_builds_on_another(dataclass: Maker) -> None:
    @dataclass(frozen=True, slots=True)
    class Base(Generic[T]):
        a: T

        def __post_init__(self) -> None:
            if self.a is None:
                raise ValueError("a is needed")

    @dataclass(frozen=True, slots=True)
    class Built(Base[int]):
        b: int = 1

    assert (Built(5).a, Built(5).b) == (5, 1)
    assert Base(5) != Built(5)
    assert hash(Built(5)) == hash(Built(5, 1))
    with pytest.raises(ValueError, match="needed"):
        Built(None)  # type: ignore[arg-type]


@both
def test_a_frozen_class_of_the_standard_library_builds_on_it(dataclass: Maker) -> None:
    @dataclasses.dataclass(frozen=True, slots=True)
    class Built(point(dataclass)):  # type: ignore[misc]
        z: int = 3

    built = Built(1)
    assert (built.x, built.y, built.z) == (1, 2, 3)
    assert built == Built(1) != Built(1, z=4)
    with pytest.raises(FrozenInstanceError):
        built.z = 4  # type: ignore[misc]


@both
def test_what_a_class_defines_itself_stays(dataclass: Maker) -> None:
    @dataclass(frozen=True)
    class Own:
        a: int

        def __repr__(self) -> str:
            return "own"

        def __eq__(self, other: object) -> bool:
            return other == "own"

        def __hash__(self) -> int:
            return 7

        @cached_property
        def doubled(self) -> int:
            return 2 * self.a

    own = Own(2)
    assert (repr(own), own == "own", hash(own), own.doubled) == ("own", True, 7, 4)


def test_it_is_pickled_and_copied_also_before_one_was_made() -> None:
    for kind in (frozen_classes.Slotted, frozen_classes.Open):
        one = kind(1, [2])
        assert pickle.loads(pickle.dumps(one)) == one
        assert copy.copy(one) == one
        deep = copy.deepcopy(one)
        assert deep == one
        assert deep.items is not one.items


def test_a_thread_that_came_before_the_first_value_was_made_makes_the_second() -> None:
    point_of = point(omnigraph.frozen.dataclass)
    looked_up = point_of.__init__
    first, second = point_of(1), object.__new__(point_of)
    looked_up(second, 1)
    assert first == second


def test_the_product_makes_its_dataclasses_here() -> None:
    by_the_library = re.compile(r"^\s*from dataclasses import .*\bdataclass\b", re.MULTILINE)
    package = Path(omnigraph.frozen.__file__).parent
    others = [path for path in package.rglob("*.py") if path.name != "frozen.py"]
    assert [path for path in others if by_the_library.search(path.read_text())] == []


def test_none_but_values_that_never_change_are_made_here() -> None:
    @omnigraph.frozen.dataclass(slots=True)
    class Counter:
        count: int = 0

    counter = Counter()
    counter.count += 1
    assert counter == Counter(1)

    @omnigraph.frozen.dataclass(frozen=True, order=True)
    class Ranked:
        rank: int

    assert Ranked(1) < Ranked(2)
