"""Sessions of the OpenAI Agents SDK in a memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import MissingExtraError
from ..memory import Memory
from ..sources.entries import words
from .conversation import Conversation

try:
    from agents.memory import SessionSettings
    from agents.memory.session_settings import coerce_session_settings, resolve_session_limit
except ImportError as error:
    raise MissingExtraError("a session of the OpenAI Agents SDK", "openai-agents") from error

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

__all__ = ["RemloomSession"]


_T = TypeVar("_T")

_ROLES = ("user", "assistant")


class RemloomSession:
    """A `Session` of the OpenAI Agents SDK, kept in a memory.

    Every item comes back as it was, in the order in which it was added, by whichever thread or
    process. What the user and the agent said is found by `recall`; calls of tools, their output and
    reasoning are kept, and not found. What is popped or cleared is forgotten.

    Args:
        session_id: two sessions are one if their ids are equal, character for character.
        memory: where the items go; it is not closed here.
        session_settings: as of the SDK's own sessions: `limit`, of items that a run is given.
        user: who speaks where the SDK says "user": a name by which recall can tell users apart.
    """

    session_settings: SessionSettings | None

    def __init__(
        self,
        session_id: str,
        memory: Memory,
        *,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        user: str = "user",
    ) -> None:
        self.session_id = session_id
        self.session_settings = coerce_session_settings(session_settings or {})
        self._user = user
        self._conversation = Conversation(memory, "openai-agents", session_id, self._said)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """List the items, oldest first.

        Args:
            limit: the latest so many; default that of `session_settings`; below 0, all.
        """
        most = resolve_session_limit(limit, self.session_settings)
        if most is not None and most < 0:
            most = None
        return await asyncio.to_thread(self._conversation.items, most)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items at the end, all or none; they are on disk when it returns.

        Raises:
            InvalidInputError: an item is not JSON.
        """
        await _finished(self._conversation.add, items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Forget the last item and return it; None when there is none."""
        item: TResponseInputItem | None = await _finished(self._conversation.pop)
        return item

    async def clear_session(self) -> None:
        """Forget all items of this session."""
        await _finished(self._conversation.clear)

    def _said(self, item: Any) -> tuple[str, str]:
        """Who said an item, and the words; none when it is nothing that was said."""
        if not isinstance(item, dict) or item.get("type", "message") != "message":
            return "", ""
        role = item.get("role")
        if role not in _ROLES:
            return "", ""
        return self._user if role == "user" else role, words(item.get("content"))


async def _finished(change: Callable[..., _T], *arguments: Any) -> _T:
    """Run a change in a thread; who cancels it waits until it is made, and may rely on it."""
    task = asyncio.create_task(asyncio.to_thread(change, *arguments))
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        # seen, so that asyncio does not report it as lost
        task.exception()
        raise cancelled
    return task.result()
