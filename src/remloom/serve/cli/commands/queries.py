"""The five ways to ask, and `query`, which takes any of them as a statement of the REM dialect."""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from click import Choice, argument, option

from ....errors import InvalidInputError
from ..app import Call, command
from ..frame.times import Time
from .across import across_option, open_across, show_across

if TYPE_CHECKING:
    from rich.console import RenderableType

    from ....memory import Memory
    from ....model import Answer, Direction
    from ....query.statements import Strategy


AS_OF = Time(needs_zone=True)
STRATEGIES = ("breadth-first", "depth-first")


@command("lookup")
@argument("labels", metavar="LABEL...", nargs=-1, required=True)
@option(
    "--as-of",
    type=AS_OF,
    metavar="TIME",
    help="What had these names then, as it was, such as 2025-01-15.",
)
@across_option
def lookup(call: Call, labels: tuple[str, ...], as_of: datetime | None, across: str | None) -> None:
    """Find records by their exact names or aliases.

    Case, spaces, hyphens and underscores do not matter. When there is no such record, the nearest
    names are suggested.
    """
    if across is not None:
        if as_of is not None:
            raise InvalidInputError("other tenants are asked as they are now", remedy="no --as-of")
        with open_across(call, across) as others:
            show_across(call, others.lookup(*labels))
        return
    _ask(call, lambda memory: memory.lookup(*labels, as_of=as_of))


@command("fuzzy")
@argument("text")
@option("--type", metavar="TYPE", help="Only of this type, such as person.")
@option("--threshold", default=0.5, help="Likeness at least, 0 to 1.")
@option("--limit", default=5, help="Records at most.")
def fuzzy(call: Call, text: str, type: str | None, threshold: float, limit: int) -> None:
    """Find records by a name that may be misspelt."""
    _ask(call, lambda memory: memory.fuzzy(text, type=type, threshold=threshold, limit=limit))


@command("search")
@argument("text")
@option("--in", "schema", metavar="SCHEMA", help="resources (the default), entities or moments.")
@option(
    "--where", metavar="CONDITION", help="Only where this holds, such as \"category = 'note'\"."
)
@option("--min", "min_score", type=float, metavar="COSINE", help="Score at least, -1 to 1.")
@option("--limit", default=10, help="Records at most.")
@option("--late", is_flag=True, help="Rank what is found token by token (late interaction).")
@option(
    "--text",
    "by_words",
    is_flag=True,
    help="Match words (BM25), not meaning: quick, needs no model.",
)
@across_option
def search(
    call: Call,
    text: str,
    schema: str | None,
    where: str | None,
    min_score: float | None,
    limit: int,
    late: bool,
    by_words: bool,
    across: str | None,
) -> None:
    """Find records by meaning, or with --text by words.

    By words every schema is searched unless --in names one.
    """
    if by_words and min_score is not None:
        raise InvalidInputError(
            "--min is a cosine, and --text has none", remedy="leave out --min or --text"
        )
    if late and (by_words or across is not None):
        raise InvalidInputError(
            "--late goes neither with --text nor with --across", remedy="leave it out"
        )
    if across is not None:
        if min_score is not None:
            raise InvalidInputError("--min does not go with --across", remedy="leave it out")
        with open_across(call, across) as others:
            if by_words:
                found = others.search_text(text, schema=schema, where=where, limit=limit)
            else:
                found = others.search(text, schema=schema or "resources", where=where, limit=limit)
        show_across(call, found)
        return

    def ask(memory: Memory) -> Answer:
        if by_words:
            return memory.search_text(text, schema=schema, where=where, limit=limit)
        # vectors are searched one schema at a time
        searched = schema or "resources"
        return memory.search(
            text,
            schema=searched,
            where=where,
            min_score=min_score,
            limit=limit,
            mode="late" if late else "vector",
        )

    _ask(call, ask)


@command("traverse")
@argument("label")
@option("--edges", metavar="A,B", help="Follow only edges of these types.")
@option("--depth", default=1, help="Steps from the start.")
@option(
    "--direction",
    type=Choice(("out", "in", "both")),
    default="out",
    help="Which way to follow edges.",
)
@option(
    "--breadth",
    metavar="N|all",
    help="Edges followed at each record. [default: the limit, at least 9]",
)
@option(
    "--order-by",
    metavar="FIELD",
    default="edge.created_at DESC",
    help="Which come first; or node.name, …",
)
@option("--limit", default=9, help="Records at most, besides the start.")
@option(
    "--strategy",
    type=Choice(STRATEGIES),
    default=STRATEGIES[0],
    help="Their order, which the limit cuts.",
)
@option("--memo", metavar="TEXT", default="", help="A note that every stage of the answer repeats.")
@option(
    "--as-of",
    type=AS_OF,
    metavar="TIME",
    help="Follow the edges that held then, such as 2025-01-15.",
)
@option("--plan", is_flag=True, help="Only count the edges, follow none.")
def traverse(
    call: Call,
    label: str,
    edges: str | None,
    depth: int,
    direction: Direction,
    breadth: str | None,
    order_by: str,
    limit: int,
    strategy: Strategy,
    memo: str,
    as_of: datetime | None,
    plan: bool,
) -> None:
    """Follow the edges of a record, and draw the tree."""
    # checked before the memory is opened: a wrong option costs no time
    width = _parse_breadth(breadth)
    _ask(
        call,
        lambda memory: memory.traverse(
            label,
            edge_types=edges.split(",") if edges else None,
            max_depth=0 if plan else depth,
            direction=direction,
            breadth=width,
            order_by=order_by,
            limit=limit,
            plan_memo=memo,
            as_of=as_of,
            strategy=strategy,
        ),
    )


@command("query")
@argument("statement")
def query(call: Call, statement: str) -> None:
    """Run a statement of the REM dialect; - is stdin.

    LOOKUP, FUZZY, SEARCH, TRAVERSE or SELECT; with EXPLAIN before it, how it would run.
    """
    text = sys.stdin.read() if statement == "-" else statement
    _ask(call, lambda memory: memory.query(text))


def show_answer(call: Call, answer: Answer) -> None:
    """Print an answer, as JSON or as text."""

    def view() -> RenderableType:
        from ..views.answers import draw_answer

        return draw_answer(answer)

    # The interchange form, not msgspec's: other programs of the REM dialect read it too.
    call.show(answer.as_dict(), view)


def _ask(call: Call, question: Callable[[Memory], Answer]) -> None:
    with call.open() as memory:
        answer = question(memory)
    show_answer(call, answer)


def _parse_breadth(text: str | None) -> int | Literal["all"] | None:
    if text is None:
        return None
    if text.lower() == "all":
        return "all"
    try:
        return int(text)
    except ValueError:
        raise InvalidInputError(
            f"--breadth takes a number or all, not {text!r}", remedy="--breadth 20"
        ) from None
