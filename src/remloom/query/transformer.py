"""From the rules of grammar.lark to values: the parts of a statement, and what they make."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from ..errors import InvalidInputError, UnknownNameError
from ..predicates import (
    All,
    And,
    Exists,
    Gte,
    In,
    Lte,
    Not,
    NotExists,
    NotIn,
    Or,
    Predicate,
)
from .conditions import COMPARISONS, MAX_NESTING, TEXT_TESTS, like_predicate
from .statements import (
    KEYWORDS,
    Fuzzy,
    Lookup,
    Plan,
    Search,
    Sql,
    Traverse,
)

if TYPE_CHECKING:
    from lark import Token


EXAMPLES = {
    "LOOKUP": 'LOOKUP "Sarah Chen"',
    "FUZZY": 'FUZZY "sara chen" TYPE person THRESHOLD 0.6 LIMIT 5',
    "SEARCH": "SEARCH \"database migration\" IN resources WHERE category = 'note' LIMIT 10",
    "TRAVERSE": 'TRAVERSE manages,mentors WITH LOOKUP "Sarah Chen" DEPTH 2 LIMIT 9',
    "SELECT": "SELECT name, category FROM resources WHERE category = 'note' LIMIT 10",
    "WHERE": "category = 'note' AND metadata.page >= 3",
}
# keyword -> field of the value
_FIELDS = {
    "TYPE": "type",
    "THRESHOLD": "threshold",
    "LIMIT": "limit",
    "IN": "schema",
    "FROM": "schema",
    "WHERE": "where",
    "MIN": "min_score",
    "MODE": "mode",
    "DEPTH": "max_depth",
    "DIRECTION": "direction",
    "BREADTH": "breadth",
    "ORDER BY": "order_by",
    "MEMO": "plan_memo",
    "FIRST": "strategy",
}
_CONSTANTS = {"TRUE": True, "FALSE": False, "NULL": None}
_MAX_DIGITS = 18  # of a number that is read as a whole one

_Query = TypeVar("_Query", Fuzzy, Search, Traverse)


class SyntaxFault(Exception):
    """Something the grammar allows and the dialect does not."""

    def __init__(self, message: str, position: int, *expected: str, example: str = "") -> None:
        super().__init__(message)
        self.position = position
        self.expected = expected
        self.example = example


class Valued(Struct):
    """A part of a statement, and where it stands."""

    value: Any
    position: int


class QueryClause(Struct):
    """An option: its keyword, its value, and where both stand."""

    keyword: str
    value: Any
    position: int
    keyword_position: int


class Condition(Struct):
    """A predicate, and how deep it is nested."""

    predicate: Predicate
    depth: int = 1


class Parsed(Struct):
    """A statement; its query is a `PendingSelect` when it ends in a SELECT."""

    query: Any
    explain: bool
    as_of: Valued | None


class StatementTail(Struct):
    """The clauses behind a SELECT."""

    clauses: Sequence[QueryClause]
    as_of: Valued | None


class PendingSelect(Struct):
    """A SELECT with all the text behind it, which is still to be cut.

    `build_walk` makes the TRAVERSE that it starts, if it does, of its SQL and the clauses behind.
    """

    position: int
    build_walk: Callable[[Sql, Sequence[QueryClause]], Plan] | None = None


class Transformer:
    """One method for each rule of grammar.lark, called by the parser as it reduces."""

    def statement(self, children: list[Any]) -> Parsed:
        explain, query, as_of = children
        return Parsed(query, explain is not None, as_of)

    def after_select(self, children: list[Any]) -> StatementTail:
        return StatementTail((), children[0])

    def after_start(self, children: list[Any]) -> StatementTail:
        return StatementTail(children[:-1], children[-1])

    def as_of(self, children: list[Any]) -> Valued:
        keyword, text = children
        try:
            at = datetime.fromisoformat(text.value)
        except ValueError:
            raise SyntaxFault(
                f"{text.value!r} is not a time", text.position, "a date or time such as 2025-01-15"
            ) from None
        if at.tzinfo is None:
            if len(text.value) > len("2025-01-15"):
                raise SyntaxFault(
                    "a time needs its zone",
                    text.position,
                    "Z or an offset at the end",
                    example=f"{text.value}Z",
                )
            # a bare date is the start of that day
            at = at.replace(tzinfo=UTC)
        return Valued(at, keyword.start_pos)

    # -- queries -----------------------------------------------------------------------------------

    def lookup(self, children: list[Any]) -> Lookup | Traverse:
        _, labels, *clauses = children
        query = Lookup(labels)
        if not clauses:
            return query
        if not any(clause.keyword == "DEPTH" for clause in clauses):
            stray = clauses[0]
            raise SyntaxFault(
                f"LOOKUP takes no {stray.keyword}",
                stray.keyword_position,
                "DEPTH (which makes it a TRAVERSE)",
                "the end",
                example=f"{EXAMPLES['LOOKUP']} DEPTH 2 LIMIT 9",
            )
        return _build(Traverse, query, clauses)

    def start_lookup(self, children: list[Any]) -> Lookup:
        return Lookup(children[1])

    def bare(self, children: list[Any]) -> Lookup:
        return Lookup(children[0])

    def fuzzy(self, children: list[Any]) -> Fuzzy:
        return _build(Fuzzy, children[1].value, children[2:])

    def search(self, children: list[Any]) -> Search:
        return _build(Search, children[1].value, children[2:])

    def select(self, children: list[Any]) -> PendingSelect:
        return PendingSelect(children[0].start_pos)

    def traverse(self, children: list[Any]) -> Traverse | PendingSelect:
        _, plan, edges, start, *clauses = children
        if not isinstance(start, PendingSelect):
            return _build_traverse(plan, edges, start, clauses)

        def build_walk(sql: Sql, clauses_behind: Sequence[QueryClause]) -> Traverse:
            return _build_traverse(plan, edges, sql, clauses_behind)

        return PendingSelect(start.position, build_walk)

    # -- their parts -------------------------------------------------------------------------------

    def labels(self, children: list[Any]) -> tuple[str, ...]:
        return tuple(child.value for child in children if isinstance(child, Valued))

    def label(self, children: list[Token]) -> Valued:
        return _read_words(children)

    text = name = label

    def edges(self, children: list[Any]) -> list[str]:
        return [child.value for child in children if isinstance(child, Valued)]

    def clause(self, children: list[Any]) -> QueryClause:
        keyword, argument = children
        name = keyword.upper()
        if isinstance(argument, Valued):
            value, position = argument.value, argument.position
        else:
            value = "all" if argument.type == "ALL" else _read_number(argument)
            position = _start(argument)
        if name in ("DIRECTION", "MODE"):
            value = value.lower()
        return QueryClause(name, value, position, _start(keyword))

    def strategy(self, children: list[Token]) -> QueryClause:
        way = children[0]
        return QueryClause("FIRST", f"{way.lower()}-first", _start(way), _start(way))

    def order_clause(self, children: list[Any]) -> QueryClause:
        keyword, field, way = children
        return QueryClause(
            "ORDER BY", f"{field.value} {way or 'ASC'}", field.position, _start(keyword)
        )

    def where_clause(self, children: list[Any]) -> QueryClause:
        keyword, condition = children
        return QueryClause("WHERE", condition.predicate, _start(keyword), _start(keyword))

    # -- conditions --------------------------------------------------------------------------------

    def where(self, children: list[Condition]) -> Condition:
        return children[0]

    def conjunction(self, children: list[Condition]) -> Condition:
        predicates = tuple(child.predicate for child in children)
        return Condition(And(predicates), 1 + max(child.depth for child in children))

    def disjunction(self, children: list[Condition]) -> Condition:
        predicates = tuple(child.predicate for child in children)
        return Condition(Or(predicates), 1 + max(child.depth for child in children))

    def negation(self, children: list[Any]) -> Condition:
        keyword, inner = children
        return _nested(Not(inner.predicate), inner.depth, keyword)

    def group(self, children: list[Any]) -> Condition:
        bracket, inner, _ = children
        return _nested(inner.predicate, inner.depth, bracket)

    def comparison(self, children: list[Any]) -> Condition:
        field, operator, value = children
        return Condition(COMPARISONS[operator](field, value))

    def membership(self, children: list[Any]) -> Condition:
        field, negated, *values = children
        # without the commas and brackets, which are tokens
        listed = tuple(value for value in values if not hasattr(value, "start_pos"))
        return Condition(NotIn(field, listed) if negated else In(field, listed))

    def like(self, children: list[Any]) -> Condition:
        field, negated, keyword, pattern = children
        text = _read_string(pattern).value
        predicate = like_predicate(field, text, ignore_case=keyword.upper() == "ILIKE")
        return Condition(Not(predicate) if negated else predicate)

    def test(self, children: list[Any]) -> Condition:
        field, negated, keyword, value = children
        if hasattr(value, "start_pos"):
            value = _read_string(value).value
        words = " ".join(keyword.upper().split())
        predicate = TEXT_TESTS[words](field, value)
        return Condition(Not(predicate) if negated else predicate)

    def between(self, children: list[Any]) -> Condition:
        field, negated, _, low, high = children
        predicate = And((Gte(field, low), Lte(field, high)))
        return Condition(Not(predicate) if negated else predicate, 2)

    def null_test(self, children: list[Any]) -> Condition:
        field, _, negated, _ = children
        return Condition(Exists(field) if negated else NotExists(field))

    def everything(self, _: list[Any]) -> Condition:
        return Condition(All())

    def nothing(self, _: list[Any]) -> Condition:
        return Condition(Or(()))

    def field(self, children: list[Token]) -> str:
        name, *arrows = children
        path = [str(name).replace("`", "")]
        path += [_read_string(token).value for token in arrows if token.type == "STRING"]
        return ".".join(path)

    def value(self, children: list[Token]) -> Any:
        token = children[0]
        if token.type == "STRING":
            return _read_string(token).value
        if token.type == "NUMBER":
            return _read_number(token)
        return str(token) if token.type == "DATE" else _CONSTANTS[token.type]


def _build_traverse(
    plan: Token | None,
    edges: list[str] | None,
    start: Any,
    clauses: Sequence[QueryClause],
) -> Traverse:
    if plan is not None:
        for clause in clauses:
            if clause.keyword == "DEPTH" and clause.value != 0:
                raise SyntaxFault("PLAN is DEPTH 0", clause.position, "no DEPTH after PLAN")
        # PLAN stands for DEPTH 0
        others = [clause for clause in clauses if clause.keyword != "DEPTH"]
        clauses = [*others, QueryClause("DEPTH", 0, _start(plan), _start(plan))]
    return _build(Traverse, start, clauses, edge_types=edges or ())


def _build(
    kind: type[_Query],
    first: Any,
    clauses: Sequence[QueryClause],
    **arguments: Any,
) -> _Query:
    options = {}
    for clause in clauses:
        field = _FIELDS[clause.keyword]
        if field in options:
            position = clause.keyword_position
            raise SyntaxFault(f"{clause.keyword} is given twice", position, "each option once")
        options[field] = clause.value
    try:
        return kind(first, **arguments, **options)
    except UnknownNameError:
        raise
    except InvalidInputError:
        # Try each option alone, for the position of the one that is wrong.
        for clause in clauses:
            try:
                kind(first, **{_FIELDS[clause.keyword]: clause.value})
            except InvalidInputError as error:
                raise SyntaxFault(error.message, clause.position) from None
        raise


def _read_words(tokens: Sequence[Token]) -> Valued:
    """A label or text: one string, or the words as they stand."""
    if tokens[0].type != "STRING":
        _refuse_misplaced_clause(tokens)
        text = " ".join(tokens).replace(" ,", ",")
        return Valued(text, _start(tokens[0]))
    quoted = _read_string(tokens[0])
    if not quoted.value.strip():
        raise SyntaxFault("a label or text may not be empty", quoted.position, "what to look for")
    return quoted


def _refuse_misplaced_clause(words: Sequence[Token]) -> None:
    """Refuse a clause of another query in an unquoted label.

    Such a label runs to the next keyword *of its query*, and would take that clause in.
    """
    first = words[0]
    is_bracketed = first[0] in "(["
    if is_bracketed and first[1:].upper() in ("LOOKUP", "FUZZY", "SEARCH", "SELECT"):
        raise SyntaxFault(
            "a query stands here without brackets", _start(first), "a query or a label"
        )
    for index, word in enumerate(words[1:], 1):
        if word.upper() not in KEYWORDS:
            continue
        stands_out = word.isupper() and not all(other.isupper() for other in words)
        # "LIMIT 5" is a clause, "limit of five" is part of a label
        following = words[index + 1] if index + 1 < len(words) else ""
        if stands_out or re.fullmatch(r"[-\d.]+", following):
            raise SyntaxFault(
                f"{word.upper()} does not belong here",
                _start(word),
                "an option of this query",
                "a label in quotes, if the word is part of it",
            )


def _nested(predicate: Predicate, depth: int, token: Token) -> Condition:
    if depth >= MAX_NESTING:
        raise SyntaxFault(
            f"conditions may be nested {MAX_NESTING} deep", _start(token), "a flatter condition"
        )
    return Condition(predicate, depth + 1)


# A doubled quote is one quote; a backslash keeps a quote or a backslash from meaning more.
_ESCAPES = {quote: re.compile(rf"""\\([\\'"])|{quote}({quote})""") for quote in "'\""}


def _read_string(token: Token) -> Valued:
    quote, body = token[0], token[1:-1]
    text = _ESCAPES[quote].sub(_unescape, body)
    return Valued(text, _start(token))


def _unescape(escape: re.Match[str]) -> str:
    return escape[1] or escape[2]


def _read_number(token: Token) -> int | float:
    if len(token) <= _MAX_DIGITS and token.lstrip("+-").isdigit():
        return int(token)
    number = float(token)
    if number in (float("inf"), float("-inf")):
        raise SyntaxFault("this number is too large", _start(token), "a number below 1e308")
    return number


def _start(token: Token) -> int:
    return token.start_pos or 0
