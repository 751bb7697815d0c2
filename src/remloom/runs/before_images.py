"""Images: what was there before a run wrote over it, and what it made, so that it can be taken
back."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..model import Edge
from ..store.contract import JournalEntry, Vector

__all__ = [
    "BeforeEdge",
    "BeforeNote",
    "BeforeRecord",
    "Made",
    "digest",
    "edge_place",
    "edge_state",
    "merged",
    "note_place",
    "written_by",
]


class Made(Struct, frozen=True):
    """What one write of a run made. There are no words in it, which would stay when a record is
    forgotten."""

    ids: tuple[str, ...]  # of records
    noted: tuple[tuple[str, str], ...] = ()  # journal entries beside the run's own
    edges: tuple[str, ...] = ()  # those at labels that it made, too, by their `edge_state`


class BeforeRecord(Struct, frozen=True):
    """A record as it was before a run changed it."""

    schema: str
    record: msgspec.Raw
    parents: tuple[str, ...]
    vectors: tuple[Vector, ...]
    stamp: datetime  # `updated_at` as the run left it
    model: str = ""  # whose vectors these are


class BeforeEdge(Struct, frozen=True):
    """An edge as it was before a run wrote it (None: it was not), and as the run left it."""

    before: Edge | None
    after: Edge


class BeforeNote(Struct, frozen=True):
    """A journal entry as it was before a run wrote or struck it."""

    kind: str
    id: str
    data: bytes


def merged(old: Edge | None, new: Edge) -> Edge:
    """What an edge is once it was written over another, as `model.Edge` says."""
    if old is None:
        return new
    renewed = (
        old.valid_to is not None and new.valid_from is not None and new.valid_from > old.valid_to
    )
    return replace(
        old,
        weight=max(old.weight, new.weight),
        properties={**old.properties, **new.properties},
        created_at=min(filter(None, (old.created_at, new.created_at)), default=None),
        valid_from=new.valid_from
        if old.valid_from is None
        else min(old.valid_from, new.valid_from or old.valid_from),
        valid_to=new.valid_to or (None if renewed else old.valid_to),
    )


def edge_place(edge: Edge) -> str:
    """What an edge between keys is known by in the journal."""
    return digest("\n".join((edge.src, edge.rel_type, edge.dst)).encode("utf-8", "surrogatepass"))


def note_place(kind: str, id: str) -> str:
    """What the image of a journal entry is known by there."""
    return digest(msgspec.json.encode((kind, id)))


def edge_state(edge: Edge) -> str:
    """What an edge is known by as long as nobody changes it."""
    return digest(msgspec.json.encode(edge, order="sorted"))


def written_by(entry: JournalEntry) -> str:
    """The run that wrote a journal entry last, where it says so."""
    told = msgspec.json.decode(entry.data)
    return str(told.get("run", "")) if isinstance(told, dict) else ""


def digest(data: bytes) -> str:
    """A name for anything."""
    return sha256(data).hexdigest()[:32]
