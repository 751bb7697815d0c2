"""A claim: something about a person that a passage says, before it is evidence."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from ... import labels
from ...errors import InvalidInputError, LabelError

Value: TypeAlias = str | int | float | bool
# for: it is so; against: it is not so; retire: it was so, and is no longer
Polarity: TypeAlias = Literal["for", "against", "retire"]
# how a person may say it; each has a reliability of its own
StatedSignal: TypeAlias = Literal[
    "explicit_preference",
    "implicit_behavior",
    "correction",
    "rejection",
    "acceptance",
    "context_signal",
]
Signal: TypeAlias = Literal[StatedSignal, "system_observation"]
# why a value holds no longer: it was so until then, or never was
Reason: TypeAlias = Literal["changed", "wrong"]
REASONS: tuple[Reason, ...] = ("changed", "wrong")


_KINDS = ("domain", "project", "session")
_LONGEST = 200  # characters


class Claim(Struct, frozen=True, kw_only=True):
    """What one passage says of a person.

    Args:
        key: the id of a slot, or any words for what it is about ("diet", "blood type"): these wait
            until they are normalised.
        value: as it was said; the slot gives it its canonical form.
        polarity: whether it is so, is not so, or is no longer so. A `retire` without a value ends
            whatever the slot held.
        signal: how it was said.
        scope: where it holds: empty is everywhere, else "domain:coding", "project:apollo" or
            "session:42".
        quote: the words that say it, exactly as they stand in the passage.
        span: where the quote begins and ends in the passage, in characters.
        since: from when on it is so, where the passage says so: "2021", "2021-03", "2021-03-14".
        confident: False for what only a hedge says ("I might …"); it counts less.
    """

    key: str
    value: Value = ""
    polarity: Polarity = "for"
    signal: Signal = "explicit_preference"
    scope: str = ""
    quote: str = ""
    span: tuple[int, int] = (0, 0)
    since: str = ""
    confident: bool = True


class FieldMapping(Struct, frozen=True, kw_only=True):
    """What a claim was taken for.

    Args:
        raw_key: what it was about, as it was found.
        field: the id of the slot.
        is_new: nothing was believed there.
        is_reinforcement: the same was believed.
        is_contradiction: something else was believed, or it says that this is not so.
        claim: the id of the claim.
    """

    raw_key: str
    field: str
    value: Value
    is_new: bool = False
    is_reinforcement: bool = False
    is_contradiction: bool = False
    subject: str
    scope: str = ""
    claim: str


def check_scope(scope: object) -> str:
    """Return a scope in its one form: empty, or "<kind>:<name>", where the name is a label's key.

    Raises:
        InvalidInputError: it is neither, or has more than 200 characters.

    >>> check_scope("project: Apollo Next "), check_scope("Domain:coding")
    ('project:apollo-next', 'domain:coding')
    """
    if not isinstance(scope, str):
        raise _no_scope(scope)
    if not scope.strip():
        return ""
    text = " ".join(scope.split())
    kind, _, name = text.partition(":")
    kind = kind.strip().casefold()
    if kind not in _KINDS or not text.isprintable() or len(scope) > _LONGEST:
        raise _no_scope(scope)
    try:
        return f"{kind}:{labels.key(name)}"
    except LabelError as error:
        raise _no_scope(scope) from error


def _no_scope(scope: object) -> InvalidInputError:
    return InvalidInputError(
        f"{str(scope)[:_LONGEST]!r} is not a scope",
        remedy='leave it empty, or give "domain:coding", "project:apollo" or "session:42"',
    )
