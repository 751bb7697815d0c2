"""Hooks: what features add to writing, forgetting and recall. The kernel imports none of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from msgspec import Struct

from ..kv import Entry
from ..store.contract import Reads
from ..store.forgetting.forget import Remake

if TYPE_CHECKING:
    from ..retrieve.options import RecallOptions


class Outdated(Struct, frozen=True):
    """What no longer holds of texts that were written with other words; it is deleted."""

    records: tuple[str, ...] = ()  # ids
    entries: tuple[tuple[str, str], ...] = ()  # namespace and key


class Known(Protocol):
    """What is known of the user, as text for a prompt."""

    @property
    def text(self) -> str: ...

    @property
    def safety_left_out(self) -> int:
        """How many things that could hurt had no room."""


class Preferences(Protocol):
    """What the user prefers, for one question."""

    def preferences(
        self, query: str, purpose: str = "", as_of: datetime | None = None
    ) -> dict[str, float]:
        """See `RecallOptions.preferences`."""

    def known(self, question: str, options: RecallOptions) -> Known:
        """What is known of the user that bears on the question, within a part of the budget."""


# Given what a transaction reads and the ids of resources that it writes with other words, or as
# somebody else's.
OnRewritten: TypeAlias = Callable[[Reads, Sequence[str]], Outdated]


# Given what a transaction reads and the ids of texts that stay, of which it says that they are
# replaced or amended, or rest on others.
OnDoubted: TypeAlias = Callable[[Reads, Sequence[str]], Sequence[Entry]]


class Hooks(Struct, frozen=True):
    """What features add. Without any, the kernel works by itself; what features made of texts that
    go is not made again then, so a store is opened with those that wrote it.

    Args:
        on_rewritten: says what no longer holds of a text that has other words now.
        on_doubted: gives entries to write where a text is replaced or amended, or rests on others.
        on_changed: remake what was made of records that go because their text was read again.
        on_forgotten: remake what was made of records that are forgotten.
        preferences: what the user prefers, of an `Engine`; None: recall knows of no user.
    """

    on_rewritten: tuple[OnRewritten, ...] = ()
    on_doubted: tuple[OnDoubted, ...] = ()
    on_changed: tuple[Remake, ...] = ()
    on_forgotten: tuple[Remake, ...] = ()
    preferences: Callable[[Any], Preferences] | None = None
