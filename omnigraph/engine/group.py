"""Group: rows with the same keys become one."""

import numpy as np
import pyarrow as pa

from omnigraph.engine.aggregate import Aggregation
from omnigraph.engine.numbering import combined, dense
from omnigraph.engine.project import column_of
from omnigraph.engine.rows import Rows
from omnigraph.engine.run import Run
from omnigraph.engine.topology import Numbers
from omnigraph.query.expr import Aggregate as AggregateExpr
from omnigraph.query.expr import Expr, VariableRef, variables
from omnigraph.query.plan import Aggregate


def _numbered(rows: Rows, expr: Expr, column: pa.Array) -> Numbers:
    """Give numbers that are equal where a key is; a node or edge is equal to itself only."""
    return rows.codes[expr.variable] if isinstance(expr, VariableRef) else dense(column)


def grouped(run: Run, rows: Rows, aggregate: Aggregate) -> Rows:
    """Give one row for each different set of keys; without keys exactly one."""
    if not aggregate.keys:
        groups, count, columns = np.zeros(rows.count, np.int64), 1, {}
    else:
        names = sorted({name for key in aggregate.keys for name in variables(key.expr)})
        # Rows of the same nodes have the same keys, which are therefore computed once.
        first, of_row = combined([rows.codes[name] for name in names], rows.count)
        known = Rows(len(first), {name: rows.codes[name][first] for name in names})
        values = {key.name: column_of(run, known, key.expr) for key in aggregate.keys}
        same = [_numbered(known, key.expr, values[key.name]) for key in aggregate.keys]
        chosen, of_known = combined(same, known.count)
        columns = {name: column.take(pa.array(chosen)) for name, column in values.items()}
        groups, count = of_known[of_row], len(chosen)
    aggregation = Aggregation(run, rows, groups, count)
    for column in aggregate.aggregates:
        assert isinstance(column.expr, AggregateExpr)
        columns[column.name] = aggregation.value(column.expr)
    return Rows(count, columns=columns)
