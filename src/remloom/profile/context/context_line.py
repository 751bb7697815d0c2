"""A line of a context: one thing that is known, quoted as data, with its source.

Whatever a value, a scope or a name of a file is, it stays within its line and within its quotes.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from itertools import groupby
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ...text.quoting import one_line, unquoted
from ...text.secrets import mask
from ..beliefs.belief import Belief
from ..beliefs.profile import Change
from ..evidence.claim import Value
from ..slots.slot import OWN_WORDS, Slot

# standing: given whatever is asked; relevant: what the query is about; changed: lately; unsure: to
# be asked
Part: TypeAlias = Literal["standing", "relevant", "changed", "unsure"]

_LONGEST_VALUE = 200  # characters
_LONGEST_CITATION = 120
_COLON = ": "  # after a label, which has no colon
_BRACKETS = str.maketrans({"[": "(", "]": ")"})
_HINTED = "perhaps"  # of what could hurt, and nobody said outright
# of a passage that says it, or that it ended, by the reason of `Stale`
_PASSAGES = {"replaced": "was replaced", "amended": "was amended", "expired": "has expired"}
_CERTAINTIES = ((0.9, "sure"), (0.7, "likely"), (0.5, "perhaps"))


class ContextLine(Struct, frozen=True, kw_only=True):
    """One thing that is known.

    Args:
        part: of the context that it stands in.
        slot: the id of its slot.
        value: as it is known; in `text` it may be shortened or masked. None: none holds now.
        scope: where it holds; empty is everywhere.
        since: when it began to be so, or ended.
        confidence: in a word: certain (set by the user), sure, likely, perhaps, unsure.
        citation: of what says so, such as "chat.json:12"; empty for what the user set by hand.
        text: the line, with its end, as it is without others on it.
    """

    part: Part
    slot: str
    value: Value | None
    scope: str = ""
    since: datetime
    confidence: str
    citation: str = ""
    text: str


def line_of_belief(belief: Belief, part: Part, *, could_hurt: bool = False) -> ContextLine:
    """The line of what holds; if it could hurt, what speaks against it has not ended it."""
    if belief.slot.startswith(OWN_WORDS):
        # the words tell what they are of
        text = shown_value(belief.label, belief.value)
        said = f"said {_day(belief.checked_at)}"
        return _line(belief, part, text, said, _doubt(belief), _retracted(belief))
    return _line(
        belief,
        part,
        _labelled(belief),
        f"since {_day(belief.since)}",
        certainty(belief),
        doubt_of_safety(belief) if could_hurt else _doubt(belief),
        _retracted(belief),
        _before(belief),
    )


def short_line_of_safety(belief: Belief) -> ContextLine:
    """The line of what could hurt, without all that is not needed; see `on_shared_lines`."""
    text = _labelled(belief)
    notes = _joined(belief, doubt_of_safety(belief, is_short=True))
    line = _line(belief, "standing", text)
    return replace(line, text=f"- {text} ({notes})\n" if notes else f"- {text}\n")


def on_shared_lines(lines: Iterable[ContextLine]) -> str:
    """Write short lines as one a slot; the lines of a slot follow one another."""
    text = ""
    for _, some in groupby(lines, key=lambda line: line.slot):
        first, *others = some
        text += first.text.rstrip("\n") + "".join(map(quoted_on, others)) + "\n"
    return text


def quoted_on(line: ContextLine) -> str:
    """What a short line adds to the one before, of the same slot."""
    return f", {line.text.rstrip().partition(_COLON)[2]}"


def line_of_question(belief: Belief, slot: Slot) -> ContextLine:
    """The line of what may no longer hold, with what to ask; the question is for the user alone."""
    doubt = doubt_of_safety(belief) if slot.is_safety else _doubt(belief)
    question = clean(slot.question) if belief.subject == "me" else ""
    end = f' ask: "{question}"' if question else ""
    since = f"since {_day(belief.since)}"
    return _line(belief, "unsure", _labelled(belief), since, "unsure", doubt, end=end)


def line_of_change(belief: Belief, change: Change) -> ContextLine:
    before = shown_value(belief.label, change.before if change.before is not None else "")
    after = "never so" if change.was_wrong else "no longer so"
    if change.after is not None:
        after = shown_value(belief.label, change.after)
    first = "set right" if change.was_wrong else "before"
    text = f"{_label(belief.label)}: {first}: {before} → {after}"
    changed = replace(belief, since=change.at, citation=change.citation)
    notes = f"on {_day(change.at)}", doubt_of_passage(belief)
    return replace(_line(changed, "changed", text, *notes), value=change.after)


def line_of_end(belief: Belief) -> ContextLine:
    """The line of what held last, where nothing holds now."""
    until = belief.until or belief.since
    ended_how = "never so, set right" if belief.was_wrong else "no longer so, before"
    value = shown_value(belief.label, belief.value)
    text = f"{_label(belief.label)}: {ended_how}: {value}"
    ended = replace(belief, since=until, citation=belief.ended_by or belief.citation)
    notes = f"until {_day(until)}", doubt_of_passage(belief)
    return replace(_line(ended, "relevant", text, *notes), value=None)


def certainty(belief: Belief) -> str:
    if belief.hard or (belief.authority == "edit" and belief.state == "current"):
        return "certain"
    for least, word in _CERTAINTIES:
        if belief.confidence >= least:
            return word
    return "unsure"


def shown_value(label: str, value: Value) -> str:
    """A value as a line shows it: one line, in quotes that it cannot close, without secrets."""
    if isinstance(value, bool):
        return '"yes"' if value else '"no"'
    if isinstance(value, int | float):
        return f'"{value}"'
    text = clean(value)
    head = f"{clean(label)}: "
    # what a secret is called is a part of how it is known
    masked, found = mask(head + text)
    if found:
        text = masked[len(head) :] if masked.startswith(head) else "[secret]"
    if len(text) > _LONGEST_VALUE:
        text = text[: _LONGEST_VALUE - 1] + "…"
    return f'"{text}"'


def clean(text: str) -> str:
    """A text on one line, without quotes, signs that control, or such as nobody sees."""
    # what is far beyond what is shown needs no cleaning; secrets may reach over the end
    return unquoted(one_line(text[: 8 * _LONGEST_VALUE], 0))


def _line(belief: Belief, part: Part, text: str, *notes: str, end: str = "") -> ContextLine:
    return ContextLine(
        part=part,
        slot=belief.slot,
        value=belief.value,
        scope=belief.scope,
        since=belief.since,
        confidence=certainty(belief),
        citation=belief.citation,
        text=f"- {text} ({_joined(belief, *notes)}){_cited(belief.citation)}{end}\n",
    )


def _cited(citation: str) -> str:
    if not citation:
        return ""
    text = mask(clean(citation).translate(_BRACKETS))[0]
    # the end has the line
    return f" [{text[-_LONGEST_CITATION:]}]"


def _label(label: str) -> str:
    return mask(clean(label))[0][:_LONGEST_VALUE].replace(":", " ")


def _labelled(belief: Belief) -> str:
    return f"{_label(belief.label)}{_COLON}{shown_value(belief.label, belief.value)}"


def _joined(belief: Belief, *notes: str) -> str:
    scope = f'in "{mask(clean(belief.scope))[0][:_LONGEST_VALUE]}"' if belief.scope else ""
    return ", ".join(filter(None, (scope, *notes)))


def doubt_of_safety(belief: Belief, *, is_short: bool = False) -> str:
    """What speaks against something that could hurt, and was not settled by hand; or nothing."""
    if belief.rivals:
        values = ", ".join(shown_value(belief.label, rival.value) for rival in belief.rivals)
        return f"or {values}: {'ask' if is_short else 'the user has to say which'}"
    if (doubt := doubt_of_passage(belief)) and belief.holds:
        return f"{doubt}: {'ask' if is_short else 'the user has to confirm that'}"
    if belief.state == "disputed":
        return f"may be over: {'ask' if is_short else 'the user has to confirm that'}"
    if belief.is_hint:
        return _HINTED
    return "" if is_short else _doubt(belief)


def doubt_of_passage(belief: Belief) -> str:
    """That what says it, or that it ended, says something else by now; or nothing."""
    stale = belief.stale
    if stale is None:
        return ""
    what = "may not hold any more" if belief.holds else "may hold still"
    since = f", since {_day(stale.at)}" if stale.at else ""
    return f"{what}, what said so {_PASSAGES.get(stale.reason, 'rests on what changed')}{since}"


def _doubt(belief: Belief) -> str:
    if doubt := doubt_of_passage(belief):
        return doubt
    if belief.state == "disputed":
        return "disputed"
    return f"last heard {_day(belief.checked_at)}" if belief.state == "stale" else ""


def _retracted(belief: Belief) -> str:
    at = belief.retracted_at
    return f"retracted {_day(at)}: never so" if at is not None else ""


def _before(belief: Belief) -> str:
    was = [held for held in belief.history if not held.was_wrong]
    last = was[-1] if was else None
    if last is None or last.value == belief.value:
        return ""
    return f"before: {shown_value(belief.label, last.value)}"


def _day(at: datetime) -> str:
    return at.date().isoformat()
