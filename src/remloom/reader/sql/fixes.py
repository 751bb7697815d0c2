"""What is mended in a query that would show too little, or too much: seed 3's four auto-fixes.

They work on the tree, each only where it cannot change what the query asks, and each is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlglot import exp, parse_one

from .allowed import Readable, read_allowed
from .guard import function_name, own_nodes

SEARCH_LIMIT = 50  # rows of a filter by words that has no limit of its own
_RANKED = 20  # lines of a search that has none
_NAMED = "named"  # the headings of a query for headings
_SHARED_LINES = 100  # that the sections share which a query for headings names
_FIRST_LINES = 3  # that each of them has at least, after its heading
_HEADINGS = frozenset({"is_strategic", "is_header", "is_section_start"})
_SHOWN = ("line_num", "text", "word_count")  # what a line is shown with
_TEXT_FUNCTIONS = frozenset({
    "contains", "ends_with", "instr", "prefix", "regexp_full_match", "regexp_matches",
    "starts_with", "strpos", "suffix",
})  # fmt: skip


def fix_query(
    query: exp.Query, names: tuple[str, ...], readable: Readable, *, several: bool
) -> tuple[exp.Query, tuple[str, ...]]:
    """Mend a query that was found right.

    Args:
        names: those of its columns.
        several: whether more than one document is read, so that a line needs its document's name.

    Returns:
        The query, and what was changed, in words.
    """
    fixes: list[str] = []
    if isinstance(query, exp.Select) and _is_plain(query, readable):
        shown = ("doc", *_SHOWN) if several else _SHOWN
        names = (*names, *_add_columns(query, shown, fixes))
        if _reads_headings_alone(query):
            return _widened(query, fixes, several=several), tuple(fixes)
    if _gives_lines(query) and not query.args.get("limit") and _is_search(query):
        query.set("limit", exp.Limit(expression=exp.Literal.number(SEARCH_LIMIT)))
        fixes.append(f"added LIMIT {SEARCH_LIMIT}: the filter by words had no limit")
    if _is_unlimited_search(query):
        query.set("limit", exp.Limit(expression=exp.Literal.number(_RANKED)))
        fixes.append(f"added LIMIT {_RANKED}: the search had none")
    if _gives_lines(query) and not query.args.get("order"):
        _add_order(query, names, fixes, several=several)
    return query, tuple(fixes)


# -- what a query is ----------------------------------------------------------------------------


def _source(query: Any) -> Any:
    clause = query.args.get("from_") or query.args.get("from")
    return clause.this if clause is not None else None


def _gives_lines(query: Any) -> bool:
    """Whether each row is a row of what is read: no aggregate, no group."""
    if isinstance(query, exp.Union | exp.Except | exp.Intersect):
        return all(_gives_lines(part.unnest()) for part in (query.this, query.expression))
    if not isinstance(query, exp.Select) or query.args.get("group") or query.args.get("having"):
        return False
    return not any(map(_is_aggregate, own_nodes(query)))


def _is_aggregate(node: Any) -> bool:
    """Whether a node makes one row of many; with an OVER it leaves them as they are."""
    if function_name(node) not in read_allowed().aggregates:
        return False
    return not isinstance(node.find_ancestor(exp.Window, exp.Select), exp.Window)


def _is_plain(query: exp.Select, readable: Readable) -> bool:
    """Whether a query shows columns of the lines as they are, and nothing else."""
    source = _source(query)
    if not isinstance(source, exp.Table) or source.name != readable.table:
        return False
    if _cte_names(query) & {readable.table, _NAMED}:
        return False
    if any(query.args.get(name) for name in ("joins", "distinct", "qualify", "group", "having")):
        return False
    return all(
        isinstance(output, exp.Star)
        or (isinstance(output, exp.Column) and isinstance(output.this, exp.Star | exp.Identifier))
        for output in query.expressions
    )


def _cte_names(query: Any) -> set[str]:
    with_ = query.args.get("with_") or query.args.get("with")
    return {cte.alias for cte in with_.expressions} if with_ is not None else set()


def _conjuncts(query: Any) -> list[Any]:
    where = query.args.get("where")
    if where is None:
        return []
    condition = where.this.unnest()
    parts = condition.flatten() if isinstance(condition, exp.And) else [condition]
    return [part.unnest() for part in parts]


def _is_search(query: Any) -> bool:
    """Whether a query filters lines by words, wherever they stand."""
    if isinstance(query, exp.Union | exp.Except | exp.Intersect):
        return any(_is_search(part.unnest()) for part in (query.this, query.expression))
    conditions = _conjuncts(query)
    nodes = [node for condition in conditions for node in condition.walk()]
    looks_for_words = any(
        isinstance(node, exp.Like | exp.ILike | exp.RegexpLike | exp.RegexpILike | exp.SimilarTo)
        or function_name(node) in _TEXT_FUNCTIONS
        for node in nodes
    ) and any(isinstance(node, exp.Column) and node.name == "text" for node in nodes)
    return looks_for_words and not any(map(_bounds_lines, conditions))


def _bounds_lines(condition: Any) -> bool:
    """Whether a condition says which lines: a range with an end, or a list."""
    if isinstance(condition, exp.Between | exp.In | exp.EQ | exp.LT | exp.LTE):
        return _is_line_number(condition.this)
    if isinstance(condition, exp.GT | exp.GTE):
        return _is_line_number(condition.expression)
    return False


def _is_line_number(node: Any) -> bool:
    return isinstance(node, exp.Column) and node.name == "line_num"


def _reads_headings_alone(query: exp.Select) -> bool:
    conditions = _conjuncts(query)
    return any(map(_is_heading_mark, conditions)) and not any(map(_bounds_lines, conditions))


def _is_heading_mark(condition: Any) -> bool:
    """Whether a condition is `is_header`, `is_header = true` or one of several such."""
    if isinstance(condition, exp.Or):
        return all(_is_heading_mark(part.unnest()) for part in condition.flatten())
    if isinstance(condition, exp.EQ | exp.Is):
        sides = condition.this, condition.expression
        value = next((side for side in sides if isinstance(side, exp.Boolean | exp.Literal)), None)
        if value is None or value.this not in (True, "1", "true"):
            return False
        condition = sides[0] if value is sides[1] else sides[1]
    return isinstance(condition, exp.Column) and condition.name in _HEADINGS


# -- what is mended -----------------------------------------------------------------------------


def _add_columns(query: exp.Select, shown: Sequence[str], fixes: list[str]) -> list[str]:
    """Show a line with its number, text and words; gives the names that were added."""
    outputs = query.expressions
    selected = {output.name for output in outputs}
    has_all = any(output.is_star for output in outputs)
    missing = [name for name in shown if name not in selected]
    if has_all or not missing or not selected & {"line_num", "text"}:
        return []
    query.set("expressions", [*outputs, *map(exp.column, missing)])
    fixes.append(f"added {', '.join(missing)}: what a line is shown with")
    return missing


def _add_order(query: Any, names: tuple[str, ...], fixes: list[str], *, several: bool) -> None:
    if isinstance(query, exp.Select) and _reads_search(query):
        if not query.args.get("distinct"):
            rank = exp.column("rank", table=_source(query).alias_or_name or None)
            query.set("order", exp.Order(expressions=[exp.Ordered(this=rank)]))
        return
    if "line_num" not in names:
        return
    columns = ["doc", "line_num"] if several and "doc" in names else ["line_num"]
    terms = [exp.Ordered(this=_ordered_by(query, name)) for name in columns]
    query.set("order", exp.Order(expressions=terms))
    fixes.append(f"added ORDER BY {', '.join(columns)}: lines are read in their order")


def _ordered_by(query: Any, name: str) -> Any:
    """The column of a name, as the query itself names it if it does."""
    for output in query.expressions if isinstance(query, exp.Select) else ():
        if isinstance(output, exp.Column) and output.name == name:
            return output.copy()
    is_joined = isinstance(query, exp.Select) and query.args.get("joins")
    table = _source(query).alias_or_name if is_joined else None
    return exp.column(name, table=table or None)


def _reads_search(query: exp.Select) -> bool:
    source = _source(query)
    return isinstance(source, exp.Table) and isinstance(source.this, exp.Anonymous)


def _is_unlimited_search(query: Any) -> bool:
    """Whether a query shows what a search finds, without saying how much."""
    is_search = isinstance(query, exp.Select) and _reads_search(query)
    if not is_search or query.args.get("limit") or query.args.get("joins"):
        return False
    return _gives_lines(query) and len(_source(query).this.expressions) == 1


def _widened(query: exp.Select, fixes: list[str], *, several: bool) -> exp.Select:
    """Read the first lines of the sections whose headings a query names, not the headings alone."""
    source = _source(query)
    lines = exp.to_identifier(source.alias_or_name).sql("duckdb")
    named = exp.select(*(["doc"] if several else []), "line_num").from_(source.copy())
    for clause in ("where", "order", "limit", "offset"):
        if query.args.get(clause):
            named.set(clause, query.args[clause].copy())
    if not query.args.get("limit"):
        named.set("limit", exp.Limit(expression=exp.Literal.number(SEARCH_LIMIT)))
    if not query.args.get("order"):
        names = ["doc", "line_num"] if several else ["line_num"]
        terms = [exp.Ordered(this=exp.column(name)) for name in names]
        named.set("order", exp.Order(expressions=terms))
    same = f"named.doc = {lines}.doc AND " if several else ""
    condition = (
        f"EXISTS(SELECT 1 FROM named WHERE {same}{lines}.line_num BETWEEN named.line_num AND "
        f"named.line_num + GREATEST({_FIRST_LINES}, "
        f"{_SHARED_LINES} // (SELECT COUNT(*) FROM named)))"
    )
    clauses = exp.select(*(output.copy() for output in query.expressions)).from_(source.copy())
    widened = clauses.where(parse_one(condition, dialect="duckdb"))
    with_ = query.args.get("with_") or query.args.get("with")
    if with_ is not None:
        widened.set("with_", with_.copy())
    widened = widened.with_(_NAMED, as_=named)
    fixes.append("read the first lines of the sections that are named, not their headings alone")
    _add_order(widened, ("line_num", "doc"), fixes, several=several)
    return widened
