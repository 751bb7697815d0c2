"""A claim: something about a person that a passage says, before it is evidence."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

Value: TypeAlias = str | int | float | bool
# for: it is so; against: it is not so; retire: it was so, and is no longer
Polarity: TypeAlias = Literal["for", "against", "retire"]
# how the passage says it; each has a reliability of its own
Signal: TypeAlias = Literal[
    "explicit_preference",
    "implicit_behavior",
    "correction",
    "rejection",
    "acceptance",
    "context_signal",
    "system_observation",
]


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
