"""Patterns: checks a match block and the blocks nested in it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from omnigraph.errors import Code
from omnigraph.query import ast
from omnigraph.query.checked import Bound, Link, Pattern
from omnigraph.query.expr import Predicate, variables
from omnigraph.query.expressions import Expressions
from omnigraph.query.infer import Inference, edge_variable, node_variable
from omnigraph.schema.catalog import Catalog
from omnigraph.schema.type_parser import TypeRef
from omnigraph.syntax.literal import Literal, Name
from omnigraph.syntax.problems import Problems

_WORDS = (ast.Operator.CONTAINS, ast.Operator.STARTS_WITH, ast.Operator.IN)


@dataclass(slots=True)
class Patterns:
    """Checks the patterns of one query."""

    catalog: Catalog
    params: Mapping[str, TypeRef]
    problems: Problems
    anonymous: int = field(default=0)

    def check(
        self, clauses: tuple[ast.Clause, ...], outer: Mapping[str, Bound]
    ) -> tuple[Pattern, dict[str, Bound]]:
        """Give the checked pattern and the variables in scope after it."""
        clauses = tuple(self._named(clause) for clause in clauses)
        traversals = [clause for clause in clauses if isinstance(clause, ast.Traversal)]
        bindings = [clause for clause in clauses if isinstance(clause, ast.Binding)]
        self._check_optional_first(clauses)
        scope, links = self._bind(bindings, traversals, outer)
        optionals = []
        for clause in clauses:
            if isinstance(clause, ast.OptionalMatch):
                pattern, scope = self._optional(clause, scope)
                optionals.append(pattern)
        filters = self._filters(clauses, scope)
        negations = [
            self._negation(clause, scope) for clause in clauses if isinstance(clause, ast.Negation)
        ]
        new = tuple(b for name, b in scope.items() if name not in outer and not b.optional)
        mentioned = self._mentioned(traversals, bindings, filters, [*negations, *optionals])
        pattern = Pattern(
            bound=new,
            outer=tuple(name for name in outer if name in mentioned),
            links=tuple(links),
            filters=tuple(filters),
            negations=tuple(negations),
            optionals=tuple(optionals),
        )
        return pattern, scope

    def _bind(
        self,
        bindings: list[ast.Binding],
        traversals: list[ast.Traversal],
        outer: Mapping[str, Bound],
    ) -> tuple[dict[str, Bound], list[Link]]:
        interfaces = {name: b.interface for name, b in outer.items()}
        known = {name: b.type.types for name, b in outer.items() if b.is_node and b.type.types}
        for binding in bindings:
            self._declare(binding, known, interfaces, outer)
        named = self._named_edges(traversals, known, outer)
        usable = [each for each in traversals if self._traversable(each, named, outer)]
        inference = Inference(self.catalog, self.problems, known)
        links = inference.resolve(usable)
        scope = dict(outer)
        for name, types in _in_text_order(known, bindings, traversals):
            bound = node_variable(name, types, interfaces.get(name))
            scope[name] = replace(bound, optional=name in outer and outer[name].optional)
        for link in links:
            edge = edge_variable(link)
            if edge is not None:
                scope[edge.name] = edge
        for variable in _bound_in(bindings, traversals):
            scope.setdefault(variable.name, node_variable(variable.name, (), None))
        return scope, links

    def _declare(
        self,
        binding: ast.Binding,
        known: dict[str, tuple[str, ...]],
        interfaces: dict[str, str | None],
        outer: Mapping[str, Bound],
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
            is_edge = name in outer and not outer[name].is_node
            if is_edge or (name in known and (known[name], interfaces[name]) != (types, interface)):
                message = f"'${name}' is already bound to another type"
                self.problems.report(Code.REBOUND_VARIABLE, binding.variable.span, message)
            else:
                known[name], interfaces[name] = types, interface

    def _unknown_type(self, binding: ast.Binding) -> None:
        name, span = binding.type.text, binding.type.span
        if name in self.catalog.edges:
            written = name[0].lower() + name[1:]
            hint = f"an edge is followed by $a {written} $b, and named by $a $e:{written} $b"
            self.problems.report(Code.UNKNOWN_TYPE, span, f"{name} is an edge type", hint)
            return
        near = self.problems.nearest(name, [*self.catalog.nodes, *self.catalog.interfaces])
        self.problems.report(Code.UNKNOWN_TYPE, span, f"unknown type '{name}'", near)

    def _named_edges(
        self,
        traversals: list[ast.Traversal],
        known: Mapping[str, tuple[str, ...]],
        outer: Mapping[str, Bound],
    ) -> dict[str, ast.Traversal]:
        """Give the traversal that names each edge; report names that are taken."""
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

    def _traversable(
        self,
        traversal: ast.Traversal,
        named: Mapping[str, ast.Traversal],
        outer: Mapping[str, Bound],
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
        self, clauses: tuple[ast.Clause, ...], scope: Mapping[str, Bound]
    ) -> list[Predicate]:
        expressions = Expressions(
            catalog=self.catalog, params=self.params, problems=self.problems, scope=scope
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
        """Give `{ name: "x" }` as `$p.name = "x"`."""
        seen = set()
        for name, value in binding.values:
            if name.text in seen:
                message = f"'{name.text}' is given twice"
                self.problems.report(Code.DUPLICATE_NAME, name.span, message)
                continue
            seen.add(name.text)
            if self._is_value(value):
                access = ast.Access(replace(binding.variable, span=name.span), name)
                span = name.span.to(value.span)
                yield ast.Comparison(access, ast.Operator.EQUAL, value, span)

    def _is_value(self, value: ast.Expr) -> bool:
        if isinstance(value, Literal):
            return True
        if isinstance(value, ast.Variable) and value.name in self.params:
            return True
        if isinstance(value, ast.Call) and value.function == "now":
            return True
        message = "a value in a binding is a literal, a parameter or now()"
        hint = "compare with another variable in a clause of its own: $a.x = $b.y"
        self.problems.report(Code.NOT_A_VALUE, value.span, message, hint)
        return False

    def _negation(self, clause: ast.Negation, scope: Mapping[str, Bound]) -> Pattern:
        pattern, _ = self.check(clause.clauses, scope)
        if not pattern.outer:
            message = "this negation mentions no variable from outside"
            hint = "without one it would keep all rows or none; join it to the pattern"
            self.problems.report(Code.UNCORRELATED_NEGATION, clause.span, message, hint)
        return pattern

    def _optional(
        self, clause: ast.OptionalMatch, scope: dict[str, Bound]
    ) -> tuple[Pattern, dict[str, Bound]]:
        pattern, inner = self.check(clause.clauses, scope)
        after = dict(scope)
        for name, bound in inner.items():
            if name not in scope:
                after[name] = replace(bound, optional=True)
        return pattern, after

    def _check_optional_first(self, clauses: tuple[ast.Clause, ...]) -> None:
        """Refuse a variable that an optional block introduces and a later clause requires."""
        required: set[str] = set()
        offered: set[str] = set()
        for clause in clauses:
            if isinstance(clause, ast.OptionalMatch):
                offered |= set(_bound_names(clause.clauses)) - required
                continue
            for variable in _bindable(clause):
                if variable.name in offered:
                    message = f"'${variable.name}' may be null here: an optional block binds it"
                    hint = "move this clause into the optional block, or in front of it"
                    self.problems.report(Code.OPTIONAL_ESCAPE, variable.span, message, hint)
                required.add(variable.name)

    def _named(self, clause: ast.Clause) -> ast.Clause:
        """Give each `$_` a name that no text can write, and `$a contains $b` its meaning."""
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
    ) -> set[str]:
        names = {each.variable.name for each in bindings}
        for each in traversals:
            names |= {each.source.name, each.target.name}
        for predicate in filters:
            names |= variables(predicate)
        for pattern in nested:
            names |= set(pattern.outer)
        return names


def _in_text_order(
    known: Mapping[str, tuple[str, ...]],
    bindings: list[ast.Binding],
    traversals: list[ast.Traversal],
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Give the known variables by where they first stand in the text."""
    places: dict[str, int] = {}
    for variable in _bound_in(bindings, traversals):
        start = variable.span.start
        places[variable.name] = min(start, places.get(variable.name, start))
    for name in sorted(known, key=lambda name: places.get(name, -1)):
        yield name, known[name]


def _bound_in(bindings: list[ast.Binding], traversals: list[ast.Traversal]) -> list[ast.Variable]:
    variables = [each.variable for each in bindings]
    for each in traversals:
        named = [] if each.edge_variable is None else [each.edge_variable]
        variables += [each.source, *named, each.target]
    return variables


def _bindable(clause: ast.Clause) -> list[ast.Variable]:
    """Give the variables that a clause binds or joins, not those it only reads."""
    match clause:
        case ast.Binding(variable):
            return [variable]
        case ast.Traversal():
            return [clause.source, clause.target]
        case _:
            return []


def _bound_names(clauses: tuple[ast.Clause, ...]) -> Iterator[str]:
    for clause in clauses:
        if isinstance(clause, ast.OptionalMatch):
            yield from _bound_names(clause.clauses)
        for variable in _bindable(clause):
            yield variable.name
