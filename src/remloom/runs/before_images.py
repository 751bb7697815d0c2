"""Before-images: what a run changed, as it was before, and what the run created.

They are key-value entries of the run, written in the transaction that makes the change, and all
that `rollback` needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..kv import Entry, edge_ref, label_ref
from ..model import Edge, Record
from ..store.batch import BatchRecord, Vector
from ..store.contract import Store
from ..store.rules.premise_entries import OtherPremise, premises_beside
from ..store.rules.record_ids import new_id, referred_ids

# Namespaces of entries. Their keys begin with the id of the run and a slash.
CREATED = "run.made"
BEFORE_RECORD, BEFORE_EDGE, BEFORE_ENTRY = "run.record", "run.edge", "run.note"


class Created(Struct, frozen=True, rename={"entry_keys": "noted", "edge_states": "edges"}):
    """What one write of a run created.

    It quotes no text: that would outlast the record it is from.
    """

    ids: tuple[str, ...]  # of records
    entry_keys: tuple[tuple[str, str], ...] = ()  # of entries other than the run's own
    edge_states: tuple[str, ...] = ()  # of the edges at labels that the run created, too


class BeforeRecord(Struct, frozen=True, rename={"changed_at": "stamp"}):
    """A record as it was before a run changed it."""

    schema: str
    record: msgspec.Raw
    parents: tuple[str, ...]
    vectors: tuple[Vector, ...]
    changed_at: datetime  # `updated_at` as the run left it
    model: str = ""  # the embedder that made the vectors
    beside: tuple[OtherPremise, ...] = ()  # premises that are no records

    @property
    def id(self) -> str:
        return str(msgspec.json.decode(self.record)["id"])


class BeforeEdge(Struct, frozen=True):
    """An edge before a run wrote it (None: it did not exist), and after."""

    before: Edge | None
    after: Edge


class BeforeEntry(Struct, frozen=True):
    """An entry as it was before a run wrote or deleted it."""

    kind: str
    id: str
    data: bytes


class BeforeImages:
    """Makes the before-images of one run, each of the time before its first change."""

    def __init__(self, store: Store, run_id: str) -> None:
        self._store = store
        self._run_id = run_id

    def of_record(self, stored: Record, item: BatchRecord) -> Entry:
        """The image of a record that is about to be changed; dropped when what it rests on is
        forgotten."""
        id = f"{self._run_id}/{stored.id}"
        changed_at = item.record.updated_at or datetime.now(UTC)
        entry = self._store.kv.get(BEFORE_RECORD, id)
        if entry is not None:
            image = msgspec.json.decode(entry.value, type=BeforeRecord)
            moved = replace(image, changed_at=changed_at)
            return replace(entry, value=msgspec.json.encode(moved))
        parents = tuple(self._store.records.parents(stored.id))
        model = self._store.vectors.model()
        image = BeforeRecord(
            schema=stored.schema,
            record=msgspec.Raw(msgspec.json.encode(stored)),
            parents=parents,
            vectors=tuple(self._store.vectors.get(stored.id)),
            changed_at=changed_at,
            model=model[0] if model else "",
            beside=tuple(premises_beside(self._store.kv, stored.id)),
        )
        about = dict.fromkeys((stored.id, *parents, *referred_ids(stored)))
        return Entry(BEFORE_RECORD, id, msgspec.json.encode(image), tuple(about))

    def of_edge(
        self,
        before: Edge | None,
        after: Edge,
        records_by_key: Mapping[str, Sequence[Record]],
        changed: Iterable[BatchRecord],
    ) -> Entry:
        """The image of an edge that is about to become `after`, together with the records
        `changed`; `records_by_key` has the stored ones at its ends."""
        id = f"{self._run_id}/{edge_digest(after)}"
        entry = self._store.kv.get(BEFORE_EDGE, id)
        if entry is not None:
            image = replace(msgspec.json.decode(entry.value, type=BeforeEdge), after=after)
        else:
            image = BeforeEdge(before, after)
        ends = {after.src, after.dst}
        about = {record.id for end in ends for record in records_by_key.get(end, ())}
        about.update(item.record.id for item in changed if not ends.isdisjoint(item.keys))
        # a label may have nothing but its edges
        about.update(map(label_ref, ends))
        about.add(edge_ref(after.key))
        data = msgspec.json.encode(image)
        return Entry(BEFORE_EDGE, id, data, tuple(sorted(about)))

    def of_entry(self, stored: Entry) -> Entry | None:
        """The image of a stored entry; None if the run wrote it, or its image is stored already."""
        if last_writer(stored) == self._run_id:
            return None
        id = f"{self._run_id}/{entry_digest(stored.namespace, stored.key)}"
        if self._store.kv.get(BEFORE_ENTRY, id) is not None:
            return None
        image = BeforeEntry(stored.namespace, stored.key, stored.value)
        return Entry(BEFORE_ENTRY, id, msgspec.json.encode(image), stored.refs)

    def of_creation(self, created: Created) -> Entry:
        """The entry that says what a write creates."""
        return Entry(CREATED, f"{self._run_id}/{new_id()}", msgspec.json.encode(created))


def edge_digest(edge: Edge) -> str:
    """The id of an edge between keys, whatever it says."""
    return digest("\n".join(edge.key).encode("utf-8", "surrogatepass"))


def edge_state(edge: Edge) -> str:
    """The id of an edge as it is now: another one once anybody changes it."""
    return digest(msgspec.json.encode(edge, order="sorted"))


def entry_digest(kind: str, id: str) -> str:
    """The id of an entry inside the ids of its images."""
    return digest(msgspec.json.encode((kind, id)))


def last_writer(entry: Entry) -> str:
    """The id of the run that wrote an entry last; empty where the entry does not say."""
    value = msgspec.json.decode(entry.value)
    return str(value.get("run", "")) if isinstance(value, dict) else ""


def digest(data: bytes) -> str:
    """32 hexadecimal digits of any bytes."""
    return sha256(data).hexdigest()[:32]
