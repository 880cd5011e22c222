"""Frozen: dataclasses whose values never change, made in a fraction of the usual time.

The standard library compiles six functions for every frozen dataclass. A command that reads one row
makes three hundred such classes, which took a third of its time. Here they share the functions that
compare, hash, show and pickle them, and `__init__` is compiled when the first value is made. In all
else such a class is a dataclass of the standard library: `field`, `fields`, `replace`, `asdict` and
type checkers treat it as one.
"""

import dataclasses
from dataclasses import MISSING, Field, FrozenInstanceError
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls: type | None = None, /, **how: bool) -> Any:  # noqa: ANN401
        """Make a dataclass; takes what the decorator of the standard library takes."""
        make = _frozen if how.get("frozen") and how.keys() <= _TAKEN else dataclasses.dataclass
        return (lambda cls: make(cls, **how)) if cls is None else make(cls, **how)


def _frozen(
    cls: type,
    *,
    frozen: Literal[True],  # noqa: ARG001
    slots: bool = False,
    kw_only: bool = False,
    repr: bool = True,  # noqa: A002
) -> Any:  # noqa: ANN401
    """Make a frozen dataclass of a class; what the class defines itself stays."""
    own = set(cls.__dict__)
    # The library wants what builds on a frozen class to be frozen too, and compiles more for it.
    builds_on = any(map(dataclasses.is_dataclass, cls.__mro__[1:]))
    made: Any = dataclasses.dataclass(
        cls, init=False, repr=False, eq=False, frozen=builds_on, slots=slots, kw_only=kw_only
    )
    made.__dataclass_params__.frozen = True
    compared = [each.name for each in dataclasses.fields(made) if each.compare]
    made.__compared__ = staticmethod(_getter(compared))
    for name, function in {**_SHARED, "__init__": _waiting_init(made)}.items():
        if name not in own and (repr or name != "__repr__"):
            setattr(made, name, function)
    return made


def _waiting_init(kind: type) -> Any:  # noqa: ANN401
    """Return what stands for the `__init__` of a class until the first value is made.

    Several threads may make the first one at a time: each compiles it, and the last one stays.
    """

    def __init__(self: Any, /, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401, N807
        _settled_init(kind)(self, *args, **kwargs)

    __init__.stands_for = kind  # type: ignore[attr-defined]
    return __init__


def _settled_init(kind: Any) -> Any:  # noqa: ANN401
    """Return the `__init__` of a class, compiled now if it is waiting."""
    init = kind.__init__
    owner = getattr(init, "stands_for", None)
    if owner is None:
        return init
    owner.__init__ = compiled = _compiled_init(owner)
    return compiled


class _Signature:
    """What `help` and editors show for a class whose `__init__` may not be compiled yet."""

    def __get__(self, _: object, kind: type) -> Any:  # noqa: ANN401
        from inspect import signature

        found = signature(_settled_init(kind))
        return found.replace(parameters=list(found.parameters.values())[1:])


def _compiled_init(kind: type) -> Any:  # noqa: ANN401
    """Return a function that sets the fields of a class from its arguments and defaults."""
    fields = dataclasses.fields(kind)
    names: dict[str, Any] = {"_set": object.__setattr__, "_unset": MISSING}
    by_place = [_parameter(each, names) for each in fields if each.init and not each.kw_only]
    by_name = [_parameter(each, names) for each in fields if each.init and each.kw_only]
    body = [line for each in fields if (line := _assignment(each, names))]
    if hasattr(kind, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join(["self", *by_place, *(["*", *by_name] if by_name else [])])
    lines = "\n ".join(body or ["pass"])
    exec(f"def __init__({parameters}):\n {lines}", names)  # noqa: S102
    made = names["__init__"]
    made.__qualname__ = f"{kind.__qualname__}.__init__"
    made.__annotations__ = {each.name: each.type for each in fields if each.init}
    return made


def _parameter(each: "Field[Any]", names: dict[str, Any]) -> str:
    """Return a field as a parameter; what it is without an argument goes to the names."""
    if each.default_factory is not MISSING:
        return f"{each.name}=_unset"
    if each.default is MISSING:
        return each.name
    names[f"_default_{each.name}"] = each.default
    return f"{each.name}=_default_{each.name}"


def _assignment(each: "Field[Any]", names: dict[str, Any]) -> str:
    """Return the line that sets a field, if `__init__` does."""
    value = each.name
    if each.default_factory is not MISSING:
        names[f"_make_{each.name}"] = each.default_factory
        made = f"_make_{each.name}()"
        value = f"{made} if {each.name} is _unset else {each.name}" if each.init else made
    elif not each.init:
        return ""
    return f"_set(self, {each.name!r}, {value})"


def _getter(names: list[str]) -> Any:  # noqa: ANN401
    """Return a function that takes the named values of an object as a tuple."""
    if len(names) > 1:
        return attrgetter(*names)
    if not names:
        return lambda _: ()
    # Of one name it would be the value itself; with the class, it is a tuple without a step of
    # Python. The name twice would double the work at every level of values within values.
    return attrgetter(*names, "__class__")


def _eq(self: Any, other: Any) -> Any:  # noqa: ANN401
    if other is self:
        return True
    if other.__class__ is not self.__class__:
        return NotImplemented
    compared = self.__compared__
    return compared(self) == compared(other)


def _hash(self: Any) -> int:  # noqa: ANN401
    return hash(self.__compared__(self))


def _repr(self: Any) -> str:  # noqa: ANN401
    shown = (each.name for each in dataclasses.fields(self) if each.repr)
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
    return f"{type(self).__qualname__}({values})"


def _setattr(self: Any, name: str, value: object) -> None:  # noqa: ANN401
    if _is_frozen(self, name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _delattr(self: Any, name: str) -> None:  # noqa: ANN401
    if _is_frozen(self, name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _is_frozen(self: Any, name: str) -> bool:  # noqa: ANN401
    """Return whether a name is a field; a class that is no dataclass itself may have others."""
    return "__dataclass_fields__" in type(self).__dict__ or name in self.__dataclass_fields__


def _getstate(self: Any) -> list[object]:  # noqa: ANN401
    return [getattr(self, each.name) for each in dataclasses.fields(self)]


def _setstate(self: Any, state: list[object]) -> None:  # noqa: ANN401
    for each, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, each.name, value)


# What a class that is made here may be made with.
_TAKEN = {"frozen", "slots", "kw_only", "repr"}
_SHARED = {
    "__signature__": _Signature(),
    "__eq__": _eq,
    "__hash__": _hash,
    "__repr__": _repr,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
    "__getstate__": _getstate,
    "__setstate__": _setstate,
}
