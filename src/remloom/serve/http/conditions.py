"""Conditional requests, by RFC 9110: a record's entity tag is its revision and a digest of what is
sent of it, in which more may change, such as what it was made of."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from ...errors import ChangedError
from ...memory.memory import Memory
from ...operations import Operation

# an element of a list of entity tags; a list may have empty elements
_ELEMENT = re.compile(r'[ \t]*((?:W/)?"[\x21\x23-\x7e\x80-\xff]*")?[ \t]*(?:,|$)')
_DIGITS = 8  # of the digest
_ZIPPED = "-gzip"
_Tags: TypeAlias = tuple[str, ...]  # `("*",)` for any


class RequestConditions(Struct, frozen=True):
    """What a request's `If-Match` and `If-None-Match` say; None: nothing."""

    match: _Tags | None = None
    none_match: _Tags | None = None

    @classmethod
    def of(cls, headers: Headers) -> RequestConditions | None:
        """Read the conditions of a request; None without any.

        Raises:
            HTTPException: one is neither `*` nor a list of entity tags.
        """
        match, none_match = _tags(headers, "If-Match"), _tags(headers, "If-None-Match")
        return None if match is None is none_match else cls(match, none_match)

    def check(self, revision: int, id: str) -> None:
        """Raise ChangedError if a record of this revision is not as `If-Match` says."""
        if self.match is not None and not _has(self.match, revision):
            raise _failed(f"the record {id} was changed meanwhile, or never had this entity tag")

    def is_known(self, tag: str) -> bool:
        """Whether `If-None-Match` has an entity tag; a weak one will do, zipped or not."""
        known = self.none_match
        if known is None:
            return False
        plain = _plain(tag)
        return any(one == "*" or _plain(one.removeprefix("W/")) == plain for one in known)

    def forbids(self, revision: int) -> bool:
        """Whether `If-None-Match` has a record of this revision."""
        known = self.none_match
        return known is not None and _has([one.removeprefix("W/") for one in known], revision)


def etag(revision: int, body: bytes, *, is_zipped: bool = False) -> str:
    """Write the entity tag of an answer; zipped, it has another.

    >>> etag(17, b"{}")
    '"17-44136fa3"'
    """
    digest = sha256(body).hexdigest()[:_DIGITS]
    return f'"{revision}-{digest}{_ZIPPED if is_zipped else ""}"'


def has_tag(operation: Operation, read: Operation | None) -> bool:
    """Whether an operation is done to a record at its path, which `read` reads."""
    if read is None or read.name not in _READS:
        return False
    return operation is read or "expected" in operation.takes.__struct_fields__


def conditional(
    operation: Operation, read: Operation | None, conditions: RequestConditions | None
) -> Operation:
    """Give an operation that writes only if a request's conditions hold.

    Args:
        read: what GET of the same path does.

    Raises (it, or the operation):
        ChangedError: they do not hold, and nothing was written.
    """
    if conditions is None or operation.hints.read_only:
        return operation
    if not has_tag(operation, read):
        raise _failed(f"what {operation.name} is done to has no entity tag")

    def does(memory: Memory, values: Any, progress: Any) -> Any:
        assert read is not None  # noqa: S101  # it reads a record
        revision = read.does(memory, read.takes(id=values.id), None).revision
        conditions.check(revision, values.id)
        if conditions.forbids(revision):
            raise _failed(f"the record {values.id} is as If-None-Match says it must not be")
        # checked again by the transaction that writes
        expected = revision if values.expected is None else values.expected
        return operation.does(memory, replace(values, expected=expected), progress)

    return replace(operation, does=does)


_READS = frozenset(("get_entity", "get_moment", "get_record", "get_resource", "get_row"))


def _has(tags: _Tags | list[str], revision: int) -> bool:
    """Whether one is of this revision: what was sent of it besides decides nothing."""
    return any(one == "*" or one.strip('"').partition("-")[0] == str(revision) for one in tags)


def _plain(tag: str) -> str:
    return tag.strip('"').removesuffix(_ZIPPED)


def _tags(headers: Headers, name: Literal["If-Match", "If-None-Match"]) -> _Tags | None:
    lines = headers.getlist(name)
    if not lines:
        return None
    text = ", ".join(lines)
    if text.strip() == "*":
        return ("*",)
    tags, at = [], 0
    while at < len(text):
        element = _ELEMENT.match(text, at)
        if element is None:
            raise _malformed(name)
        tags += [element[1]] if element[1] else []
        at = element.end()
    if not tags:
        raise _malformed(name)
    return tuple(tags)


def _malformed(name: str) -> HTTPException:
    return HTTPException(
        400, f'{name} is no list of entity tags\nsend the ETag as it came, quotes too: {name}: "1"'
    )


def _failed(message: str) -> ChangedError:
    return ChangedError(
        message, remedy="read it again, and send the ETag that it has now; or give `expected`"
    )
