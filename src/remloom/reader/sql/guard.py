"""Which trees may run: a closed list of nodes, arguments, types and functions (allowed.json).

Nothing that is not known passes, of a newer parser neither, so that a query can reach nothing but
the lines, and costs no more than its size lets expect.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct
from sqlglot import exp

from .parse import EXAMPLE, refuse

MAX_LIMIT = 1_000_000  # of LIMIT and OFFSET
MAX_PATTERN = 500  # characters of a pattern
MAX_PADDED = 1_000  # characters that a text is padded to
_NUMBER = re.compile(r"\d+(\.\d*)?([eE][+-]?\d+)?")
_REGEX_FUNCTIONS = frozenset({
    "regexp_extract", "regexp_full_match", "regexp_matches", "regexp_replace",
})  # fmt: skip
_JOINED = frozenset({"string_agg", "group_concat", "listagg"})  # aggregates of many texts to one
# what is refused (the kind of a node, an argument of one, a function) -> what is right instead
_REMEDIES = {
    "Any": "OR, or IN (SELECT …)",
    "Array": "IN (1, 2, 3)",
    "Bracket": "substr(text, 1, 80), or left(text, 80)",
    "Fetch": "LIMIT 50",
    "Glob": "text LIKE '%word%'",
    "Interval": "lines have no times",
    "Lateral": "a subquery, or a join",
    "Placeholder": "write the value itself",
    "Values": "SELECT … FROM the table, with line_num IN (1, 100, 200)",
    "Var": "name the columns",
    "array_agg": "string_agg(text, ' ')",
    "bm25": "FROM search('payment terms', 20)",
    "catalog": "a table is named alone",
    "db": "a table is named alone",
    "except": "name the columns",
    "list": "string_agg(text, ' ')",
    "match": "FROM search('payment terms', 20)",
    "recursive": "WITH without RECURSIVE, or a join",
    "regexp_extract_all": "regexp_extract(text, 'a.b') has the first",
    "replace": "name the columns",
    "sample": "WHERE line_num % 100 = 0",
    "search": "FROM search('payment terms', 20)",
    "str_split": "word_count has the words of a line, split_part(text, ' ', 1) one of them",
    "string_split": "word_count has the words of a line, split_part(text, ' ', 1) one of them",
    "unnest": "word_count has the words of a line, split_part(text, ' ', 1) one of them",
}
_LIKE = 0.7  # least likeness of a function that may have been meant
# what the parser calls a part of the query -> what people do
_WORDS = {"db": "a schema", "catalog": "a database", "sample": "SAMPLE", "laterals": "LATERAL"}
# the least and the most arguments of a function, by its name
_Arities = dict[str, tuple[int, int]]


def check_tree(tree: Any, sql: str) -> None:
    """See that a tree has nothing that is not allowed."""
    allowed = read_allowed()
    for node in tree.walk():
        kind = type(node).__name__
        if kind not in allowed.nodes:
            words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", kind).upper()
            _refuse(f"{words} is not allowed", sql, node, _REMEDIES.get(kind, ""))
        present = (name.rstrip("_") for name, value in node.args.items() if value)
        extras = sorted(set(present) - allowed.nodes[kind])
        if extras:
            word = _WORDS.get(extras[0], extras[0].upper().replace("_", " "))
            _refuse(f"{word} is not allowed here", sql, node, _REMEDIES.get(extras[0], ""))
        check = _CHECKS.get(kind)
        if check is not None:
            check(node, sql)


def function_name(node: Any) -> str:
    """The name of the function that a node calls; empty if it calls none."""
    return node.name.lower() if isinstance(node, exp.Anonymous) else ""


def is_query(node: Any) -> bool:
    return isinstance(node, exp.Query)


def source_of(query: Any) -> Any:
    """What stands behind FROM; None where nothing does."""
    # the parser's versions differ in these names
    clause = query.args.get("from_") or query.args.get("from")
    return clause.this if clause is not None else None


def ctes_of(query: Any) -> list[Any]:
    clause = query.args.get("with_") or query.args.get("with")
    return list(clause.expressions) if clause is not None else []


def own_nodes(query: Any) -> Iterator[Any]:
    """The nodes of a query, with the queries in it but not what those have."""
    yield from query.walk(prune=lambda node: node is not query and is_query(node))


def position(node: Any, sql: str) -> int | None:
    for part in node.walk():
        if "start" in part.meta:
            return int(part.meta["start"])
    # the parser notes no position of most words, and older ones of none
    word = re.escape(node.name or node.key)
    found = re.search(rf"(?<!\w){word}(?!\w)", sql, re.IGNORECASE)
    return found.start() if found else None


def _refuse(message: str, sql: str, node: Any, remedy: str = "") -> None:
    example = f"for example: {EXAMPLE.format(table='documents')}"
    refuse(message, sql, position(node, sql), remedy or example)


def _check_literal(node: Any, sql: str) -> None:
    if not node.is_string and not _NUMBER.fullmatch(node.name):
        _refuse(f"{node.name[:40]} is not a number", sql, node)


def _check_window_size(node: Any, sql: str) -> None:
    number = node.expression
    word = type(node).__name__.upper()
    if not isinstance(number, exp.Literal) or not number.name.isdigit():
        _refuse(f"{word} takes a whole number", sql, node, f"{word} 50")
    if len(number.name) > 9 or int(number.name) > MAX_LIMIT:
        _refuse(f"{word} may be {MAX_LIMIT:,} at most", sql, node, f"{word} 50")


def _check_type(node: Any, sql: str) -> None:
    name = getattr(node.this, "name", str(node.this))
    if name not in read_allowed().types or node.args.get("nested"):
        known = ", ".join(sorted(read_allowed().types))
        _refuse(f"the type {name} is not allowed", sql, node, f"one of {known}")


def _check_table(node: Any, sql: str) -> None:
    if isinstance(node.this, exp.Anonymous):
        if function_name(node.this) != "search":
            name = node.this.name[:40]
            _refuse(f"FROM {name}(…) is not allowed", sql, node, "FROM search('words') ranks lines")
        _check_search(node.this, sql)
    elif not isinstance(node.this, exp.Identifier):
        _refuse("FROM takes a table by its name", sql, node)


def _check_search(node: Any, sql: str) -> None:
    example = "FROM search('payment terms', 20)"
    words, *limit = node.expressions or [None]
    if not isinstance(words, exp.Literal) or not words.is_string or not words.name.strip():
        _refuse("search takes words in single quotes", sql, node, example)
    if len(words.name) > MAX_PATTERN:
        _refuse(f"search takes {MAX_PATTERN} characters at most", sql, node, example)
    is_whole = limit and isinstance(limit[0], exp.Literal) and limit[0].name.isdigit()
    if limit and (len(limit) > 1 or not is_whole or not 1 <= int(limit[0].name[:9]) <= 1_000):
        _refuse("search takes words, and how many lines: 1 to 1,000", sql, node, example)


def _check_call(node: Any, sql: str) -> None:
    name = function_name(node)
    if isinstance(node.parent, exp.Table):
        return
    allowed = read_allowed()
    arity = allowed.arity(name)
    if arity is None:
        nearest = get_close_matches(name, allowed.names, cutoff=_LIKE)
        remedy = f"did you mean {' or '.join(nearest)}?" if nearest else ""
        _refuse(f"there is no function {name[:60]!r} here", sql, node, _REMEDIES.get(name, remedy))
    least, most = arity or (0, 0)
    if not least <= len(node.expressions) <= most:
        count = f"{least}" if least == most else f"{least} to {most}"
        _refuse(f"{name} takes {count} arguments, not {len(node.expressions)}", sql, node)
    window = node.find_ancestor(exp.Window, exp.Select)
    is_windowed = isinstance(window, exp.Window) and _called(window.this) is node
    if name in allowed.windows and not is_windowed:
        _refuse(f"{name} needs an OVER", sql, node, f"{name}(…) OVER (ORDER BY line_num)")
    if name in _JOINED and is_windowed:
        _refuse(f"{name} may not have an OVER", sql, node, f"{name} with GROUP BY")
    if name in _REGEX_FUNCTIONS:
        for pattern in node.expressions[1:]:
            _check_pattern(pattern, sql)
    if name in {"lpad", "rpad"}:
        width = node.expressions[1]
        if not width.is_int or int(width.name or MAX_PADDED + 1) > MAX_PADDED:
            _refuse(f"{name} takes a number of at most {MAX_PADDED:,} characters", sql, node)


def _called(node: Any) -> Any:
    return node.this if isinstance(node, exp.Filter) else node


def _check_match(node: Any, sql: str) -> None:
    _check_pattern(node.expression, sql)


def _check_pattern(node: Any, sql: str) -> None:
    if not isinstance(node, exp.Literal):
        remedy = "contains(text, title) looks for a text of another column"
        _refuse("a regular expression is written out, in single quotes", sql, node, remedy)
    if len(node.name) > MAX_PATTERN:
        _refuse(f"a pattern may have {MAX_PATTERN} characters", sql, node)


_CHECKS: dict[str, Callable[[Any, str], None]] = {
    "Anonymous": _check_call,
    "DataType": _check_type,
    "Limit": _check_window_size,
    "Literal": _check_literal,
    "Offset": _check_window_size,
    "RegexpILike": _check_match,
    "RegexpLike": _check_match,
    "SimilarTo": _check_match,
    "Table": _check_table,
}


class Allowed(Struct, frozen=True):
    """The table of allowed.json."""

    nodes: dict[str, frozenset[str]]  # the arguments of each kind of node
    types: frozenset[str]  # that may be cast to
    functions: _Arities  # of one row
    aggregates: _Arities
    windows: _Arities  # that need an OVER
    texts: frozenset[str]  # functions that may return a text as long as their arguments

    def arity(self, function: str) -> tuple[int, int] | None:
        """How many arguments a function takes; None if it does not exist."""
        tables = (self.functions, self.aggregates, self.windows)
        return next((table[function] for table in tables if function in table), None)

    @property
    def names(self) -> list[str]:
        return [*self.functions, *self.aggregates, *self.windows]


@cache
def read_allowed() -> Allowed:
    file = Path(__file__).with_name("allowed.json")
    return msgspec.json.decode(file.read_bytes(), type=Allowed)


class Readable(Struct, frozen=True):
    """The tables that a query may read, and how much is in them."""

    table: str  # that has the lines
    columns: dict[str, tuple[str, ...]]  # by table, in their order
    longest: int = 0  # characters of the longest text
    characters: int = 0  # of all texts

    @property
    def lines(self) -> tuple[str, ...]:
        return self.columns[self.table]
