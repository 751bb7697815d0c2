"""Answers, descriptions of records, and statistics, as rich renderables.

Nothing here prints. On a terminal lines are cut to its width; elsewhere names and citations are
always whole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ....model import Answer, Meaning, Receipt, Record, Resource
from ....model.supersession import MARKS, said_text
from ....text.quoting import visible
from ..frame.text_formats import byte_size, one_line, plural, short_source
from .changes import replacing_lines
from .hits import HitList, written_later_note
from .tables import draw_nested, draw_rows
from .traversal import draw_edges, draw_traversal, styled_kind

if TYPE_CHECKING:
    from ....ask.result import AskResult, AskTurn
    from ....federation import FederatedAnswer
    from ....memory import ChainLink, MemoryStats, RecordView


SHOWN_COUNTS = 12  # types in one line of the statistics
SHOWN_IDS = 10  # in a command that forgets more


def draw_answer(found: Answer) -> RenderableType:
    if found.query_type in ("sql", "explain"):
        return draw_rows(found)
    if found.query_type == "traverse":
        shown = draw_traversal(found) if found.nodes else _nothing(found)
    else:
        shown = HitList(found.records) if found.records else _nothing(found)
    notes = [_meanings_line(label) for label in found.meanings.items()]
    notes += [Text(one_line(str(united)), "green") for united in found.united]
    if later := found.metadata.get("written_later"):
        notes.append(Text(written_later_note(later), "yellow"))
    if notes:
        return Group(shown, *notes)
    # a search by meaning cannot see texts without a vector
    waiting = found.metadata.get("waiting")
    if waiting:
        texts = f"{plural(waiting, 'text')} not embedded yet could not be found"
        note = f"{texts}: `remloom reembed` does it now"
        return Group(shown, Text(note, "yellow"))
    return shown


def _meanings_line(label: tuple[str, Sequence[Meaning]]) -> Text:
    key, meanings = label
    shown = "; ".join(map(str, meanings))
    return Text(one_line(f"{key} means {len(meanings)} things: {shown}"), "yellow")


def _nothing(found: Answer) -> RenderableType:
    if not found.suggestions:
        return Text("nothing found", "yellow")
    return Group(Text("nothing found; the nearest names are", "yellow"), HitList(found.suggestions))


def draw_across(answer: FederatedAnswer) -> RenderableType:
    parts: list[RenderableType] = []
    if answer.hits:
        parts.append(HitList(answer.hits))
    else:
        parts.append(Text(f"not answered: {one_line(answer.reason)}", "yellow"))
    if answer.note:
        parts.append(Text(one_line(answer.note), "yellow"))
    if answer.suggestions:
        parts += [Text("did you mean"), HitList(answer.suggestions)]
    parts += [
        Text(f"{tenant}: {one_line(why)}", "yellow") for tenant, why in answer.unanswered.items()
    ]
    return Group(*parts)


def draw_turn(number: int, turn: AskTurn) -> RenderableType:
    lines = [Text.assemble((f"{number}. ", "green"), (one_line(turn.statement), "bold"))]
    # the model plans once, with its first statement
    if number == 1 and turn.staged_plan:
        lines.append(Text(f"   plan: {'; '.join(map(one_line, turn.staged_plan))}", "dim"))
    # a TRAVERSE carries its memo in the statement itself
    if turn.memo and turn.memo not in turn.statement:
        lines.append(Text(f"   memo: {one_line(turn.memo)}", "dim italic"))
    if turn.answer is None:
        lines.append(Text(f"   {one_line(turn.error)}", "yellow"))
    else:
        line = f"   found {turn.found}"
        if turn.answer.edge_summary:
            line += f", {plural(len(turn.answer.edge_summary), 'edge')}"
        lines.append(Text(line, "dim"))
    return Group(*lines)


def draw_asked(result: AskResult) -> RenderableType:
    parts = [Text(visible(result.answer) or "no answer", "" if result.answer else "yellow")]
    # only those that the answer does not quote already
    unquoted = [line for line in result.connections if line not in result.answer]
    parts += [Text(one_line(line), "dim") for line in unquoted]
    for citation in result.citations:
        name = one_line(citation.name or citation.statement)
        line = Text.assemble((f"[{citation.number}] ", "green"), (name, "bold"))
        if citation.uri:
            line.append("  ").append(short_source(citation.source), "blue")
        parts.append(line)
    parts += [Text(one_line(doubt), "yellow") for doubt in result.doubts]
    return Group(*parts)


def draw_record_view(
    view: RecordView, chains: Mapping[str, Sequence[ChainLink]] | None = None
) -> RenderableType:
    """Draw records with their edges.

    Args:
        chains: by id of a text, those that were said to replace or amend one another.
    """
    parts: list[RenderableType] = []
    for described in view.records:
        record = described.as_dict()
        title = Text.assemble((one_line(record["name"]), "bold"), "  ", styled_kind(record))
        # the title has the name and schema; the edges stand below
        for name in ("name", "schema", "graph_paths"):
            record.pop(name, None)
        # a number 0 is a fact, an empty list is none
        facts = {name: value for name, value in record.items() if value not in ([], {})}
        notes = []
        if chain := (chains or {}).get(described.record.id):
            notes += [Text(f"  {one}", "yellow") for one in replacing_lines(chain, record["id"])]
            facts = _without_marks(described.record, facts)
        if described.stale is not None:
            del facts["stale"]
            notes.append(Text(f"  may not hold: {one_line(str(described.stale))}", "yellow"))
        parts += [title, *notes, draw_nested(facts, indent="  "), Text()]
    parts += [Text(one_line(str(united)), "green") for united in view.united]
    parts += draw_edges([edge.key for edge in view.edges_out], "edges out")
    parts += draw_edges([edge.key for edge in view.edges_in], "edges in")
    return Group(*parts)


def _without_marks(record: Record, facts: dict[str, Any]) -> dict[str, Any]:
    """The facts of a text that was replaced, amended or did so: what it says, without the marks,
    which are told in words."""
    if not isinstance(record, Resource):
        return facts
    shown = {}
    for name, value in facts.items():
        if name == "content_hash" and not record.content:
            shown["said"] = said_text(record)
        if name == "metadata":
            value = {key: one for key, one in value.items() if key not in MARKS}
        if value != {}:
            shown[name] = value
    return shown


def draw_stats(stats: MemoryStats) -> RenderableType:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    sealed = "encrypted" if stats.encrypted else "not encrypted"
    on_disk = f"  {sealed}, {byte_size(stats.bytes)} on disk"
    title = Text.assemble((stats.tenant, "bold"), on_disk)
    for schema, count in stats.records.items():
        # records without a type are counted under ""
        types = {type or "no type": number for type, number in stats.types[schema].items()}
        details = _counts(types)
        if schema == "entities" and stats.thin_entities:
            details += f"; {stats.thin_entities:,} only mentioned"
        grid.add_row(schema, f"{count:,}", details)
    grid.add_row("edges", f"{stats.edges:,}", _counts(stats.edge_types))
    vectors = stats.vectors
    details = f"{vectors.model}, {vectors.dims} dimensions" if vectors.count else ""
    if vectors.count and vectors.exact_share is not None:
        details += f", {vectors.exact_share:.0%} searched exactly"
    grid.add_row("vectors", f"{vectors.count:,}", details)
    for model, made in stats.token_vectors.items():
        details = f"{model}, {made.dims} dimensions a token"
        if made.pending or made.parked:
            details += f"; {made.pending:,} texts wait, {made.parked:,} parked after failing"
        grid.add_row("token vectors", f"{made.count:,}", details)
    for move in stats.moves:
        moved = f"{move.done:,} of {move.total:,} texts moved from {move.source or 'no model'} to"
        grid.add_row(move.what, "", f"{moved} {move.target}; `remloom reembed` goes on with it")
    if stats.pending or stats.parked:
        parked = f"and {stats.parked:,} parked after failing" if stats.parked else ""
        grid.add_row("to embed", f"{stats.pending:,}", parked)
    if stats.unlinked:
        what = "names to look for in earlier texts: servers and workers do, and embed_pending()"
        grid.add_row("to link", f"{stats.unlinked:,}", what)
    if stats.expired:
        grid.add_row("expired", f"{stats.expired:,}", "of the records: `remloom sweep` erases them")
    return Group(title, grid)


def draw_receipt(receipt: Receipt, *, dry_run: bool = False) -> RenderableType:
    line = Text(f"{'would forget' if dry_run else 'forgot'} {count_receipt(receipt)}")
    checked = [] if dry_run else _draw_check(receipt)
    return Group(line, *checked, *_draw_namings(receipt))


def draw_swept(receipt: Receipt) -> RenderableType:
    return draw_receipt(receipt) if receipt.records else "nothing has expired"


def _draw_check(receipt: Receipt) -> list[Text]:
    if receipt.remaining:
        return [Text(f"still found: {', '.join(receipt.remaining)}", "red")]
    if receipt.pending:
        return [Text(f"not yet: {what}", "yellow") for what in receipt.pending]
    return [Text("verified: nothing of it is left", "green")]


def _draw_namings(receipt: Receipt) -> list[Text]:
    shared = [Text(f"{one_line(receipt.sharing)}.", "yellow")] if receipt.sharing else []
    if not receipt.named_in:
        return shared
    shown = " ".join(receipt.named_in[:SHOWN_IDS])
    more = len(receipt.named_in) - SHOWN_IDS
    them = "it" if len(receipt.named_in) == 1 else "them"
    lines = [
        *shared,
        Text(f"{receipt.namings}. To forget {them} too:", "yellow"),
        Text(f"  remloom forget {shown}", no_wrap=True, overflow="ignore"),
    ]
    return [*lines, Text(f"  and {more:,} more: `--json` has their ids")] if more > 0 else lines


def count_receipt(receipt: Receipt) -> str:
    """Spell what is in a receipt: `2 records (1 of them derived from the others), 0 vectors, …`."""
    derived = f" ({receipt.derived:,} of them derived from the others)" if receipt.derived else ""
    return (
        f"{plural(receipt.records, 'record')}{derived}, {plural(receipt.vectors, 'vector')}, "
        f"{plural(receipt.edges, 'edge')}"
    )


def _counts(counts: dict[str, int]) -> str:
    listed = [f"{one_line(name)} {count:,}" for name, count in list(counts.items())[:SHOWN_COUNTS]]
    return ", ".join([*listed, "…"] if len(counts) > SHOWN_COUNTS else listed)
