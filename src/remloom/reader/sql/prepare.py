"""Queries over lines: checked, mended by seed 3's four auto-fixes, and rewritten.

A fix works on the tree, only where it cannot change what the query asks, and is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import Struct
from sqlglot import exp, parse_one

from ...errors import RemloomError
from .guard import Readable, check_tree, ctes_of, function_name, own_nodes, read_allowed, source_of
from .names import check_names
from .parse import parse_query, read_dialect, refuse, strip_fence
from .sizes import check_sizes

_RANKED = 200  # lines that a search ranks where it does not say
SEARCH_LIMIT = 50  # rows of a filter by words that has no limit of its own
_RANKED_ROWS = 20  # lines of a search that has none
_NAMED = "named"  # the headings of a query for headings
_SHARED_LINES = 100  # that the sections share which a query for headings names
_FIRST_LINES = 3  # that each of them has at least, after its heading
_HEADINGS = frozenset({"is_strategic", "is_header", "is_section_start"})
_SHOWN = ("line_num", "text", "word_count")  # what a line is shown with
_TEXT_FUNCTIONS = frozenset({
    "contains", "ends_with", "instr", "prefix", "regexp_full_match", "regexp_matches",
    "starts_with", "strpos", "suffix",
})  # fmt: skip


class SearchCall(Struct, frozen=True):
    """A `search('words', limit)` that a query reads from."""

    words: str
    limit: int


class PreparedQuery(Struct, frozen=True):
    """A query over lines that is safe to run."""

    tree: exp.Query
    sql: str  # the query, as it is shown
    fixes: tuple[str, ...]  # what was changed, in words
    searches: tuple[SearchCall, ...]
    work: float = 0.0  # that its patterns may take in one step, see `sizes.check_sizes`


def prepare_query(
    text: str, readable: Readable, *, several: bool = False, fix: bool = True
) -> PreparedQuery:
    """Read a query, check all that is in it, and mend what would show too little or too much.

    Raises:
        QuerySyntaxError: it is not SQL.
        SqlGuardError: it is not one SELECT over the tables that there are, or too large.
    """
    sql = strip_fence(text)
    query = parse_query(sql, readable.table)
    fixes: tuple[str, ...] = ()
    try:
        check_tree(query, sql)
        names = check_names(query, sql, readable)
        work = check_sizes(query, sql, readable)
        if fix:
            query, fixes = fix_query(query, names, readable, several=several)
        searches = tuple(_read_search(node) for node in _searches(query))
        return PreparedQuery(query, write_query(query), fixes, searches, work)
    except RemloomError:
        raise
    except RecursionError:
        refuse("this is too deeply nested", sql, 0)
    except Exception:
        # a tree of a shape that the parser is not known to make
        refuse("this is not SQL as it is read here", sql, None)


def write_query(query: exp.Query, ranked: Sequence[str] = (), *, most: int | None = None) -> str:
    """The SQL of a query.

    Args:
        ranked: the SELECT that stands in the place of each search.
        most: how many rows it may give, if its own limit allows more.
    """
    query = query.copy()
    for node, rows in zip(_searches(query), ranked, strict=bool(ranked)):
        alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier("search"))
        subquery = exp.Subquery(this=parse_one(rows, dialect="duckdb"), alias=alias)
        node.replace(subquery)
    limit = query.args.get("limit")
    if most is not None and (limit is None or int(limit.expression.name) > most):
        query.set("limit", exp.Limit(expression=exp.Literal.number(most)))
    return query.sql(read_dialect(), comments=False, normalize_functions="lower")


def _searches(query: exp.Query) -> list[exp.Table]:
    tables = query.find_all(exp.Table)
    return [table for table in tables if function_name(table.this) == "search"]


def _read_search(table: exp.Table) -> SearchCall:
    words, *limit = table.this.expressions
    return SearchCall(words.name, int(limit[0].name) if limit else _RANKED)


def fix_query(
    query: exp.Query, names: tuple[str, ...], readable: Readable, *, several: bool
) -> tuple[exp.Query, tuple[str, ...]]:
    """Mend a query that was found right; returns it, and what was changed, in words.

    Args:
        names: those of its columns.
        several: whether more than one document is read, so that a line needs its document's name.
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
        query.set("limit", exp.Limit(expression=exp.Literal.number(_RANKED_ROWS)))
        fixes.append(f"added LIMIT {_RANKED_ROWS}: the search had none")
    if _gives_lines(query) and not query.args.get("order"):
        _add_order(query, names, fixes, several=several)
    return query, tuple(fixes)


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
    source = source_of(query)
    if not isinstance(source, exp.Table) or source.name != readable.table:
        return False
    if {cte.alias for cte in ctes_of(query)} & {readable.table, _NAMED}:
        return False
    if any(query.args.get(name) for name in ("joins", "distinct", "qualify", "group", "having")):
        return False
    return all(
        isinstance(output, exp.Star)
        or (isinstance(output, exp.Column) and isinstance(output.this, exp.Star | exp.Identifier))
        for output in query.expressions
    )


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
            rank = exp.column("rank", table=source_of(query).alias_or_name or None)
            query.set("order", exp.Order(expressions=[exp.Ordered(this=rank)]))
        return
    if "line_num" not in names:
        return
    columns = ["doc", "line_num"] if several and "doc" in names else ["line_num"]
    terms = [exp.Ordered(this=_ordered_by(query, name)) for name in columns]
    query.set("order", exp.Order(expressions=terms))
    fixes.append(f"added ORDER BY {', '.join(columns)}: lines are read in their order")


def _ordered_by(query: Any, name: str) -> Any:
    for output in query.expressions if isinstance(query, exp.Select) else ():
        if isinstance(output, exp.Column) and output.name == name:
            return output.copy()
    is_joined = isinstance(query, exp.Select) and query.args.get("joins")
    table = source_of(query).alias_or_name if is_joined else None
    return exp.column(name, table=table or None)


def _reads_search(query: exp.Select) -> bool:
    source = source_of(query)
    return isinstance(source, exp.Table) and isinstance(source.this, exp.Anonymous)


def _is_unlimited_search(query: Any) -> bool:
    """Whether a query shows what a search finds, without saying how much."""
    is_search = isinstance(query, exp.Select) and _reads_search(query)
    if not is_search or query.args.get("limit") or query.args.get("joins"):
        return False
    return _gives_lines(query) and len(source_of(query).this.expressions) == 1


def _widened(query: exp.Select, fixes: list[str], *, several: bool) -> exp.Select:
    """Read the first lines of the sections whose headings a query names, not the headings alone."""
    source = source_of(query)
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
