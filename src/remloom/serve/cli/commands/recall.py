"""`recall`: ask in plain words, and see the best records and the reasons for each."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from click import Choice, argument, option

from ....errors import InvalidInputError
from ..app import Call, command, model_option
from ..frame.terminal import echo
from ..frame.times import Time
from .across import across_option, open_across, show_across

if TYPE_CHECKING:
    from rich.console import RenderableType

MODES = ("auto", "hybrid", "temporal", "contextual", "iterated")


@command("recall")
@argument("question")
@option("--limit", default=10, help="Hits at most.")
@option("--budget", type=int, metavar="TOKENS", help="Tokens of all hits at most.")
@option("--mode", type=Choice(MODES), default="auto", help="How to look.")
@option("--hops", default=2, help="Of --mode iterated.")
@option(
    "--neighbours", default=1, help="Records before and after each hit that go with it, in --json."
)
@option(
    "--said",
    metavar="TEXT",
    multiple=True,
    help="What was said before the question; repeat it, oldest first.",
)
@option(
    "--now",
    type=Time(),
    metavar="TIME",
    help='What "last week" counts from. [default: the present]',
)
@option(
    "--where", metavar="CONDITION", help="Only where this holds, such as \"category = 'note'\"."
)
@option(
    "--exclude",
    "--without",
    "exclude",
    metavar="PART",
    multiple=True,
    help="Leave out a part: text, vector, late, entity, graph, …",
)
@option(
    "--prefer",
    metavar="LABEL=NUMBER",
    multiple=True,
    help="What names this counts more (1) or less (-1).",
)
@option(
    "--half-life",
    type=float,
    metavar="DAYS",
    help="Days after which a record's recency counts half.",
)
@option(
    "--rerank",
    metavar="NAME",
    help="A second look: onnx:FOLDER, fastembed:MODEL, llm, none. [default: a setting]",
)
@option("--expand", is_flag=True, help="Search for a model's paraphrases as well.")
@model_option
@option("--anyway", is_flag=True, help="Show the best there is, even when it does not answer.")
@option("--explain", is_flag=True, help="Show why each hit came up.")
@option(
    "--context", "as_context", is_flag=True, help="Print the text for a prompt instead of a list."
)
@across_option
def recall(
    call: Call,
    question: str,
    limit: int,
    budget: int | None,
    mode: str,
    hops: int,
    neighbours: int,
    said: tuple[str, ...],
    now: datetime | None,
    where: str | None,
    exclude: tuple[str, ...],
    prefer: tuple[str, ...],
    half_life: float | None,
    rerank: str | None,
    expand: bool,
    anyway: bool,
    explain: bool,
    as_context: bool,
    across: str | None,
) -> None:
    """Ask in plain words: what answers the question, best first.

    By words, meaning, names and relations together, minding the time that the question names. When
    nothing answers, it says so.
    """
    from ....retrieve.options import RecallOptions

    options = RecallOptions(
        limit=limit,
        budget_tokens=budget,
        mode=mode,
        history=said,
        now=now,
        where=where,
        exclude=exclude,
        hops=hops,
        neighbours=neighbours,
        preferences=dict(map(_parse_preference, prefer)),
        half_life=half_life,
        rerank=rerank,
        expand=expand,
        abstain=not anyway,
        explain=explain,
    )
    if across is not None:
        with open_across(call, across) as others:
            if as_context and not call.json:
                echo(others.context(question, options), nl=False)
            else:
                show_across(call, others.recall(question, options))
        return
    with call.open() as memory:
        recalled = memory.recall(question, options)
    # JSON has the text too, beside all else
    if as_context and not call.json:
        from ....retrieve.prompt_context import text_of

        echo(text_of(recalled), nl=False)
        return

    def view() -> RenderableType:
        from ..views.recall import draw_recall

        return draw_recall(recalled, explain=explain)

    call.show(recalled.as_dict(), view)


def _parse_preference(text: str) -> tuple[str, float]:
    # from the right: a label may hold an equals sign
    label, _, weight = text.rpartition("=")
    try:
        return label, float(weight)
    except ValueError:
        raise InvalidInputError(
            f"{text!r} is not a preference", remedy='--prefer "Project Alpha=1"'
        ) from None
