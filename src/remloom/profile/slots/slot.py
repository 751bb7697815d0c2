"""A slot: one thing that can be known of a person, and how it is treated."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import force_setattr

# preferences: how to behave; operating_context: what is feasible; soft_identity: who they are
Hub: TypeAlias = Literal["preferences", "operating_context", "soft_identity"]
Kind: TypeAlias = Literal["text", "choice", "list", "flag", "number"]
# behaviour: how every agent is to behave; context: facts that tasks need; soft: for examples, small
# talk and recommendations alone, never for tools, risk or security
Usage: TypeAlias = Literal["behaviour", "context", "soft"]
# classes of slots whose changes are counted together, by half-life: to 120 days, below 1000, beyond
Stability: TypeAlias = Literal["volatile", "medium", "stable"]

# where what no slot is for is kept: "extras.fav_team"
EXTRAS = "extras."
# where sentences are kept as they were said
OWN_WORDS = "own_words."

_VOLATILE, _STABLE = 120, 1000  # days
_USUAL_ALTERNATIVES = 4  # values that a slot of any text is likely to have


class Slot(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that can be known of a person.

    Args:
        id: its path in its hub, such as "food_and_dining.dietary_style".
        hub: the hub that it is part of.
        label: what people read: "Diet".
        kind: text, choice (one of `values`), list (each item is believed by itself), flag, number.
        values: of a choice or list that is one of a few words; in their canonical form.
        open: whether a choice or list may have other values than `values`. One without any may.
        verbatim: whether the items of a list are sentences as they were said, never parted.
        synonyms: what else is said for a value: {"veggie": "vegetarian"}.
        aliases: what else the slot is called, where the end of its path is not enough.
        alternatives: how many values are likely beforehand; 0: see `cardinality`.
        half_life: days after which half of what was known of it is gone.
        sensitive: health, religion, politics, …: only what the user said, never inferred, and given
            only when asked for, or always if it is `standing` (an allergy).
        user_only: only the user may set it: what is read never does.
        standing: given to every agent without a question.
        usage: for what it may be used.
        topics: words of questions that it helps to answer, besides its label and path.
        question: what to ask the user when it is not sure: "Are you vegetarian?".
        default: what is assumed while nothing is known; shown as such, never as a belief.
    """

    id: str
    hub: Hub
    label: str
    kind: Kind = "text"
    values: tuple[str, ...] = ()
    open: bool = False
    verbatim: bool = False
    synonyms: dict[str, str] = {}
    aliases: tuple[str, ...] = ()
    alternatives: int = 0
    half_life: float = 365.0
    sensitive: bool = False
    user_only: bool = False
    standing: bool = False
    usage: Usage = "context"
    topics: tuple[str, ...] = ()
    question: str = ""
    default: str | int | float | bool | tuple[str, ...] | None = None
    # slots that were stored or exported before it followed from the half-life have it: not kept
    _stored_stability: str | UnsetType = field(default=UNSET, name="stability")

    def __post_init__(self) -> None:
        force_setattr(self, "_stored_stability", UNSET)

    @property
    def cardinality(self) -> int:
        """How many values are likely beforehand, K of the filter.

        `alternatives` where it is given; 2 for flags and the items of lists, which hold or do not;
        the number of `values`; else 4.
        """
        if self.alternatives:
            return self.alternatives
        if self.kind in ("flag", "list"):
            return 2
        return max(2, len(self.values)) if self.values else _USUAL_ALTERNATIVES

    @property
    def stability(self) -> Stability:
        if self.half_life <= _VOLATILE:
            return "volatile"
        return "medium" if self.half_life < _STABLE else "stable"

    @property
    def is_safety(self) -> bool:
        """Whether not to know it could hurt: allergies, conditions, medication."""
        return self.standing and self.sensitive

    @property
    def is_personal(self) -> bool:
        """Whether it tells who somebody is; what they are to be called does not."""
        return self.hub == "soft_identity" and (self.sensitive or not self.standing)

    @property
    def is_extra(self) -> bool:
        return self.id.startswith(EXTRAS)
