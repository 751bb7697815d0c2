"""Profiles as rich renderables: beliefs by hub, a belief's timeline and quotes, changes, slots.

Nothing here prints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ..frame.text_formats import middle_cut, one_line, plural, short_id, short_ids, short_source
from .runs import parked_view
from .tables import draw_pairs, draw_table

if TYPE_CHECKING:
    from ....profile.beliefs.belief import Belief
    from ....profile.beliefs.exchange import Imported
    from ....profile.beliefs.profile import Change, Explanation, Profile
    from ....profile.context.build import ProfileContext
    from ....profile.evidence.claim import Value
    from ....profile.evidence.evidence import Evidence
    from ....profile.extract.normalise import NormaliseResult
    from ....profile.extract.scan import ScanResult
    from ....profile.slots.slot import Slot
    from ....runs.run import Run


HUBS = {
    "preferences": "Preferences: how agents are to behave",
    "operating_context": "Operating context: what is feasible",
    "soft_identity": "Soft identity: who it is",
}
BAR = 10  # cells of a confidence
LEAST = 12  # cells of a source
TIMELINE = 48  # cells of a timeline
SHOWN = 20  # pieces of a dry run; --json has them all

# why a value holds no longer
_REASONS = {None: "", "changed": "has changed", "wrong": "was wrong"}
_SIGNS = {"for": ("+", "green"), "against": ("-", "red"), "retire": ("x", "yellow")}
# counts of a run as people say them, of one and of many
_COUNTS = {
    "passages": "passage looked at|passages looked at",
    "asked": "by the model",
    "calls": "call of the model|calls of the model",
    "evidence": "piece of evidence|pieces of evidence",
    "staged": "claim staged|claims staged",
    "normalised": "normalised",
    "extras": "of them extras",
    "secrets": "secret masked|secrets masked",
    "refused": "refused, as only the user may say so",
    "fabricated": "refused, as nobody said those words",
    "unusable": "that say nothing",
    "unknown_slot": "for a slot that there is not",
    "invalid": "with a value that the slot cannot have",
    "deleted_before": "left out, as they were forgotten before",
    "parked": "parked",
}


def draw_profile(profile: Profile, *, ended: bool = False) -> RenderableType:
    """Draw the beliefs of a profile, a table for each hub."""
    beliefs = [belief for belief in profile.beliefs if ended or belief.holds]
    parts: list[RenderableType] = []
    ids = short_ids([belief.id for belief in profile.beliefs])
    for hub, title in HUBS.items():
        some = [belief for belief in beliefs if belief.hub == hub]
        if some:
            parts += [Text(title, "bold cyan"), _beliefs_table(some, ids), Text()]
    if not beliefs:
        parts.append(Text("nothing is known yet: remloom profile scan [PATH]", "yellow"))
    hidden = len(profile.beliefs) - len(beliefs)
    if hidden:
        parts.append(Text(f"{plural(hidden, 'belief')} ended: --ended shows them", "dim"))
    if profile.waiting:
        parts.append(Text(f"{plural(profile.waiting, 'claim')} to be normalised", "yellow"))
    parts += _unheard(profile.unheard)
    if beliefs:
        parts.append(Text("by its id: remloom profile why, confirm, reject, hide, forget", "dim"))
    return Group(*parts)


def belief_line(belief: Belief) -> Text:
    """One belief on one line: what, how sure, and since when."""
    scope = f" ({belief.scope})" if belief.scope else ""
    line = Text.assemble((one_line(belief.label + scope), "bold"), ": ", _values(belief), "  ")
    if belief.holds:
        line.append_text(_confidence(belief.confidence))
    since = f"since {_day(belief.since)}"
    until = f"until {_day(belief.until)}" if belief.until is not None else since
    return line.append(f"  {belief.level}, {', '.join(_states(belief))}, {until}", "dim")


def draw_explanations(
    explained: Sequence[Explanation], as_of: datetime | None = None
) -> RenderableType:
    """Draw why something is believed: values by time, then what said it."""
    parts: list[RenderableType] = []
    for explanation in explained:
        belief = explanation.belief
        parts += [
            belief_line(belief),
            Text(f"  {belief.slot}", "dim"),
            *([Text(f"  {one_line(str(belief.stale))}", "yellow")] if belief.stale else []),
            Padding(_timeline(belief, as_of or datetime.now(UTC)), (1, 0, 1, 2)),
            *(line for one in explanation.evidence for line in _evidence_lines(one)),
            Text(),
        ]
    return Group(*parts)


def draw_changes(changes: Sequence[Change]) -> RenderableType:
    if not changes:
        return Text("nothing has changed")
    rows = []
    for change in changes:
        label = f"{change.label} ({change.scope})" if change.scope else change.label
        before = _value(change.before) if change.before is not None else ""
        after = _value(change.after) if change.after is not None else "(ended)"
        why = _REASONS[change.reason] + (" (may not hold)" if change.stale is not None else "")
        if change.note:
            why += f": “{change.note}”"
        rows.append((_day(change.at), label, before, after, why, short_source(change.citation)))
    return draw_table(("since", "what", "before", "after", "why", "source"), rows)


def draw_context(context: ProfileContext) -> RenderableType:
    if not context.text:
        return Text(f"nothing is known that is for {context.purpose}", "yellow")
    facts = [f"{context.tokens:,} tokens", f"for {context.purpose}"]
    if context.left_out:
        facts.append(f"{plural(context.left_out, 'line')} left out for the budget")
    if context.withheld:
        facts.append(f"{plural(context.withheld, 'belief')} not for this purpose")
    if context.unheard:
        facts.append(f"{plural(context.unheard, 'passage')} in languages that are not heard")
    parts = [Text(context.text.rstrip()), Text(", ".join(facts), "dim")]
    if context.safety_left_out:
        missing = plural(context.safety_left_out, "line")
        parts.append(Text(f"{missing} of what could hurt left out: give more tokens", "red"))
    return Group(*parts)


def draw_scan(result: ScanResult, *, dry_run: bool) -> RenderableType:
    lines = [_counted(result.run, "nothing new to look at")]
    if result.read is not None:
        read = sum(item.status == "read" for item in result.read.items)
        lines.insert(0, Text(f"read {plural(read, 'document')}"))
    lines += _unheard(result.unheard)
    if dry_run:
        for evidence in result.evidence[:SHOWN]:
            lines += _evidence_lines(evidence)
        hidden = len(result.evidence) - SHOWN
        if hidden > 0:
            lines.append(Text(f"… and {hidden:,} more (--json has them all)", "dim"))
        lines.append(Text("a dry run: nothing was written, and no source was read", "yellow"))
        return Group(*lines, *parked_view(result.failed))
    return Group(*lines, *_end_of_run(result.run), *parked_view(result.failed))


def _unheard(unheard: Mapping[str, int]) -> Iterator[Text]:
    for language, count in unheard.items():
        many = plural(count, "passage is", "passages are")
        yield Text(f"{many} in {language}, which is not heard yet", "yellow")


def draw_staged(claims: Sequence[Evidence]) -> RenderableType:
    if not claims:
        return Text("nothing waits to be normalised")
    lines = [line for one in claims for line in _evidence_lines(one)]
    return Group(*lines, Text("next: remloom profile normalise", "dim"))


def draw_normalised(result: NormaliseResult, *, dry_run: bool) -> RenderableType:
    rows = []
    for one in result.mappings:
        meaning = {
            "new": one.is_new,
            "says the same": one.is_reinforcement,
            "contradicts": one.is_contradiction,
        }
        marks = ", ".join(word for word, is_so in meaning.items() if is_so)
        rows.append((one.raw_key, one.field, _value(one.value), marks))
    lines: list[RenderableType] = [_counted(result.run, "nothing waits to be normalised")]
    if rows:
        lines.append(draw_table(("said of", "slot", "value", "which is"), rows))
    if dry_run:
        lines.append(Text("a dry run: nothing was written", "yellow"))
        return Group(*lines, *parked_view(result.failed))
    return Group(*lines, *_end_of_run(result.run), *parked_view(result.failed))


def draw_edited(belief: Belief, hint: str) -> RenderableType:
    return Group(belief_line(belief), Text(hint, "dim"))


def draw_imported(done: Imported) -> str:
    took = f"took in {plural(done.evidence, 'piece')} of evidence on {done.subject}"
    return f"{took}, {done.known:,} were there already"


def draw_subjects(names: Sequence[str]) -> str:
    return "\n".join(names) or "nobody is known yet: remloom profile scan"


def draw_slots(slots: Sequence[Slot], name: str | None = None) -> RenderableType:
    """Draw what can be known, a line each; the one that was named with all that is said of it."""
    if name:
        return _draw_slot(slots[0])
    rows = [(slot.id, slot.label, slot.kind, ", ".join(_rules(slot))) for slot in slots]
    return draw_table(("slot", "label", "kind", "rules"), rows)


def _draw_slot(slot: Slot) -> RenderableType:
    values = ", ".join(slot.values) + (", or another" if slot.values and slot.open else "")
    pairs = {
        "label": slot.label,
        "hub": slot.hub,
        "kind": slot.kind,
        "values": values,
        "also called": ", ".join(slot.aliases),
        "used for": slot.usage,
        "half-life": f"{slot.half_life:g} days",
        "rules": ", ".join(_rules(slot)),
        "to ask": slot.question,
    }
    named = [(name, Text(one_line(text))) for name, text in pairs.items() if text]
    return Group(Text(slot.id, "bold"), draw_pairs(named))


def _counted(run: Run, nothing: str) -> Text:
    counts = run.counts
    found = []
    for name, words in _COUNTS.items():
        one, _, many = words.partition("|")
        if counts.get(name):
            found.append(plural(counts[name], one, many or one))
    return Text(", ".join(found) or nothing)


def _end_of_run(run: Run) -> Iterator[Text]:
    if run.id and run.status == "stopped":
        yield Text(f"stopped: {run.reason}", "yellow")
    if any(run.counts.get(name) for name in ("evidence", "staged", "normalised")):
        yield Text(f"undo: remloom dream rollback {short_id(run.id)}", "dim")
        yield Text("next: remloom profile show", "dim")


class _Source:
    """Where something was said, on one line: what has no room is left out of its middle."""

    def __init__(self, source: str) -> None:
        self._text = short_source(source)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        size = cell_len(self._text)
        return Measurement(min(size, LEAST), min(size, max(options.max_width, 1)))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(middle_cut(self._text, options.max_width), "dim", no_wrap=True)


def _beliefs_table(beliefs: Sequence[Belief], ids: Mapping[str, str]) -> Table:
    has_scopes = any(belief.scope for belief in beliefs)
    columns = ["id", "what", "value", "confidence", "level", "since", "scope", "state", "source"]
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for column in columns:
        if column != "scope" or has_scopes:
            fixed = column in ("id", "confidence", "since")
            table.add_column(column, overflow="fold", no_wrap=fixed)
    before = ""
    for belief in beliefs:
        cells: list[RenderableType] = [
            Text(ids[belief.id], "cyan"),
            # the items of a list stand under one label
            Text("" if belief.label == before else one_line(belief.label)),
            Text(_values(belief), "bold"),
            _confidence(belief.confidence) if belief.holds else Text("ended", "dim"),
            Text(belief.level),
            Text(_day(belief.since)),
            *([Text(one_line(belief.scope))] if has_scopes else []),
            _states_text(belief),
            _Source(belief.citation),
        ]
        before = belief.label
        table.add_row(*cells)
    return table


def _confidence(confidence: float) -> Text:
    filled = round(confidence * BAR)
    style = "green" if confidence >= 0.8 else "yellow" if confidence >= 0.5 else "red"
    # nobody is certain of anything
    shown = min(99, max(1, round(confidence * 100)))
    return Text.assemble(("█" * filled, style), ("░" * (BAR - filled), "dim"), f" {shown:>2} %")


def _states(belief: Belief) -> list[str]:
    marks = {
        "may not hold" if belief.holds else "may hold still": belief.stale is not None,
        "was wrong": belief.was_wrong,
        f"retracted {_day(belief.retracted_at or belief.since)}": belief.retracted_at is not None,
        "hard": belief.hard,
        "pinned": belief.pinned,
        "hidden": belief.hidden,
    }
    return [belief.state, *(name for name, is_set in marks.items() if is_set)]


def _states_text(belief: Belief) -> Text:
    is_plain = belief.state == "current" and not belief.hidden and belief.stale is None
    style = "" if is_plain else "yellow"
    return Text(", ".join(_states(belief)), style)


def _values(belief: Belief) -> str:
    """Its value; of what could hurt also those of which any may hold, see `Belief.rivals`."""
    values = (belief.value, *(rival.value for rival in belief.rivals))
    return " or ".join(one_line(_value(value)) for value in values)


def _timeline(belief: Belief, end: datetime) -> Table:
    """The values of a belief under each other, each where it held, from the first to the end."""
    current = (belief.value, belief.since, belief.until, belief.was_wrong)
    spans = [(held.value, held.since, held.until, held.was_wrong) for held in belief.history]
    spans.append(current)
    spans += [(rival.value, rival.since, None, False) for rival in belief.rivals]
    start = min(since for _, since, _, _ in spans)
    length = max((end - start).total_seconds(), 1.0)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(overflow="fold")
    grid.add_column(no_wrap=True)
    grid.add_column(style="dim", no_wrap=True)
    for value, since, until, was_wrong in spans:
        first = int((since - start).total_seconds() / length * (TIMELINE - 1))
        last = int(((until or end) - start).total_seconds() / length * TIMELINE)
        cells = max(1, min(last, TIMELINE) - first)
        bar = Text(" " * first)
        bar.append("━" * cells + ("" if until else "▶"), "dim" if until else "green")
        period = f"{_day(since)} to {_day(until)}" if until else f"since {_day(since)}"
        period += ", was wrong" if was_wrong else ""
        grid.add_row(Text(one_line(_value(value)), "" if until else "bold"), bar, period)
    return grid


def _evidence_lines(evidence: Evidence) -> Iterator[Text]:
    sign, style = _SIGNS[evidence.polarity]
    value = "" if evidence.value == "" else one_line(_value(evidence.value))
    where = short_source(evidence.citation)
    how = ", ".join(
        word.replace("_", " ")
        for word in (evidence.source, evidence.signal, evidence.extractor)
        if word != evidence.citation
    )
    what = f"{evidence.slot or evidence.key}: {value}" if not evidence.slot else value
    yield Text.assemble(
        (f"  {sign} ", style),
        f"{_day(evidence.at)}  ",
        (what, "bold"),
        f" since {evidence.since}" if evidence.since else "",
        f"  {where}",
        (f"  {how}", "dim"),
    )
    for words in (evidence.quote, evidence.note):
        if words:
            yield Text(f"      “{one_line(words)}”", "italic")


def _rules(slot: Slot) -> list[str]:
    rules = {
        "user only": slot.user_only,
        "sensitive": slot.sensitive,
        "standing": slot.standing,
    }
    return [rule for rule, holds in rules.items() if holds]


def _value(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _day(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d}"
