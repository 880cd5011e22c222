"""Llamaindex filters: filters of metadata as conditions of a query, with the same meaning."""

from omnigraph.adapters.documents import Documents, Filters, plain_type
from omnigraph.adapters.extras import missing_extra
from omnigraph.errors import InputError
from omnigraph.schema.types import STRING, ListType, ValueType

try:
    from llama_index.core.vector_stores.types import (
        FilterCondition,
        FilterOperator,
        MetadataFilter,
        MetadataFilters,
    )
except ImportError:
    raise missing_extra("llamaindex", "llama-index-core") from None

_COMPARED = {
    FilterOperator.EQ: "=",
    FilterOperator.GT: ">",
    FilterOperator.GTE: ">=",
    FilterOperator.LT: "<",
    FilterOperator.LTE: "<=",
}


_OF_TEXTS = (FilterOperator.TEXT_MATCH, FilterOperator.TEXT_MATCH_INSENSITIVE)


def add_filters(filters: Filters, given: MetadataFilters | None, documents: Documents) -> None:
    """Add what filters of metadata mean: a missing value matches `!=` and `nin` alone."""
    if given is not None:
        filters.clauses.append(_combined(given, filters, documents))


def _combined(given: MetadataFilters, filters: Filters, documents: Documents) -> str:
    tests = [
        _combined(each, filters, documents)
        if isinstance(each, MetadataFilters)
        else _test(each, filters, documents)
        for each in given.filters
    ]
    if not tests:  # as LlamaIndex has it, whatever the condition
        return f"$d.{documents.layout.key} is not null"
    if given.condition == FilterCondition.NOT:
        return f"not ({' or '.join(tests)})"
    return f"({(' or ' if given.condition == FilterCondition.OR else ' and ').join(tests)})"


def _test(given: MetadataFilter, filters: Filters, documents: Documents) -> str:
    place = f"$d.{given.key}"
    kind = documents.filtered(given.key).type
    if given.operator == FilterOperator.IS_EMPTY:
        return _empty(place, kind)
    if given.value is None:
        hint = "the operator `is_empty` finds what is missing"
        raise InputError(f"the filter by '{given.key}' has no value", hint=hint)
    match given.operator:
        case FilterOperator.NE:
            _scalar(given, kind)
            other = filters.param(plain_type(kind), given.value)
            return f"({place} is null or {place} != {other})"
        case FilterOperator.NIN:
            _scalar(given, kind)
            other = filters.param(f"[{plain_type(kind)}]", _values(given))
            return f"({place} is null or not {place} in {other})"
        case _:
            return f"({place} is not null and {_present(given, place, kind, filters)})"


def _present(given: MetadataFilter, place: str, kind: ValueType, filters: Filters) -> str:
    """Return the test of a value that is there."""
    compared = _COMPARED.get(given.operator)
    if compared is not None:
        _scalar(given, kind)
        return f"{place} {compared} {filters.param(plain_type(kind), given.value)}"
    if given.operator == FilterOperator.IN:
        _scalar(given, kind)
        return f"{place} in {filters.param(f'[{plain_type(kind)}]', _values(given))}"
    return _holding(given, place, kind, filters)


def _holding(given: MetadataFilter, place: str, kind: ValueType, filters: Filters) -> str:
    """Return the test of a list or a text that is to hold something."""
    held = _held(given, kind)

    def holds(value: object) -> str:
        return f"{place} contains {filters.param(held, value)}"

    match given.operator:
        case FilterOperator.CONTAINS | FilterOperator.TEXT_MATCH:
            return holds(given.value)
        case FilterOperator.TEXT_MATCH_INSENSITIVE:
            return f"lower({place}) contains lower({filters.param(held, given.value)})"
        case FilterOperator.ANY:
            return f"({' or '.join(map(holds, _values(given))) or f'{place} is null'})"
        case FilterOperator.ALL:
            return f"({' and '.join(map(holds, _values(given))) or f'{place} is not null'})"
    raise InputError(f"'{given.key}' cannot be filtered by {given.operator.value}")


def _empty(place: str, kind: ValueType) -> str:
    if isinstance(kind, ListType):
        return f"({place} is null or length({place}) = 0)"
    if kind == STRING:
        return f'({place} is null or {place} = "")'
    return f"{place} is null"


def _held(given: MetadataFilter, kind: ValueType) -> str:
    """Return the type of what a list or a text can hold."""
    if kind == STRING:
        return "String"
    if isinstance(kind, ListType) and given.operator not in _OF_TEXTS:
        return plain_type(kind.item.value)
    raise InputError(
        f"'{given.key}' is {kind}, which holds no values to be tested by {given.operator.value}"
    )


def _scalar(given: MetadataFilter, kind: ValueType) -> None:
    if isinstance(kind, ListType):
        hint = "use contains, any or all"
        raise InputError(f"'{given.key}' is a list: no {given.operator.value}", hint=hint)


def _values(given: MetadataFilter) -> list[object]:
    if not isinstance(given.value, list):
        raise InputError(f"{given.operator.value} of '{given.key}' takes a list of values")
    return list(given.value)
