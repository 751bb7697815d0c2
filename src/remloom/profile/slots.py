"""Slots: what can be known of a person, as a registry in a data file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct

from ..errors import UnknownNameError

__all__ = ["Hub", "Registry", "Slot", "registry"]

# preferences: how to behave; operating_context: what is feasible; soft_identity: who they are
Hub: TypeAlias = Literal["preferences", "operating_context", "soft_identity"]
Kind: TypeAlias = Literal["text", "choice", "list", "flag", "number"]
# behaviour: how every agent is to behave; context: facts that tasks need; soft: for examples, small
# talk and recommendations alone, never for tools, risk or security
Usage: TypeAlias = Literal["behaviour", "context", "soft"]


class Slot(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One thing that can be known of a person.

    Args:
        id: its path in its hub, such as "food_and_dining.dietary_style".
        hub: the hub that it is part of.
        label: what people read: "Diet".
        kind: text, choice (one of `values`), list (each item is believed by itself), flag, number.
        values: of a choice or list that is one of a few words; in their canonical form.
        open: whether a choice or list may have other values than `values`.
        synonyms: what else is said for a value: {"veggie": "vegetarian"}.
        aliases: what else the slot is called, where the end of its path is not enough.
        alternatives: how many values are likely beforehand, K of the filter; 0: the number of
            `values`, 2 for flags and lists, else 4.
        half_life: days after which half of what was known of it is gone.
        stability: class of slots whose changes are counted together: stable, medium or volatile.
        sensitive: health, religion, politics, …: only from the user, given only on request.
        user_only: only the user may set it: what is read never does.
        standing: given to every agent without a question.
        usage: for what it may be used.
        topics: words of questions that it helps to answer, besides its label and path.
        question: what to ask the user when it is not sure: "Are you still vegetarian?".
        default: what the seed assumes while nothing is known; shown as such, never as a belief.
    """

    id: str
    hub: Hub
    label: str
    kind: Kind = "text"
    values: tuple[str, ...] = ()
    open: bool = False
    synonyms: dict[str, str] = {}
    aliases: tuple[str, ...] = ()
    alternatives: int = 0
    half_life: float = 365.0
    stability: Literal["stable", "medium", "volatile"] = "medium"
    sensitive: bool = False
    user_only: bool = False
    standing: bool = False
    usage: Usage = "context"
    topics: tuple[str, ...] = ()
    question: str = ""
    default: str | int | float | bool | tuple[str, ...] | None = None


class Registry:
    """The slots that a memory knows: those of the data file, and the tenant's own."""

    def __init__(self, slots: tuple[Slot, ...]) -> None:
        self.slots = {slot.id: slot for slot in slots}

    def get(self, name: str) -> Slot:
        """Return the slot of this id, alias or end of a path.

        Raises:
            UnknownNameError: there is none; the remedy names what is most like it.
        """
        slot = self.slots.get(name)
        if slot is None:
            raise UnknownNameError("slot", name, tuple(self.slots))
        return slot


@cache
def registry() -> Registry:
    """The slots of the data file."""
    text = files(__package__).joinpath("slots.toml").read_text("utf-8")
    rows = msgspec.toml.decode(text, type=dict[str, list[Slot]])
    return Registry(tuple(rows["slot"]))
