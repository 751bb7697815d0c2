"""Writes that are sent twice and done once: a client says which are the same by a key of its own.

The reply of a write is kept for a day in the tenant's own store, as encrypted as its records. One
of ids alone goes when one of these is forgotten; any other may tell of what is forgotten by another
name, and goes with whatever is forgotten. That the write was done is known all the same.
"""

from __future__ import annotations

import hashlib
import os
import re
import socket
import time
from collections.abc import Callable
from functools import cache, partial
from threading import Lock
from typing import Any
from uuid import NAMESPACE_URL, uuid4, uuid5

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..errors import ConflictError, GoneError, InvalidInputError
from ..kv import Entry, KeyValue
from ..memory.memory import Memory
from ..model import Message, Moment
from ..model.reports import WriteReport
from ..operations import Operation
from ..store.forgetting.forget import ANY_FORGETTING
from .caller import Caller

NAMESPACE = "replies"
BODIES = "reply_bodies"
KEPT = 24 * 3600.0  # seconds
STALE = 120.0  # seconds after which a write of another process is taken for broken off
LONGEST_KEY = 255  # characters
PRUNED = 3600.0  # seconds between two times that old replies of a tenant are dropped
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


@cache
def _machine() -> str:
    """Say where process ids are those of this process: a container counts its own from 1."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return f"{socket.gethostname()}/{namespace}"


@cache
def _process() -> str:
    return f"{_machine()}#{os.getpid()}-{uuid4().hex}"


class Kept(Struct, frozen=True, kw_only=True):
    """A reply as it is kept."""

    # a hash of what was asked, which nobody can guess at who does not know the client's key
    request: str
    process: str  # that works at it, or did: place#pid-token
    at: float  # seconds since 1970
    done: bool = False
    has_body: bool = False
    body: bytes = b""  # JSON; kept in an entry of its own
    records: Any = ()  # what names them, for the audit log: the value, or ids; never stored
    is_repeated: bool = False  # it was done before


class Replies:
    """Does writes once for each key, and repeats their replies."""

    def __init__(self) -> None:
        self._working: set[tuple[str, str]] = set()
        self._pruned: dict[str, float] = {}
        self._lock = Lock()

    def once(
        self, operation: Operation, caller: Caller, key: str, *, manner: str = ""
    ) -> Operation:
        """Give an operation that does its work once for a key of a caller, and returns a `Kept`.

        What failed is not kept: it may be tried again.

        Args:
            manner: of those in which it can be asked for, where their replies differ.

        Raises (the operation):
            InvalidInputError: the key was given with another request.
            ConflictError: the same is being done just now.
            GoneError: it was done, and what it answered was forgotten.
        """
        if not 0 < len(key) <= LONGEST_KEY or not key.isprintable():
            raise InvalidInputError(
                "this is no Idempotency-Key",
                remedy=f"give 1 to {LONGEST_KEY} printable characters, new for each write",
            )
        name = hashlib.sha256(f"{caller.key_id}\0{key}".encode()).hexdigest()

        def does(memory: Memory, values: Any, progress: Any) -> Kept:
            request = f"{key}\0{operation.name}\0{manner}\0".encode() + msgspec.json.encode(values)
            new = Kept(
                request=hashlib.sha256(request).hexdigest(), process=_process(), at=time.time()
            )
            return self._once(memory, name, new, partial(operation.does, memory), values, progress)

        return replace(operation, does=does)

    def _once(
        self,
        memory: Memory,
        name: str,
        new: Kept,
        does: Callable[[Any, Any], Any],
        values: Any,
        progress: Any,
    ) -> Kept:
        kv = memory.admin.store.kv
        call = (memory.admin.tenant, name)
        with self._lock:
            if call in self._working:
                raise _going_on()
            self._working.add(call)
        try:
            known = _begin(kv, name, new)
            if known is not None:
                return known
            self._prune(memory.admin.tenant, kv)
            try:
                # what has no id gets the same one when a write that was killed is done again
                value = does(_with_ids(values, name), progress)
            except BaseException:
                kv.put([], deleted=[(NAMESPACE, name)])
                raise
            done = replace(new, done=True, has_body=value is not None)
            entries = [Entry(NAMESPACE, name, msgspec.json.encode(done))]
            body = msgspec.json.encode(value) if done.has_body else b""
            if body:
                entries.append(Entry(BODIES, name, body, _refs(value)))
            kv.put(entries)
            return replace(done, body=body, records=value)
        finally:
            with self._lock:
                self._working.discard(call)

    def _prune(self, tenant: str, kv: KeyValue) -> None:
        if time.monotonic() - self._pruned.get(tenant, -PRUNED) < PRUNED:
            return
        self._pruned[tenant] = time.monotonic()
        old = [
            (namespace, entry.key)
            for entry in kv.list(NAMESPACE)
            for namespace in (NAMESPACE, BODIES)
            if msgspec.json.decode(entry.value, type=Kept).at < time.time() - KEPT
        ]
        if old:
            kv.put([], deleted=old)


def may_be_kept(operation: Operation) -> bool:
    """Whether replies of an operation are kept: those of writes, but never one with a secret."""
    return operation.needs == "memory" and not operation.hints.read_only and not operation.carries


def _begin(kv: KeyValue, name: str, new: Kept) -> Kept | None:
    """Note that a write begins; give its reply if it is done already."""
    stored = kv.get(NAMESPACE, name)
    if stored is not None:
        known = msgspec.json.decode(stored.value, type=Kept)
        if known.at < new.at - KEPT:
            known = replace(new, process="", at=0.0)
        if known.request != new.request:
            raise InvalidInputError(
                "this Idempotency-Key was given with another request",
                remedy="take a new key for each write",
            )
        if known.done:
            return _with_body(kv, name, known)
        if _is_going_on(known):
            raise _going_on()
    version = stored.version if stored is not None else 0
    try:
        kv.put([Entry(NAMESPACE, name, msgspec.json.encode(new))], expected_version=version)
    except ConflictError:
        raise _going_on() from None
    return None


def _with_body(kv: KeyValue, name: str, known: Kept) -> Kept:
    body = kv.get(BODIES, name) if known.has_body else None
    if known.has_body and body is None:
        raise GoneError(
            "this write was done, and something was forgotten since: its reply is not kept",
            remedy="do not send it again; to write what was forgotten anew, take a new key",
        )
    known = replace(known, is_repeated=True)
    return known if body is None else replace(known, body=body.value, records=body.refs)


def _is_going_on(known: Kept) -> bool:
    """Whether another process may still be at work; of a dead one nothing is waited for."""
    machine, _, process = known.process.rpartition("#")
    pid = int(process.partition("-")[0] or 0)
    if not pid or known.at < time.time() - STALE:
        return False
    # elsewhere the same number is another process; Windows has no signal that only asks
    if machine != _machine() or os.name == "nt":
        return True
    # ours has it in its set; an entry with our id that is not there is of one before us
    if pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _going_on() -> ConflictError:
    return ConflictError(
        "this very write is being done", remedy="send it again in a second: its reply is kept"
    )


def _with_ids(values: Struct, name: str) -> Struct:
    """Give what has no id one that comes of the key."""
    changes: dict[str, Any] = {}
    for field in values.__struct_fields__:
        value = getattr(values, field)
        if isinstance(value, list):
            changes[field] = [_with_id(item, f"{name}/{at}") for at, item in enumerate(value)]
        elif isinstance(value, Moment):
            changes[field] = _with_id(value, name)
    return replace(values, **changes) if changes else values


def _with_id(item: Any, name: str) -> Any:
    if isinstance(item, Moment | Message) and not item.id:
        return replace(item, id=str(uuid5(NAMESPACE_URL, name)))
    return item


def _refs(value: Any) -> tuple[str, ...]:
    """Give the refs of a reply: with which of what is forgotten it goes."""
    if isinstance(value, WriteReport):
        value = (*value.ids, *value.stale_ids)
    ids = [value] if isinstance(value, str) else value
    if isinstance(ids, list | tuple) and all(
        isinstance(id, str) and _ID.fullmatch(id) for id in ids
    ):
        return tuple(dict.fromkeys(ids))
    return (ANY_FORGETTING,)
