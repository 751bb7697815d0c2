"""Items as records: what LangGraph puts is a resource, and reads back as it was put."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from langgraph.store.base import Item, SearchItem

from ...errors import InvalidInputError
from ...model import Record, Resource
from .address import Namespace, address_of, id_of
from .expiry import time_after

CATEGORY = "item"


def resource_of(
    namespace: Namespace,
    key: str,
    value: Mapping[str, Any],
    *,
    content: str,
    embedding: list[Any] | None,
    ttl: float | None = None,
) -> Resource:
    """Make the record of an item.

    Args:
        content: what is searched of it; empty: nothing.
        embedding: the vectors of its texts; None: the memory's embedder makes them.
        ttl: minutes after which it expires; None: never.
    """
    if not isinstance(value, Mapping):
        raise InvalidInputError(
            f"a value is an object, not a {type(value).__name__}", remedy='put {"value": …}'
        )
    address = address_of(namespace, key)
    metadata: dict[str, Any] = {"namespace": list(namespace), "key": key, "value": dict(value)}
    if ttl is not None:
        metadata["ttl"] = ttl
    return Resource(
        id=id_of(address),
        name=address,
        content=content,
        category=CATEGORY,
        kind="memory",
        trust="told",
        metadata=metadata,
        embedding=embedding or None,
        expires_at=time_after(ttl),
    )


def item_of(record: Record) -> Item | None:
    """Read the item that a record is; None if it is no item."""
    if not isinstance(record, Resource) or record.category != CATEGORY:
        return None
    # whoever writes a resource of this category has another id for it
    if record.id != id_of(record.name):
        return None
    metadata = record.metadata
    return Item(
        namespace=tuple(metadata["namespace"]),
        key=metadata["key"],
        value=metadata["value"],
        created_at=_time_of(record.created_at),
        updated_at=_time_of(record.updated_at),
    )


def scored(item: Item, score: float | None = None) -> SearchItem:
    """Show an item as one that was found."""
    return SearchItem(
        namespace=item.namespace,
        key=item.key,
        value=item.value,
        created_at=item.created_at,
        updated_at=item.updated_at,
        score=score,
    )


def as_text(value: Mapping[str, Any]) -> str:
    """Write a value as lines for people, models and search: where something is, and what.

    >>> print(as_text({"name": "Ada", "likes": ["tea", "maths"], "home": {"city": "London"}}))
    name: Ada
    likes: tea
    likes: maths
    home.city: London
    """
    return "\n".join(_lines("", value))


def _lines(path: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _lines(f"{path}.{name}" if path else str(name), part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _lines(path, part)
    elif value is not None and value != "":
        yield f"{path}: {value}"


def _time_of(at: datetime | None) -> datetime:
    # a stored record has its times
    assert at is not None  # noqa: S101
    return at
