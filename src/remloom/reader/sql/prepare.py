"""Queries that are ready to run: checked, mended, and rewritten."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from sqlglot import exp, parse_one

from ...errors import RemloomError
from .allowed import Readable
from .fixes import fix_query
from .guard import check_tree, function_name
from .names import check_names
from .parse import parse_query, read_dialect, refuse, strip_fence
from .sizes import check_sizes

_RANKED = 200  # lines that a search ranks where it does not say


class Search(Struct, frozen=True):
    """A `search('words', limit)` that a query reads from."""

    words: str
    limit: int


class Prepared(Struct, frozen=True):
    """A query over lines that is safe to run."""

    tree: exp.Query
    sql: str  # the query, as it is shown
    fixes: tuple[str, ...]  # what was changed, in words
    searches: tuple[Search, ...]
    work: float = 0.0  # that its patterns may take in one step, see `sizes.check_sizes`


def prepare_query(
    text: str, readable: Readable, *, several: bool = False, fix: bool = True
) -> Prepared:
    """Read a query, check all that is in it, and mend what would show too little or too much.

    Args:
        text: SQL as DuckDB has it; may stand in a Markdown fence.
        several: whether more than one document is read.
        fix: whether to mend it.

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
        return Prepared(query, write_query(query), fixes, searches, work)
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


def _read_search(table: exp.Table) -> Search:
    words, *limit = table.this.expressions
    return Search(words.name, int(limit[0].name) if limit else _RANKED)
