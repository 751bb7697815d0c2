"""Items as records, and the addresses that their ids come from."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from langgraph.store.base import Item, SearchItem, TTLConfig

from ...errors import InvalidInputError, NotFoundError, RemloomError, StoreClosedError
from ...labels import join_path, storable
from ...memory import Memory
from ...model import Record, Resource
from ...predicates import And, Gte, Lt, Predicate
from .. import record_id

Namespace = tuple[str, ...]

MARK = "//"  # ends the namespace in an address: no label is empty
_SCHEME = "langgraph:"  # no other record has a name that begins so
_END = "0"  # follows the slash in the order of code points


class AddressRange(NamedTuple):
    """All addresses from `first` up to, but without, `end`."""

    first: str
    end: str

    @property
    def predicate(self) -> Predicate:
        """The condition that a record's name is in it: one range of an index."""
        return And((Gte("name", self.first), Lt("name", self.end)))

    def behind(self, name: str) -> AddressRange:
        """What of it follows the items that are in the namespace of this one."""
        path, mark, _ = name.partition(MARK)
        return AddressRange(f"{path}/{_END}" if mark else f"{name}\x01", self.end)


def address_of(namespace: Namespace, key: str) -> str:
    """The address of an item.

    Raises:
        InvalidInputError: the key or a label cannot be stored.

    >>> address_of(("users", "a/b"), "prefs"), address_of(("users",), "a/b/prefs")
    ('langgraph:/users/a%2Fb//prefs', 'langgraph:/users//a%2Fb%2Fprefs')
    """
    for text in (*namespace, key):
        if not isinstance(text, str) or not storable(text):
            raise InvalidInputError(
                f"{text!r:.80} is no key of an item",
                remedy="keys and labels of namespaces are text, without NUL characters and halves "
                "of characters",
            )
    return f"{_path_of(namespace)}/{join_path(key)}"


@lru_cache(maxsize=16_384)
def id_of(address: str) -> str:
    """The id of the record at an address: the same in every memory, and exact to the letter."""
    return record_id(address)


def namespace_range(prefix: Namespace) -> AddressRange:
    """The addresses of all items whose namespace begins so."""
    path = _path_of(prefix)
    return AddressRange(f"{path}/", f"{path}{_END}")


def items_range(namespace: Namespace) -> AddressRange:
    """The addresses of the items of a namespace, and of none below it."""
    path = _path_of(namespace)
    return AddressRange(f"{path}{MARK}", f"{path}/{_END}")


@lru_cache(maxsize=16_384)
def namespace_of(address: str) -> Namespace | None:
    """The namespace of an address; None if it is none.

    >>> namespace_of(address_of(("users", "a/b"), "prefs"))
    ('users', 'a/b')
    """
    path, mark, _ = address.removeprefix(f"{_SCHEME}/").partition(MARK)
    if not mark:
        return None
    return tuple(label.replace("%2F", "/").replace("%25", "%") for label in path.split("/"))


def _path_of(namespace: Namespace) -> str:
    return f"{_SCHEME}{join_path(*namespace)}"


CATEGORY = "item"


INTERVAL = 5.0  # minutes between two sweeps, where nothing else is said

_logger = logging.getLogger(__name__)


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
    """Read the item that a record is; None if it is not an item."""
    if not isinstance(record, Resource) or record.category != CATEGORY:
        return None
    # a caller that writes a resource of this category has another id for it
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


def time_after(minutes: float | None) -> datetime | None:
    """The time when what is put now expires; None: never.

    Raises:
        InvalidInputError: it is not a number of minutes.
    """
    if minutes is None:
        return None
    try:
        return datetime.now(UTC) + timedelta(minutes=minutes)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInputError(
            f"a ttl is a number of minutes, not {minutes!r}", remedy="ttl=60.0, or None for never"
        ) from error


def refresh(memory: Memory, ids: Iterable[str]) -> None:
    """Let the time of items begin again, of those that have one; several of one length at once."""
    by_length: dict[float, list[str]] = {}
    for id in dict.fromkeys(ids):
        try:
            minutes = memory.get_resource(id).metadata.get("ttl")
        except NotFoundError:
            # it has expired since it was read
            continue
        if minutes is not None:
            by_length.setdefault(minutes, []).append(id)
    for minutes, some in by_length.items():
        memory.admin.set_expiry(some, time_after(minutes))


class Sweeper:
    """A thread that erases what has expired, from time to time.

    What it erases is returned by nothing any more; without it, it only takes up room.

    Args:
        minutes: between two sweeps; default that of the configuration, or `INTERVAL`.
    """

    def __init__(self, memory: Memory, config: TTLConfig | None, minutes: float | None) -> None:
        interval = minutes or (config or {}).get("sweep_interval_minutes") or INTERVAL
        self._memory = memory
        self._seconds = interval * 60
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="remloom-sweeper", daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        return self._thread.is_alive()

    def stop(self, timeout: float | None = None) -> bool:
        """Stop after the sweep that is being done; whether it has stopped within the time."""
        self._stopped.set()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while not self._stopped.wait(self._seconds):
            try:
                self._memory.admin.sweep()
            except StoreClosedError:
                return
            except RemloomError as error:
                # the next sweep tries again
                _logger.warning("what has expired was not erased: %s", error)
