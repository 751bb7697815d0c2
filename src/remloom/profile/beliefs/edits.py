"""What the user says of their profile by hand; nothing that is read outweighs it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec
from msgspec import Struct

from ...errors import InvalidInputError
from ...kv import Entry
from ...store.rules.record_ids import new_id
from ...text.secrets import mask
from ..evidence.claim import Polarity, Signal, Value
from ..evidence.evidence import BY_HAND, Authority, Evidence
from ..evidence.masking import is_only_secret
from ..slots.slot import Slot
from .belief import Belief, Piece
from .belief_store import MARK, Mark
from .reliability import Outcome

OUTCOME = "profile.outcome"  # namespace of the entries: was what was believed right?


class _EditKind(Struct, frozen=True):
    polarity: Polarity
    signal: Signal
    authority: Authority


KINDS = {
    "set": _EditKind("for", "explicit_preference", "edit"),
    "confirm": _EditKind("for", "acceptance", "confirmed"),
    "correct": _EditKind("for", "correction", "edit"),
    "reject": _EditKind("against", "rejection", "edit"),
    "retire": _EditKind("retire", "correction", "edit"),
}


def edit(
    kind: str,
    slot: Slot,
    value: Value,
    *,
    subject: str,
    scope: str,
    at: datetime,
    made_at: datetime,
    hard: bool = False,
    note: str = "",
) -> Evidence:
    """The evidence that an edit is.

    Args:
        kind: of `KINDS`.
        at, made_at: when it was so, and when the user says so.
        note: why, in the user's words.

    Raises:
        InvalidInputError: the value is a secret, such as a password.
    """
    how = KINDS[kind]
    shown = mask(value)[0] if isinstance(value, str) else value
    if is_only_secret(shown):
        raise InvalidInputError(
            f"the value for {slot.label} is a secret: {shown}",
            remedy="a profile is shown to agents; keep secrets in a password manager",
        )
    return Evidence(
        id=new_id(),
        subject=subject,
        slot=slot.id,
        key=slot.id,
        value=shown,
        polarity=how.polarity,
        signal=how.signal,
        authority=how.authority,
        source="edit",
        extractor="user",
        scope=scope,
        citation=f"{kind} by hand",
        at=at,
        made_at=made_at if made_at != at else None,
        # confirming it three times on a day makes it no surer than once
        group=f"edit {at:%Y-%m-%d}",
        hard=hard,
        note=mask(note)[0],
    )


def mark_entry(belief: str, mark: Mark) -> Entry:
    """The entry of what the user decided about a belief."""
    return Entry(MARK, belief, msgspec.json.encode(mark))


def outcome_entries(
    belief: Belief, pieces: Sequence[Piece], *, right: bool, at: datetime
) -> list[Entry]:
    """The entries that say whether what was believed was right, one for each kind of its sources.

    They have no words of anybody, and stay when the evidence goes: reliabilities are learned from
    them.
    """
    kinds = {
        (one.source, one.signal, one.extractor, one.confident)
        for one in pieces
        if one.polarity == "for" and one.authority not in BY_HAND
    }
    entries = []
    for source, signal, extractor, confident in sorted(kinds):
        outcome = Outcome(
            source=source,
            signal=signal,
            extractor=extractor,
            confidence=belief.probability,
            confident=confident,
            right=right,
            at=at,
        )
        entries.append(Entry(OUTCOME, new_id(), msgspec.json.encode(outcome)))
    return entries
