"""Patterns: checks a match block and the blocks nested in it."""

from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from itertools import chain
from typing import TypeAlias

from omnigraph.errors import Code
from omnigraph.frozen import dataclass
from omnigraph.query.checked import BoundVariable, Link, Pattern
from omnigraph.query.checking.infer import Inference, edge_variable, node_variable
from omnigraph.query.expr import MARK, NullTest, Predicate, VariableRef, variables
from omnigraph.query.parsing import ast
from omnigraph.query.resolve import ExpressionResolver
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.parsing.type_parser import TypeRef
from omnigraph.schema.types import is_number
from omnigraph.syntax.literal import Literal, Name
from omnigraph.syntax.problems import Problems

_WORDS = (ast.Operator.CONTAINS, ast.Operator.STARTS_WITH, ast.Operator.IN)


VariableScope: TypeAlias = ChainMap[str, BoundVariable]


@dataclass(slots=True)
class PatternChecker:
    """Checks the patterns of one query."""

    catalog: Catalog
    params: Mapping[str, TypeRef]
    problems: Problems
    anonymous: int = field(default=0)
    marked: int = field(default=0)
    paths: dict[str, Link] = field(default_factory=dict)

    def check(
        self, clauses: tuple[ast.Clause, ...], outer: VariableScope
    ) -> tuple[Pattern, VariableScope]:
        """Return the checked pattern and the variables in scope after it.

        What the pattern adds to the scope is in a map of its own, before the enclosing ones.
        """
        clauses = tuple(self._rename_clause(clause) for clause in clauses)
        traversals = [clause for clause in clauses if isinstance(clause, ast.Traversal)]
        bindings = [clause for clause in clauses if isinstance(clause, ast.Binding)]
        scope, links = self._bind(bindings, traversals, outer)
        optionals = [
            self._optional(clause, scope)
            for clause in clauses
            if isinstance(clause, ast.OptionalMatch)
        ]
        marks: dict[str, Pattern] = {}
        filters = [*_null_tests(bindings, outer), *self._filters(clauses, scope, marks)]
        negations = [
            self._negation(clause, scope) for clause in clauses if isinstance(clause, ast.Negation)
        ]
        own = scope.maps[0]
        new = tuple(b for name, b in own.items() if name not in outer and not b.optional)
        nested = [*negations, *optionals, *marks.values()]
        mentioned = self._mentioned(traversals, bindings, filters, nested)
        pattern = Pattern(
            bound=new,
            outer=tuple(name for name in mentioned if name in outer),
            links=tuple(links),
            filters=tuple(filters),
            negations=tuple(negations),
            optionals=tuple(optionals),
            marks=tuple(marks.items()),
        )
        return pattern, scope

    def _bind(
        self,
        bindings: list[ast.Binding],
        traversals: list[ast.Traversal],
        outer: VariableScope,
    ) -> tuple[VariableScope, list[Link]]:
        declared: dict[str, tuple[tuple[str, ...], str | None]] = {}
        for binding in bindings:
            self._declare(binding, declared, outer)
        named = self._named_edges(traversals, declared, outer)
        if any(each.path is not None for each in traversals):
            self._check_paths(traversals, {*declared, *named, *outer}, nested=len(outer.maps) > 1)
        usable = [each for each in traversals if self._traversable(each, named, outer)]
        own = {name: types for name, (types, _) in declared.items()}
        typed = _Typed(own, outer) if outer else own
        inference = Inference(self.catalog, self.problems, typed)
        links = inference.resolve(usable)
        self.paths |= {link.path.name: link for link in links if link.path is not None}
        scope: VariableScope = outer.new_child()
        for variable in _variables_of(bindings, traversals):
            self._add(variable.name, inference, declared, scope)
        for link in links:
            edge = edge_variable(link)
            if edge is not None:
                scope[edge.name] = edge
        return scope, links

    def _add(
        self,
        name: str,
        inference: Inference,
        declared: Mapping[str, tuple[tuple[str, ...], str | None]],
        scope: VariableScope,
    ) -> None:
        """Add a variable to the scope; one without types was reported already."""
        before = scope.get(name)
        types = inference.types(name) or ()
        interface = None if before is None else before.interface
        if name in declared:
            interface = declared[name][1]
        bound = node_variable(name, types, interface)
        if before is None or before.is_node:
            scope[name] = replace(bound, optional=before is not None and before.optional)

    def _declare(
        self,
        binding: ast.Binding,
        declared: dict[str, tuple[tuple[str, ...], str | None]],
        outer: VariableScope,
    ) -> None:
        name = binding.variable.name
        types = self.catalog.node_types(binding.type.text)
        if types is None:
            self._unknown_type(binding)
        elif not types:
            message = f"no node type implements {binding.type.text}"
            self.problems.report(Code.UNKNOWN_TYPE, binding.type.span, message)
        elif not self._is_param(binding.variable):
            interface = binding.type.text if binding.type.text in self.catalog.interfaces else None
            around = outer.get(name)
            if around is not None and interface is not None and around.interface == interface:
                # Edges may have left fewer of its types.
                types = around.type.types or types
            if _clashes(types, interface, declared.get(name), around):
                message = f"'${name}' is already bound to another type"
                self.problems.report(Code.REBOUND_VARIABLE, binding.variable.span, message)
            else:
                declared[name] = (types, interface)

    def _unknown_type(self, binding: ast.Binding) -> None:
        name, span = binding.type.text, binding.type.span
        if name in self.catalog.edges:
            written = name[0].lower() + name[1:]
            hint = f"follow an edge by $a {written} $b, and name it by $a $e:{written} $b"
            self.problems.report(
                Code.UNKNOWN_TYPE, span, f"{name} is an edge type, not a node type", hint
            )
            return
        near = self.problems.nearest(name, [*self.catalog.nodes, *self.catalog.interfaces])
        self.problems.report(Code.UNKNOWN_TYPE, span, f"unknown type '{name}'", near)

    def _named_edges(
        self,
        traversals: list[ast.Traversal],
        known: Mapping[str, object],
        outer: Mapping[str, BoundVariable],
    ) -> dict[str, ast.Traversal]:
        """Return the traversal that names each edge; report names that are taken."""
        named: dict[str, ast.Traversal] = {}
        for each in traversals:
            edge = each.edge_variable
            if edge is None or self._is_param(edge):
                continue
            if edge.name in known or edge.name in outer or edge.name in named:
                message = f"'${edge.name}' is already bound"
                self.problems.report(Code.REBOUND_VARIABLE, edge.span, message)
            else:
                named[edge.name] = each
        return named

    def _check_paths(
        self, traversals: list[ast.Traversal], known: set[str], *, nested: bool
    ) -> None:
        """Report names of paths that are taken, and weights that are not of their edges."""
        ends = {each.name for one in traversals for each in (one.source, one.target)}
        for each in traversals:
            if each.path is None:
                continue
            variable, by = each.path.variable, each.path.by
            if nested:
                message = "a path is found in match itself, not in a block inside it"
                self.problems.report(Code.MISUSED_PATH, each.path.span, message)
            if self._is_param(variable) or variable.name == "_":
                continue
            if variable.name in known | ends or variable.name in self.paths:
                message = f"'${variable.name}' is already bound"
                self.problems.report(Code.REBOUND_VARIABLE, variable.span, message)
            known.add(variable.name)
            edge = None if each.edge_variable is None else each.edge_variable.name
            if (None if by is None else by.variable.name) != edge:
                message = "the edges of a path have a name for their weight only"
                hint = "write $a $e:edge{1,5} $b as $path shortest by $e.weight"
                self.problems.report(Code.MISUSED_PATH, each.path.span, message, hint)
            elif by is not None:
                self._check_weight(each, by)

    def _check_weight(self, traversal: ast.Traversal, by: ast.PropertyAccess) -> None:
        for each in traversal.edges:
            edge = self.catalog.edges_by_traversal.get(each.name.text.casefold())
            kind = None if edge is None else edge.column(by.key.text)
            if edge is None:
                continue
            if kind is None:
                hint = self.problems.nearest(by.key.text, edge.properties)
                message = f"{edge.name} has no property '{by.key.text}'"
                self.problems.report(Code.UNKNOWN_PROPERTY, by.key.span, message, hint)
            elif not is_number(kind):
                message = f"a weight is a number; '{by.key.text}' of {edge.name} is {kind}"
                self.problems.report(Code.TYPE_MISMATCH, by.key.span, message)

    def _traversable(
        self,
        traversal: ast.Traversal,
        named: Mapping[str, ast.Traversal],
        outer: Mapping[str, BoundVariable],
    ) -> bool:
        edge = traversal.edge_variable
        fine = edge is None or named.get(edge.name) is traversal
        for variable in (traversal.source, traversal.target):
            is_outer_edge = variable.name in outer and not outer[variable.name].is_node
            if self._is_param(variable):
                fine = False
            elif is_outer_edge or variable.name in named:
                message = f"'${variable.name}' is an edge; a traversal goes from node to node"
                self.problems.report(Code.REBOUND_VARIABLE, variable.span, message)
                fine = False
        return fine

    def _is_param(self, variable: ast.Variable) -> bool:
        if variable.name not in self.params:
            return False
        message = f"'${variable.name}' is a parameter and cannot be bound"
        self.problems.report(Code.DUPLICATE_NAME, variable.span, message, "rename one of them")
        return True

    def _filters(
        self, clauses: tuple[ast.Clause, ...], scope: VariableScope, marks: dict[str, Pattern]
    ) -> list[Predicate]:
        expressions = ExpressionResolver(
            catalog=self.catalog,
            params=self.params,
            problems=self.problems,
            scope=scope,
            exists=lambda node: self._mark(node, scope, marks),
        )
        predicates: list[ast.Predicate] = []
        for clause in clauses:
            if isinstance(clause, ast.Filter):
                predicates.append(clause.predicate)
            elif isinstance(clause, ast.Binding) and clause.variable.name in scope:
                predicates += self._inline(clause)
        typed = [expressions.predicate(each) for each in predicates]
        return [each for each in typed if each is not None]

    def _inline(self, binding: ast.Binding) -> Iterator[ast.Comparison]:
        """Yield `{ name: "x" }` as `$p.name = "x"`."""
        seen = set()
        for name, value in binding.values:
            if name.text in seen:
                message = f"'{name.text}' is set twice"
                self.problems.report(Code.DUPLICATE_NAME, name.span, message)
                continue
            seen.add(name.text)
            if self._is_value(value):
                access = ast.PropertyAccess(replace(binding.variable, span=name.span), name)
                span = name.span.to(value.span)
                yield ast.Comparison(access, ast.Operator.EQUAL, value, span)

    def _is_value(self, value: ast.Expr) -> bool:
        if isinstance(value, Literal):
            return True
        if isinstance(value, ast.Variable) and value.name in self.params:
            return True
        if isinstance(value, ast.FunctionCall) and value.function == "now":
            return True
        message = "expected a literal, a parameter or now() in a binding"
        hint = "compare with another variable in a clause of its own: $a.x = $b.y"
        self.problems.report(Code.NOT_A_VALUE, value.span, message, hint)
        return False

    def _negation(self, clause: ast.Negation, scope: VariableScope) -> Pattern:
        pattern, _ = self.check(clause.clauses, scope)
        if not pattern.outer:
            message = "this negation uses no variable of the enclosing pattern"
            hint = "it would keep all rows or none; connect it to the pattern"
            self.problems.report(Code.UNCORRELATED_NEGATION, clause.span, message, hint)
        return pattern

    def _mark(
        self, node: ast.Exists, scope: VariableScope, marks: dict[str, Pattern]
    ) -> str | None:
        """Check the pattern of `exists { … }`; return the column that says whether it matches."""
        before = self.problems.total
        pattern, _ = self.check(node.clauses, scope)
        if not pattern.outer and self.problems.total == before:
            message = "this exists uses no variable of the enclosing pattern"
            hint = "it would be true for all rows or for none; connect it to the pattern"
            self.problems.report(Code.UNCORRELATED_NEGATION, node.span, message, hint)
        if self.problems.total > before:
            return None
        column = f"{MARK}{self.marked}"
        self.marked += 1
        marks[column] = pattern
        return column

    def _optional(self, clause: ast.OptionalMatch, scope: VariableScope) -> Pattern:
        """Check an optional block, and put what it binds into scope."""
        before = self.problems.total
        pattern, inner = self.check(clause.clauses, scope)
        new = [bound for name, bound in inner.maps[0].items() if name not in scope]
        for bound in new:
            scope[bound.name] = replace(bound, optional=True)
        if not new and self.problems.total == before:
            message = "this optional block binds no new variable, so it has no effect"
            hint = (
                "a variable that other clauses also bind is not optional; move those clauses inside"
            )
            self.problems.report(Code.OPTIONAL_ESCAPE, clause.span, message, hint)
        return pattern

    def _rename_clause(self, clause: ast.Clause) -> ast.Clause:
        """Name each `$_` as no text can, and read `$a contains $b` as a traversal if it is one."""
        match clause:
            case ast.Binding(variable):
                return replace(clause, variable=self._own_name(variable))
            case ast.Filter(ast.Comparison() as comparison):
                clause = self._as_traversal(comparison) or clause
        if isinstance(clause, ast.Traversal):
            source, target = self._own_name(clause.source), self._own_name(clause.target)
            edge = clause.edge_variable and self._own_name(clause.edge_variable)
            return replace(clause, source=source, target=target, edge_variable=edge)
        return clause

    def _as_traversal(self, comparison: ast.Comparison) -> ast.Traversal | None:
        """Read `$a contains $b` as a traversal when the schema has such an edge."""
        left, right, word = comparison.left, comparison.right, comparison.operator
        if not (isinstance(left, ast.Variable) and isinstance(right, ast.Variable)):
            return None
        if word not in _WORDS or word.value not in self.catalog.edges_by_traversal:
            return None
        if left.name in self.params or right.name in self.params:
            return None
        name = Name(word.value, comparison.span)
        return ast.Traversal(source=left, edges=(ast.EdgeName(name),), target=right)

    def _own_name(self, variable: ast.Variable) -> ast.Variable:
        if variable.name != "_":
            return variable
        self.anonymous += 1
        return replace(variable, name=f"_#{self.anonymous}")

    def _mentioned(
        self,
        traversals: list[ast.Traversal],
        bindings: list[ast.Binding],
        filters: list[Predicate],
        nested: Iterable[Pattern],
    ) -> dict[str, None]:
        """Return the names of the variables that a pattern mentions, in a fixed order."""
        names = dict.fromkeys(variable.name for variable in _variables_of(bindings, traversals))
        for predicate in filters:
            names |= dict.fromkeys(sorted(variables(predicate)))
        for pattern in nested:
            names |= dict.fromkeys(pattern.outer)
        return names


class _Typed(Mapping[str, tuple[str, ...]]):
    """The types that bindings of a block, or the scope around it, give to variables."""

    def __init__(self, declared: Mapping[str, tuple[str, ...]], outer: VariableScope) -> None:
        self._declared = declared
        self._outer = outer

    def __getitem__(self, name: str) -> tuple[str, ...]:
        if name in self._declared:
            return self._declared[name]
        bound = self._outer[name]
        if not bound.is_node or not bound.type.types:
            raise KeyError(name)
        return bound.type.types

    def __iter__(self) -> Iterator[str]:
        return chain(self._declared, self._outer)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _clashes(
    types: tuple[str, ...],
    interface: str | None,
    declared: tuple[tuple[str, ...], str | None] | None,
    outer: BoundVariable | None,
) -> bool:
    """Return whether a variable is already bound to other types."""
    if declared is not None and declared != (types, interface):
        return True
    if outer is None or not outer.type.types:
        return False
    return not outer.is_node or (outer.interface, outer.type.types) != (interface, types)


def _null_tests(bindings: list[ast.Binding], outer: VariableScope) -> Iterator[Predicate]:
    """Yield null tests for bound nodes that an enclosing optional block may leave null."""
    for name in dict.fromkeys(binding.variable.name for binding in bindings):
        bound = outer.get(name)
        if bound is not None and bound.is_node and bound.optional:
            yield NullTest(VariableRef(name, bound.type), negated=True)


def _variables_of(
    bindings: list[ast.Binding], traversals: list[ast.Traversal]
) -> list[ast.Variable]:
    """Return the variables that clauses bind or join, in the order of the text."""
    found = [each.variable for each in bindings]
    for each in traversals:
        # The edges of a path have a name for their weight only.
        edge = each.edge_variable if each.path is None else None
        named = [] if edge is None else [edge]
        found += [each.source, *named, each.target]
    return sorted(found, key=lambda variable: variable.span.start)
