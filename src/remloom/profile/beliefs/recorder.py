"""Writes evidence through a run: its records, where they are placed, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ...errors import ChangedError
from ...kv import Entry
from ...runs.write_plan import EntryKey
from ...runs.writer import Writer
from ...store.contract import Store
from ..evidence.evidence import (
    STAGED,
    Evidence,
    is_only_secret,
    mask_evidence,
    stored_resources,
    to_record,
)
from .belief_store import MARK, BeliefMark, BeliefStore
from .stale import doubt_entry

_ATTEMPTS = 20  # of a write, while the user deletes beliefs that it is about


class Recorder:
    """Records evidence. Secrets in it are masked; a value that is only one is not kept.

    What the user deleted is not taken up again from what was said before.
    """

    def __init__(self, store: Store, beliefs: BeliefStore, writer: Writer) -> None:
        self._store = store
        self._beliefs = beliefs
        self._writer = writer
        self._touched: set[str] = set()  # beliefs that `refresh` folds again

    def record(
        self,
        rests_on: Iterable[str],
        evidence: Iterable[Evidence],
        *,
        origins: Iterable[Evidence] = (),
        entries: Sequence[Entry] = (),
        deleted: Sequence[EntryKey] = (),
        passages: Mapping[str, int | None] = {},
        premises: Mapping[str, str] = {},
        refresh: bool = True,
    ) -> list[Evidence]:
        """Write evidence, and entries with it, in one transaction; returns what was new.

        Args:
            rests_on: ids of the records that it was made of, beside the passages.
            origins: what some of it was made of; written with what is new of it, placed nowhere.
            passages: that it is of, by id, with the time of the last change that was seen.
            premises: of passages, as they were quoted; see `premises_of`.
            refresh: False leaves the folds to `refresh`: once after many writes costs by the
                evidence on a belief, after each of them by its square.

        Raises:
            GoneError: a passage was forgotten meanwhile.
            ChangedError: one was changed meanwhile.
        """
        masked = [mask_evidence(whole) for whole in evidence]
        shown = [one for one, _ in masked if not is_only_secret(one.value)]
        made_of = {one.id: one for one in origins}
        new = self._write(tuple(rests_on), shown, made_of, entries, deleted, passages, premises)
        # now that it is written: what is tried again is counted once
        secrets = sum(count for _, count in masked)
        self._writer.count(**({"secrets": secrets} if secrets else {}))
        self._touched |= {self._beliefs.key_of(one) for one in new if one.slot}
        if refresh:
            self.refresh()
        return new

    def refresh(self) -> None:
        touched, self._touched = self._touched, set()
        self._beliefs.refresh(touched)

    def _write(
        self,
        rests_on: Sequence[str],
        evidence: Sequence[Evidence],
        origins: Mapping[str, Evidence],
        entries: Sequence[Entry],
        deleted: Sequence[EntryKey],
        passages: Mapping[str, int | None],
        premises: Mapping[str, str],
    ) -> list[Evidence]:
        """Write what is new; what the user deletes at this moment is looked at again."""
        written = {(entry.namespace, entry.key) for entry in entries}
        for _ in range(_ATTEMPTS):
            keys = {key for one in evidence for key in self._keys(one)}
            stored = {key: self._store.kv.get(MARK, key) for key in keys}
            new, deleted_before = self._new(evidence, stored)
            versions = {
                (MARK, key): mark.version if mark is not None else 0
                for key, mark in stored.items()
                if (MARK, key) not in written
            }
            try:
                self._writer.write(
                    (*rests_on, *passages),
                    (to_record(one, premises) for one in (*self._missing(new, origins), *new)),
                    entries=[*map(self._place, new), *self._doubts(new), *entries],
                    deleted=deleted,
                    expected_entries=versions,
                    expected_records=passages,
                )
            except ChangedError as error:
                if self._have_changed(passages):
                    raise
                changed = error
            else:
                self._writer.count(**({"deleted_before": deleted_before} if deleted_before else {}))
                return new
        raise changed

    def _have_changed(self, passages: Mapping[str, int | None]) -> bool:
        stored = {id: self._store.records.get(None, id) for id in passages}
        return any(
            record is None or record.revision != passages[id] for id, record in stored.items()
        )

    def _keys(self, evidence: Evidence) -> list[str]:
        """The keys of the belief that what was read bears on, of its value alone, and of what that
        was before it became a slot."""
        if not evidence.slot or evidence.authority == "edit":
            return []
        beliefs = self._beliefs
        return [
            beliefs.key_of(evidence),
            beliefs.key_of_value(evidence),
            *beliefs.former_keys(evidence),
        ]

    def _new(
        self, evidence: Sequence[Evidence], marks: Mapping[str, Entry | None]
    ) -> tuple[list[Evidence], int]:
        """What is neither there nor deleted by the user; and how many they deleted."""
        new = {}
        deleted = 0
        for one in evidence:
            if self._store.records.get("resources", one.id) is not None:
                continue
            if self._was_deleted(one, marks):
                deleted += 1
                continue
            new[one.id] = one
        return list(new.values()), deleted

    def _missing(self, new: Iterable[Evidence], origins: Mapping[str, Evidence]) -> list[Evidence]:
        """What new evidence was made of and is not stored yet, masked. What is stored stays so."""
        missing: dict[str, Evidence] = {}
        for one in new:
            claim = one.claim
            while claim in origins and claim not in missing:
                if self._store.records.get("resources", claim) is not None:
                    break
                missing[claim], _ = mask_evidence(origins[claim])
                claim = origins[claim].claim
        return list(missing.values())

    def _place(self, evidence: Evidence) -> Entry:
        if evidence.slot:
            return self._beliefs.place(evidence)
        return Entry(STAGED, evidence.id, b"{}", (evidence.id,))

    def _doubts(self, evidence: Sequence[Evidence]) -> list[Entry]:
        """The entries of evidence in passages that rest on something themselves."""
        passages = stored_resources(self._store, {one.passage for one in evidence})
        resting = {passage.id for passage in passages if passage.rests_on}
        return [doubt_entry(one) for one in evidence if one.passage in resting]

    def _was_deleted(self, evidence: Evidence, marks: Mapping[str, Entry | None]) -> bool:
        stored = [mark for key in self._keys(evidence) if (mark := marks[key]) is not None]
        times = [msgspec.json.decode(mark.value, type=BeliefMark).deleted_at for mark in stored]
        return any(time is not None and evidence.at <= time for time in times)
