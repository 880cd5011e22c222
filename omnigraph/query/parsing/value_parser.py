"""Value parser: the values, predicates and orderings of `.gq` text, to their syntax trees."""

from collections.abc import Callable, Sequence
from typing import NoReturn

from omnigraph.errors import Code
from omnigraph.query.functions import SCALAR_FUNCTIONS
from omnigraph.query.parsing.ast import (
    AllProperties,
    And,
    Arithmetic,
    Clause,
    Collect,
    Comparison,
    Exists,
    Expr,
    FunctionCall,
    ListExpr,
    Negative,
    Not,
    NullTest,
    ObjectExpr,
    Operator,
    Or,
    Ordering,
    Predicate,
    PropertyAccess,
    RowBound,
    Star,
    Variable,
)
from omnigraph.query.parsing.foreign import (
    CONDITION_FORM,
    FOREIGN_SIGNS,
    LIST_FORM,
    form_of,
)
from omnigraph.schema.values import BadValue, parse_date, parse_datetime
from omnigraph.span import Span
from omnigraph.syntax.cursor import Cursor, Unparsable
from omnigraph.syntax.lexer import END, Token
from omnigraph.syntax.literal import Literal, Name
from omnigraph.syntax.problems import suggest

MOST_ITEMS = 8_192
MOST_OPERATORS = 100
AGGREGATES = ("count", "sum", "avg", "min", "max")
TEXT_FUNCTIONS = ("search", "fuzzy", "match_text")
RANKINGS = ("bm25", "nearest", "rrf")
_SPECIAL = (*AGGREGATES, *TEXT_FUNCTIONS, *RANKINGS, "now", "date", "datetime")
COLLECT = "collect"
PATH_PARTS = ("nodes", "edges")
_FUNCTIONS = (*_SPECIAL, COLLECT, *PATH_PARTS, *SCALAR_FUNCTIONS)
_SUMS = ("+", "-")
_PRODUCTS = ("*", "/", "%")
_SIGNS = {"=", "!=", "<", "<=", ">", ">="}
WORD_OPERATORS = {"contains", "starts_with", "in"}
CONDITION_WORDS = (*WORD_OPERATORS, "is", "and", "or", "not")
_BOOL_FORM = "write = true to test a Bool"
_BINDING_FORM = 'write a node as $p: Person, or as $p: Person { name: "Ana" }'
_OPERATORS_FORM = "the comparisons are = != < <= > >= contains starts_with in"
# What can stand after a Bool that is not compared; and what is compared with, after a word.
_AFTER_BOOL = ("}", ")", ",", "(", "var", "word", END)
_COMPARED = ("string", "int", "float", "var", "[")


def variable_form(name: str) -> str:
    """Return what to write instead of a name without `$`."""
    return f"variables and parameters begin with $: write ${name[0].lower()}{name[1:]}"


class ExpressionParser(Cursor):
    """The rules for values and predicates."""

    foreign_signs = FOREIGN_SIGNS
    _values = 0
    _operators = 0
    # Whether bare names are properties of a row, as in an update and a delete.
    in_row = False

    def fail_expecting(self, what: str, hint: str | None = None) -> NoReturn:
        """Report what was found where `what` was expected, and the form of what was meant."""
        super().fail_expecting(what, hint or self._form())

    def _form(self) -> str | None:
        before = self.peek(-1)
        if self.at(".") and before.kind == "word" and self.peek(-2).kind != ".":
            row_form = "write the properties of the row without a variable"
            return row_form if self.in_row else variable_form(before.text)
        return form_of(before.text, self.token.text, self.peek(1).text)

    def clauses(self) -> tuple[Clause, ...]:
        """Take the clauses of a pattern, in braces."""
        raise NotImplementedError

    def predicate(self) -> Predicate:
        items = [self._conjunction()]
        while self.accept_word("or"):
            items.append(self._conjunction())
        return items[0] if len(items) == 1 else Or(tuple(items))

    def _conjunction(self) -> Predicate:
        items = [self._negation()]
        while self.accept_word("and"):
            items.append(self._negation())
        return items[0] if len(items) == 1 else And(tuple(items))

    def _negation(self) -> Predicate:
        if not (self.at_word("not") and not self._not_is_a_name()):
            return self._test()
        start = self.advance()
        with self.nested():
            item = self._negation()
        return Not(item, start.span.to(item.span))

    def _not_is_a_name(self) -> bool:
        """Distinguish `not = 1` and `not in [1]`, where `not` is a name, from `not in = 1`."""
        follower, second = self.peek(1), self.peek(2)
        if follower.kind in _SIGNS:
            return True
        if follower.kind != "word" or follower.text not in (*WORD_OPERATORS, "is"):
            return False
        if follower.text == "is":
            return second.text in ("null", "not")
        return not (second.kind in _SIGNS or second.text in (*WORD_OPERATORS, "is"))

    def _test(self) -> Predicate:
        if self.at_word("exists") and self.peek(1).kind == "{":
            start = self.advance()
            with self.nested():
                clauses = self.clauses()
            return Exists(clauses, start.span.to(self.peek(-1).span))
        if self.at("(") and not self._parentheses_hold_a_value():
            self.advance()
            with self.nested():
                inner = self.predicate()
            self.expect(")")
            return inner
        left = self._value()
        if isinstance(left, FunctionCall) and not self._at_operator() and not self.at_word("is"):
            if left.function in TEXT_FUNCTIONS:
                return left
            if left.function in RANKINGS:
                self._fail_ranking(left)
        return self._comparison(left)

    def _fail_ranking(self, ranking: FunctionCall) -> NoReturn:
        message = f"{ranking.function} is a ranking and not a condition"
        hint = "use it in order; in match use search, match_text or fuzzy"
        self.problems.report(Code.MISUSED_SEARCH, ranking.span, message, hint)
        raise Unparsable

    def _comparison(self, left: Expr) -> Predicate:
        if self.at_word("is"):
            self.advance()
            negated = self.accept_word("not") is not None
            end = self.expect_word("null", "null is only allowed in 'is null' and 'is not null'")
            return NullTest(left, negated, left.span.to(end.span))
        if not self._at_operator():
            self.fail_expecting("a comparison such as '='", self._comparison_hint(left))
        operator = Operator(self.advance().text)
        right = self._value()
        if self.token.kind in _SIGNS:
            hint = "write two comparisons with 'and' between them"
            self.fail(self.token.span, "a comparison has two sides", hint)
        return Comparison(left, operator, right, left.span.to(right.span))

    def _comparison_hint(self, left: Expr) -> str | None:
        """Return what to write where a value is followed by no comparison."""
        found, after = self.token, self.peek(1)
        is_property = isinstance(left, PropertyAccess) or (self.in_row and isinstance(left, Name))
        if found.kind == ":":
            return "write = for equality" if is_property else _BINDING_FORM
        if found.kind == "word":
            if found.text == "not" and after.kind != "{":
                return "write 'not' before the whole comparison"
            if (form := self._form()) is not None:
                return form
            if after.kind in _COMPARED and found.text not in CONDITION_WORDS:
                return _OPERATORS_FORM
        return _BOOL_FORM if is_property and found.kind in _AFTER_BOOL else None

    def _at_operator(self) -> bool:
        return self._is_operator(self.token)

    def _is_operator(self, token: Token) -> bool:
        if token.kind == "word":
            return token.text in WORD_OPERATORS
        return token.kind in _SIGNS

    def _parentheses_hold_a_value(self) -> bool:
        """Distinguish `($a.n + 1) * 2 > 3` from `($a.n > 1) or …` by what follows."""
        depth = ahead = 0
        while True:
            token = self.peek(ahead)
            depth += (token.kind == "(") - (token.kind == ")")
            if depth == 0 or token.kind == END:
                break
            ahead += 1
        follower = self.peek(ahead + 1)
        is_tested = self._is_operator(follower) or follower.text == "is"
        return is_tested or follower.kind in (*_SUMS, *_PRODUCTS)

    def expr(self) -> Expr:
        """Take a value that is not compared."""
        value = self._value()
        if self.token.kind in _SIGNS:
            message = "a comparison cannot be a column or part of a value"
            self.fail(self.token.span, message, CONDITION_FORM)
        return value

    def _value(self) -> Expr:
        """Take a value: products before sums, and from left to right."""
        if self._values == 0:
            self._operators = 0
        self._values += 1
        left = self._product()
        while self.token.kind in _SUMS:
            left = self._operation(left, self._product)
        self._values -= 1
        return left

    def _product(self) -> Expr:
        left = self._signed()
        while self.token.kind in _PRODUCTS:
            left = self._operation(left, self._signed)
        return left

    def _operation(self, left: Expr, operand: Callable[[], Expr]) -> Arithmetic:
        operator = self.advance()
        self._count_operator(operator)
        right = operand()
        return Arithmetic(left, operator.text, right, left.span.to(right.span))

    def _signed(self) -> Expr:
        if not self.at("-") or self._at_negative_number():
            return self._single()
        sign = self.advance()
        self._count_operator(sign)
        operand = self._signed()
        return Negative(operand, sign.span.to(operand.span))

    def _at_negative_number(self) -> bool:
        follower = self.peek(1)
        return follower.kind in ("int", "float") and self.token.end == follower.start

    def _count_operator(self, operator: Token) -> None:
        self._operators += 1
        if self._operators > MOST_OPERATORS:
            message = f"an expression can have at most {MOST_OPERATORS} operators"
            self.fail_cap(operator.span, message)

    def _single(self) -> Expr:
        token = self.token
        match token.kind:
            case "var":
                return self._variable_or_access()
            case "[":
                return self._list()
            case "(":
                return self._in_parentheses()
            case "string" | "int" | "float" | "-":
                return self.scalar("a value")
            case "word" if token.text in ("true", "false"):
                return self.scalar("a value")
            case "word" if self._at_call():
                return self._call()
            case "word" if token.text == "null":
                is_tested = self.peek(-1).text in ("is", "not")
                only = "null is only allowed in 'is null' and 'is not null'"
                hint = CONDITION_FORM if is_tested else only
                self.fail(token.span, "null is not allowed here", hint)
            case "word":
                return self.ident("a value")
            case _:
                self.fail_expecting("a value", "remove the comma" if token.kind == "," else None)

    def _at_call(self) -> bool:
        """Distinguish the calls `count (…)` and `cuont(…)` from `total (…)`, which is a name."""
        word, follower = self.token, self.peek(1)
        return follower.kind == "(" and (word.text in _SPECIAL or word.end == follower.start)

    def _in_parentheses(self) -> Expr:
        self.advance()
        with self.nested():
            inner = self.expr()
        self.expect(")", hint=LIST_FORM if self.at(",") else None)
        return inner

    def variable(self, what: str = "a variable") -> Variable:
        token = self.accept("var") or self._fail_variable(what)
        name = token.text[1:]
        if name[0].isupper():
            self.fail(token.span, f"variable '${name}' must start with a lower-case letter")
        return Variable(name, token.span)

    def _fail_variable(self, what: str) -> NoReturn:
        found, hint = self.token, None
        if found.kind == "word" and self.peek(1).kind not in ("(", "{"):
            hint = variable_form(found.text)
        self.fail_expecting(what, hint)

    def _variable_or_access(self) -> Variable | PropertyAccess | AllProperties:
        variable = self.variable()
        if self.accept("."):
            if (star := self.accept("*")) is not None:
                return AllProperties(variable, variable.span.to(star.span))
            return PropertyAccess(variable, self.ident("the name of a property"))
        return variable

    def _list(self) -> ListExpr:
        start = self.advance()
        items: list[Expr] = []
        with self.nested():
            while not self.at("]"):
                items.append(self.expr())
                if len(items) > MOST_ITEMS:
                    self.fail_cap(start.span, f"a list can have at most {MOST_ITEMS:,} items")
                if not self.accept(","):
                    break
        end = self.expect("]")
        return ListExpr(tuple(items), start.span.to(end.span))

    def _call(self) -> FunctionCall | Literal | Collect:
        name = self.advance()
        if name.text not in _FUNCTIONS:
            hint = suggest(name.text, _FUNCTIONS)
            self.fail(name.span, f"unknown function '{name.text}'", hint)
        self.expect("(")
        if name.text == COLLECT:
            return self._collect(name)
        if name.text in ("date", "datetime"):
            return self._date(name.text, name.span)
        if name.text == "count" and self.at("*"):
            star = Star(self.advance().span)
            return FunctionCall(name.text, (star,), name.span.to(self.expect(")").span))
        distinct = self.at_word("distinct") and self.peek(1).kind != ")"
        if distinct:
            self.advance()
        with self.nested():
            arguments: Sequence[Expr] = () if self.at(")") else self._arguments()
        end = self.expect(")")
        return FunctionCall(name.text, tuple(arguments), name.span.to(end.span), distinct)

    def _arguments(self) -> list[Expr]:
        arguments = [self.expr()]
        while self.accept(","):
            arguments.append(self.expr())
        return arguments

    def _collect(self, name: Token) -> Collect:
        distinct = self.at_word("distinct") and self.peek(1).kind not in (")", "order", "limit")
        if distinct:
            self.advance()
        with self.nested():
            item = self._object() if self.at("{") else self.expr()
            order: Sequence[Ordering] = ()
            if self.at_word("order") and self.peek(1).kind == "{":
                self.advance()
                order = self.orderings()
            limit = self.bound("limit") if self.accept_word("limit") else None
        end = self.expect(")")
        return Collect(
            item=item,
            distinct=distinct,
            order=tuple(order),
            limit=limit,
            span=name.span.to(end.span),
        )

    def _object(self) -> ObjectExpr:
        start = self.advance()
        fields = [self.named_value()]
        while self.accept(",") and not self.at("}"):
            fields.append(self.named_value())
        return ObjectExpr(tuple(fields), start.span.to(self.expect("}").span))

    def named_value(self) -> tuple[Name, Expr]:
        """Take a name and its value."""
        name = self.ident("a property")
        self.expect(":", hint=f"write {name.text}: and the value" if self.at("=") else None)
        return name, self.expr()

    def orderings(self) -> tuple[Ordering, ...]:
        """Take what rows are ordered by, in braces."""
        self.expect("{", hint="write order { $p.name desc }")
        return tuple(self.comma_list(self._ordering, "}"))

    def _ordering(self) -> Ordering:
        expr = self.expr()
        if self.at_word("asc", "desc"):
            return Ordering(expr, self.advance().text == "desc")
        return Ordering(expr)

    def bound(self, word: str) -> RowBound:
        """Take a number of rows, or a parameter for it."""
        if self.at("var"):
            return self.variable()
        return self.whole(f"a whole number or a parameter after {word}")

    def _date(self, function: str, start: Span) -> Literal:
        text = self.string(f"the text of the {function}")
        end = self.expect(")")
        assert isinstance(text.value, str)
        try:
            value = parse_date(text.value) if function == "date" else parse_datetime(text.value)
        except BadValue as bad:
            self.fail(text.span, str(bad))
        return Literal(value, start.to(end.span))
