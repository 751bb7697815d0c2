"""The ways to ask: `lookup`, `search`, `traverse`, `query`, `recall` and `ask`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from ....errors import InvalidInputError
from ..frame.call import Invocation
from ..frame.terminal import console, echo

if TYPE_CHECKING:
    from ....ask.result import AskResult, AskTurn
    from ....federation import FederatedAnswer, Federation
    from ....memory import Memory
    from ....model import Answer, Recall


def lookup(
    call: Invocation, labels: tuple[str, ...], *, across: str | None = None, **options: Any
) -> Answer | FederatedAnswer:
    """Find records by their exact names or aliases.

    Case, spaces, hyphens and underscores do not matter. When there is no such record, the nearest
    names are suggested.
    """
    if across is None:
        with call.open() as memory:
            return memory.lookup(*labels, **options)
    if options["as_of"] is not None:
        raise InvalidInputError("other tenants are asked as they are now", remedy="no --as-of")
    with open_across(call, across) as others:
        return others.lookup(*labels)


def search(
    call: Invocation,
    text: str,
    *,
    schema: str | None = None,
    where: str | None = None,
    min_score: float | None = None,
    limit: int = 10,
    late: bool = False,
    by_words: bool = False,
    across: str | None = None,
) -> Answer | FederatedAnswer:
    """Find records by meaning, or with --text by words.

    By words every schema is searched unless --in names one.

    Args:
        schema: of which schema: resources (the default), entities or moments.
        min_score: score at least, -1 to 1.
        late: rank what is found token by token (late interaction).
        by_words: match words (BM25), not meaning: quick, needs no model.
    """
    if by_words and min_score is not None:
        raise InvalidInputError(
            "--min is a cosine, and --text has none", remedy="leave out --min or --text"
        )
    if late and (by_words or across is not None):
        raise InvalidInputError(
            "--late goes neither with --text nor with --across", remedy="leave it out"
        )
    if across is not None and min_score is not None:
        raise InvalidInputError("--min does not go with --across", remedy="leave it out")
    # vectors are searched one schema at a time
    one_schema = schema or "resources"
    if across is not None:
        with open_across(call, across) as others:
            if by_words:
                return others.search_text(text, schema=schema, where=where, limit=limit)
            return others.search(text, schema=one_schema, where=where, limit=limit)
    with call.open() as memory:
        if by_words:
            return memory.search_text(text, schema=schema, where=where, limit=limit)
        return memory.search(
            text,
            schema=one_schema,
            where=where,
            min_score=min_score,
            limit=limit,
            mode="late" if late else "vector",
        )


def traverse(memory: Memory, label: str, *, plan: bool = False, **options: Any) -> Answer:
    """Follow the edges of a record, and draw the tree.

    Args:
        plan: only count the edges, follow none.
    """
    if plan:
        options["max_depth"] = 0
    return memory.traverse(label, **options)


def query(memory: Memory, statement: str) -> Answer:
    """Run a statement of the REM dialect; - is stdin.

    LOOKUP, FUZZY, SEARCH, TRAVERSE or SELECT; with EXPLAIN before it, how it would run.
    """
    return memory.query(sys.stdin.read() if statement == "-" else statement)


def recall(
    call: Invocation,
    typed: dict[str, Any],
    question: str,
    *,
    limit: int | None = None,
    budget_tokens: int | None = None,
    mode: Literal["auto", "hybrid", "temporal", "contextual", "iterated"] = "auto",
    hops: int = 2,
    neighbours: int | None = None,
    history: Sequence[str] = (),
    now: datetime | None = None,
    where: str | None = None,
    exclude: Sequence[str] = (),
    prefer: Sequence[str] = (),
    half_life: float | None = None,
    rerank: str | None = None,
    expand: bool = False,
    anyway: bool = False,
    explain: bool = False,
    unit: Literal["record", "episode"] = "record",
    stale: Literal["mark", "omit", "only"] = "mark",
    as_of: datetime | None = None,
    as_context: bool = False,
    across: str | None = None,
) -> Recall | FederatedAnswer | None:
    """Ask in plain words: what answers the question, best first.

    By words, meaning, names and relations together, minding the time that the question names. When
    nothing answers, it says so.

    Args:
        limit: hits at most. [default: 10; with --context 100]
        budget_tokens: tokens of all hits at most. [default: none; with --context 1500]
        mode: how to look.
        hops: of --mode iterated.
        neighbours: records before and after each hit that go with it, in --json.
            [default: 1; with --context the question before a short reply]
        history: what was said before the question; repeat it, oldest first.
        now: what "last week" counts from. [default: the present]
        prefer: what names this counts more (1) or less (-1).
        half_life: days after which a record's recency counts half.
        rerank: a second look: onnx:FOLDER, fastembed:MODEL, llm, none. [default: a setting]
        expand: search for a model's paraphrases as well.
        anyway: show the best there is, even when it does not answer.
        explain: show why each hit came up.
        unit: what is shown; with episode the chats that decide, and what amended it later first.
        stale: what was made of something that changed since.
        as_of: what was remembered then, by when it was written.
        as_context: print the text for a prompt instead of a list.
    """
    from ....retrieve.options import for_context, with_changes
    from ....retrieve.prompt_context import text_of

    own = ("question", "prefer", "anyway", "as_context", "across")
    changes: Any = {
        name: value for name, value in typed.items() if name not in own and value is not None
    }
    changes |= {"preferences": dict(map(_parse_preference, prefer)), "abstain": not anyway}
    # JSON has the text too, beside all else
    as_context = as_context and not call.json
    options = (for_context if as_context else with_changes)(None, changes)
    if across is not None:
        with open_across(call, across) as others:
            if not as_context:
                return others.recall(question, options)
            text = others.context(question, options)
    else:
        with call.open() as memory:
            recalled = memory.recall(question, options)
        if not as_context:
            return recalled
        text = text_of(recalled)
    echo(text, nl=False)
    return None


def _parse_preference(text: str) -> tuple[str, float]:
    # from the right: a label may hold an equals sign
    label, _, weight = text.rpartition("=")
    try:
        return label, float(weight)
    except ValueError:
        raise InvalidInputError(
            f"{text!r} is not a preference", remedy='--prefer "Project Alpha=1"'
        ) from None


def ask(call: Invocation, memory: Memory, question: str, **options: Any) -> AskResult:
    """Ask in plain words, and let a model find the answer.

    It asks the memory in statements, over several turns; the answer cites its sources. Without a
    model, `remloom recall` finds what answers a question.
    """
    shown = 0

    def show_turn(turn: AskTurn) -> None:
        """Print a turn as it comes: an answer may take a minute."""
        from ..views.answers import draw_turn

        nonlocal shown
        shown += 1
        if not call.json:
            console().print(draw_turn(shown, turn), crop=False)

    result = memory.ask(question, on_turn=show_turn, **options)
    if shown and not call.json:
        echo()
    return result


def open_across(call: Invocation, across: str) -> Federation:
    """Open what other tenants let the one of this call find.

    Args:
        across: "all", or their names, with commas.
    """
    from ....federation import Federation
    from ....settings import split_list

    settings = call.settings()
    tenants = None if across.strip() == "all" else split_list(across)
    return Federation.open(as_tenant=settings.tenant, tenants=tenants, settings=settings)
