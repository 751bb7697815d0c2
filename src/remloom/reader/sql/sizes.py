"""How long the texts may get that a query makes, and how long one step may take: bounded before it
runs.

The engine makes some two thousand rows at a time, and its limit of memory does not count the texts
in them. It hears an interrupt only between such steps; within one, patterns over long texts may
take minutes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

from sqlglot import exp

from .guard import Readable, ctes_of, function_name, is_query, own_nodes, position, read_allowed
from .parse import refuse

MAX_MADE = 400_000  # characters that a query may make of a row
_SHORT = 40  # characters of a number, or of a name
_CUTTING = frozenset({"left", "right", "substr", "substring"})
_PADDING = frozenset({"lpad", "rpad"})
_GROUPED = frozenset({"string_agg", "group_concat", "listagg"})  # make one text of many lines
_JOINING = frozenset({"concat", "concat_ws"})
# columns that are not texts, unless a query gives their name to something else
_NUMBERS = frozenset({
    "first_line", "is_code", "is_header", "is_list_item", "is_section_start", "is_strategic",
    "last_line", "level", "line_num", "page", "rank", "score", "word_count",
})  # fmt: skip

_STEP = 2_048  # rows
_REGEX = 64  # what a regular expression takes of a character, at least
_LIKE = 0.1  # and what a plain pattern takes, for each character of its own
_REPEATED = re.compile(r"\{(\d+)?,?(\d+)?\}")
_PLAIN = frozenset({
    "contains", "ends_with", "instr", "prefix", "replace", "split_part", "starts_with", "strpos",
    "suffix",
})  # fmt: skip


def check_sizes(query: Any, sql: str, readable: Readable) -> float:
    """See that a query makes no texts that are too long.

    Returns: what its patterns may take in one step, see `_pattern_work`.
    """
    sizes = _Sizes(query, sql, readable)
    sizes.check()
    return _pattern_work(query, readable, sizes.bound)


class _Sizes:
    def __init__(self, query: Any, sql: str, readable: Readable) -> None:
        self._query = query
        self._sql = sql
        self._characters = readable.characters
        self._widest = readable.longest  # of what a column can hold
        self._made = 0
        self._bounds: dict[int, int] = {}
        aliases = {node.alias.lower() for node in query.find_all(exp.Alias)}
        renamed = {
            column.name
            for alias in query.find_all(exp.TableAlias)
            for column in alias.args.get("columns") or []
        }
        self._numbers = _NUMBERS - aliases - renamed

    def check(self) -> None:
        for query in _inner_first(self._query):
            widest = self._widest
            for output in query.expressions if isinstance(query, exp.Select) else ():
                # what the engine joins is counted by its limit of memory
                is_shown = query is self._query and function_name(output.unalias()) in _GROUPED
                widest = max(widest, 0 if is_shown else self._add(output))
            for node in own_nodes(query):
                is_made = isinstance(node, exp.Anonymous | exp.DPipe | exp.Cast)
                if is_made and function_name(node) not in _GROUPED:
                    self._add(node)
            self._widest = widest

    def bound(self, node: Any) -> int:
        return max(self._bound(node), self._count(node))

    def _add(self, node: Any) -> int:
        bound = self._bound(node)
        self._made += bound
        if self._made > MAX_MADE:
            refuse(
                f"this could make texts of {self._made:,} characters in a row",
                self._sql,
                position(node, self._sql),
                "take a part of each text first: left(text, 500)",
            )
        return bound

    def _bound(self, node: Any) -> int:
        known = self._bounds.get(id(node))
        if known is None:
            known = self._bounds[id(node)] = self._count(node)
        return known

    def _count(self, node: Any) -> int:
        if isinstance(node, exp.Literal):
            return len(node.name)
        if isinstance(node, exp.Star):
            return 3 * self._widest
        if isinstance(node, exp.Column):
            return _SHORT if node.name.lower() in self._numbers else self._widest
        if isinstance(node, exp.DPipe):
            return self._bound(node.this) + self._bound(node.expression)
        if isinstance(node, exp.Anonymous):
            return self._count_call(node)
        if is_query(node):
            return self._widest
        inner = [child for child in node.iter_expressions() if hasattr(child, "walk")]
        return max([_SHORT, *map(self._bound, inner)])

    def _count_call(self, node: Any) -> int:
        name = function_name(node)
        bounds = [self._bound(argument) for argument in node.expressions]
        if name in _GROUPED:
            return max(self._characters, *bounds)
        if name in _JOINING:
            separators = bounds[0] * len(bounds) if name == "concat_ws" else 0
            return sum(bounds) + separators
        if name == "replace":
            return _replaced(node.expressions, bounds)
        if name == "regexp_replace":
            new = str(node.expressions[2].name)
            return bounds[0] + (bounds[0] + 1) * (len(new) + 1) + bounds[0] * new.count("\\")
        if name in _PADDING:
            return max(bounds[0], int(node.expressions[1].name))
        if name in _CUTTING and node.expressions[-1].is_int:
            return min(bounds[0], int(node.expressions[-1].name or 0) or bounds[0])
        return max([_SHORT, *bounds]) if name in read_allowed().texts else _SHORT


def _replaced(arguments: Any, bounds: list[int]) -> int:
    old = len(arguments[1].name) if isinstance(arguments[1], exp.Literal) else 1
    return bounds[0] + -(-bounds[0] // max(old, 1)) * bounds[2]


def _inner_first(query: Any) -> Iterator[Any]:
    """The SELECTs of a query, each after those that it reads from."""
    for cte in ctes_of(query):
        yield from _inner_first(cte.this)
    for node in own_nodes(query):
        if node is not query and is_query(node) and not isinstance(node.parent, exp.CTE):
            yield from _inner_first(node)
    yield query


def _pattern_work(query: Any, readable: Readable, bound: Callable[[Any], int]) -> float:
    """Estimate the most operations that the patterns of a query take in one step."""
    is_joined = query.find(exp.Join) is not None
    work = 0.0
    for node in query.walk():
        parts = _parts(node)
        if parts is None:
            continue
        text, pattern, kind = parts
        longest = bound(text)
        characters = _STEP * longest
        if not is_joined and isinstance(text, exp.Column):
            characters = min(characters, readable.characters)
        written = pattern.name if isinstance(pattern, exp.Literal) else ""
        length = len(written) or bound(pattern)
        if kind == "plain":
            work += characters * length * _LIKE
            continue
        counts = [
            max(map(int, filter(None, one))) for one in _REPEATED.findall(written) if any(one)
        ]
        states = max(_REGEX, min(length * math.prod(max(1, one) for one in counts), 100_000))
        # matched again from each place that is replaced
        work += characters * (max(states, longest) if kind == "replace" else states)
    return work


def _parts(node: Any) -> tuple[Any, Any, str] | None:
    """The text that is searched, its pattern, and what kind that is."""
    if isinstance(node, exp.Like | exp.ILike):
        return node.this, node.expression, "plain"
    if isinstance(node, exp.RegexpLike | exp.RegexpILike | exp.SimilarTo):
        return node.this, node.expression, "regex"
    if not isinstance(node, exp.Anonymous) or len(node.expressions) < 2:
        return None
    name = function_name(node)
    text, pattern = node.expressions[:2]
    if name in _PLAIN:
        return text, pattern, "plain"
    if name.startswith("regexp_"):
        return text, pattern, "replace" if name == "regexp_replace" else "regex"
    return None
