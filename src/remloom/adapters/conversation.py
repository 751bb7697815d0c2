"""A conversation of any framework, item for item, as resources of a memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import msgspec

from ..errors import ChangedError, InvalidInputError, NotFoundError
from ..memory import Memory
from ..model import Edge, Resource, edge_types
from ..predicates import Eq, Query
from . import record_id

__all__ = ["Conversation", "MessageReader"]

# of an item: who said it, and the words; without words, nothing is found by it
MessageReader = Callable[[Any], tuple[str, str]]

_BEFORE = 8  # items before new ones among which the last that was said is looked for
_CONTEXT = 400  # characters of the words before that are part of a turn's context


class Conversation:
    """The items of one conversation, in the order in which they were added, by whichever process.

    An item is any JSON and comes back as it was. It is a resource with its position as `ordinal`.
    What was said is a turn of the chat `<kind>:<name>`, and found as such; anything else is kept
    beside it, under `<kind>:<name>#unsaid`. Several threads and processes may add and take at once.

    Args:
        kind: of conversations: one word for a framework.
        name: of the conversation, exact; in its uri, percent-encoded.
    """

    def __init__(self, memory: Memory, kind: str, name: str, message_of: MessageReader) -> None:
        self._memory = memory
        self._message_of = message_of
        encoded = quote(name, safe="", errors="surrogatepass")
        self._title = f"Session {encoded}"
        # no name has a number sign in it any more
        self._uri = f"{kind}:{encoded}"
        self._unsaid_uri = f"{self._uri}#unsaid"

    def items(self, limit: int | None = None) -> list[Any]:
        return [_item_of(stored) for stored in self._stored(limit)]

    def add(self, items: Iterable[Any]) -> None:
        """Add items at the end, all or none.

        Raises:
            InvalidInputError: an item is not JSON.
        """
        encoded = [(item, _encode(item)) for item in items]
        while encoded:
            before = self._stored(_BEFORE)
            ordinal = before[-1].ordinal + 1 if before else 0
            turns = [resource for resource in before if resource.speaker]
            records = self._records(encoded, ordinal, turns[-1] if turns else None)
            expected: dict[str, int | None] = {
                record.id: None for record in records if isinstance(record, Resource)
            }
            if turns:
                # the first new turn follows it
                expected[turns[-1].id] = turns[-1].revision
            try:
                self._memory.write(records, expected=expected)
            except ChangedError:
                # somebody else was quicker: that much went on, so this ends
                continue
            return

    def replace(self, items: Iterable[Any]) -> None:
        """Put items in the place of those that are there; these go last, so nothing is lost."""
        before = self._stored(None)
        self.add(items)
        self._forget(before)

    def pop(self) -> Any:
        while stored := self._stored(1):
            if self._forget(stored):
                return _item_of(stored[0])
        return None

    def remove(self, position: int) -> Any:
        """Take the item at a position away and return it; None when there is none."""
        stored = self._stored(None)
        if not 0 <= position < len(stored):
            return None
        taken = stored[position : position + 1]
        return _item_of(taken[0]) if self._forget(taken) else None

    def clear(self) -> list[Any]:
        stored = self._stored(None)
        gone = set(self._forget(stored))
        return [_item_of(resource) for resource in stored if resource.id in gone]

    def _forget(self, stored: Sequence[Resource]) -> tuple[str, ...]:
        """Forget resources; gives the ids of those that nobody else had forgotten meanwhile."""
        if not stored:
            return ()
        try:
            return self._memory.forget(*(resource.id for resource in stored), by="id").ids
        except NotFoundError:
            # it names one; the others are still to go
            left = {resource.id for resource in self._stored(None)}
            return self._forget([resource for resource in stored if resource.id in left])

    def _stored(self, limit: int | None) -> list[Resource]:
        """The resources of the latest items, oldest first, as they were at one moment."""
        if limit == 0:
            return []
        while True:
            unsaid = self._latest(self._unsaid_uri, limit)
            turns = self._latest(self._uri, limit)
            # else something was added or taken between the two
            if self._latest(self._unsaid_uri, 1) == unsaid[:1]:
                break
        merged = sorted((*turns, *unsaid), key=lambda resource: resource.ordinal)
        return merged if limit is None else merged[-limit:]

    def _latest(self, uri: str, limit: int | None) -> list[Resource]:
        """The resources of one uri, latest first: of one, the index of the store has the order."""
        query = Query().filter(Eq("uri", uri)).order_by("ordinal", "desc")
        return self._memory.query_resources(query if limit is None else query.limit(limit))

    def _records(
        self, encoded: Sequence[tuple[Any, str]], ordinal: int, previous: Resource | None
    ) -> list[Resource | Edge]:
        """The resources of new items, and the edges along which turns follow each other."""
        records: list[Resource | Edge] = []
        now = datetime.now(UTC)
        for position, (item, text) in enumerate(encoded, ordinal):
            resource = self._resource(item, text, position, now, previous)
            records.append(resource)
            if not resource.speaker:
                continue
            if previous is not None:
                records.append(
                    Edge(src=previous.name, rel_type=edge_types.NEXT.name, dst=resource.name)
                )
            previous = resource
        return records

    def _resource(
        self, item: Any, text: str, position: int, now: datetime, previous: Resource | None
    ) -> Resource:
        speaker, words = self._message_of(item)
        resource = Resource(
            id=record_id(self._uri, position),
            name=f"{self._title} #{position + 1}",
            category="chat",
            uri=self._unsaid_uri,
            ordinal=position,
            starts_at=now,
            metadata={"title": self._title, "item": text},
        )
        if not words:
            return resource
        before = previous.content[-_CONTEXT:] if previous else ""
        return msgspec.structs.replace(
            resource,
            content=words.replace("\0", "").encode(errors="replace").decode(),
            context=f"{speaker}\n{before}",
            uri=self._uri,
            metadata={**resource.metadata, "speaker": speaker},
        )


def _encode(item: Any) -> str:
    """Write an item as JSON, every character of its texts included."""
    try:
        text = json.dumps(item, ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError:
        # halves of surrogate pairs, which no store takes as they are
        return json.dumps(item)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"an item of a conversation is not JSON: {error}", remedy="add objects, lists and texts"
        ) from error
    return text


def _item_of(resource: Resource) -> Any:
    return json.loads(resource.metadata["item"])
