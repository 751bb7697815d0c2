"""Writes evidence through a run: its records, where they are placed, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from ..kv import Entry
from ..runs.write_plan import EntryKey
from ..runs.writer import Writer
from ..store.contract import Store
from .belief_store import MARK, BeliefStore, Mark
from .evidence import STAGED, Evidence, to_record
from .masking import is_only_secret, mask_evidence

__all__ = ["Recorder"]


class Recorder:
    """Records evidence. Secrets in it are masked; a value that is only one is not kept.

    What the user deleted is not taken up again from what was said before.
    """

    def __init__(self, store: Store, beliefs: BeliefStore, writer: Writer) -> None:
        self._store = store
        self._beliefs = beliefs
        self._writer = writer

    def record(
        self,
        evidence: Iterable[Evidence],
        *,
        origins: Iterable[Evidence] = (),
        entries: Sequence[Entry] = (),
        deleted: Sequence[EntryKey] = (),
    ) -> list[Evidence]:
        """Write evidence, and entries with it, in one transaction; returns what was new.

        Args:
            origins: what some of it was made of; written with what is new of it, placed nowhere.

        Raises:
            GoneError: a passage was forgotten meanwhile.
        """
        new = {}
        for whole in evidence:
            one, secrets = mask_evidence(whole)
            self._writer.count(**({"secrets": secrets} if secrets else {}))
            if is_only_secret(one.value):
                continue
            if self._store.records.get("resources", one.id) is not None:
                continue
            if self._was_deleted(one):
                self._writer.count(deleted_before=1)
                continue
            new[one.id] = one
        places = [self._place(one) for one in new.values()]
        made_of = self._missing(new.values(), {one.id: one for one in origins})
        records = [to_record(one) for one in (*made_of, *new.values())]
        self._writer.write(records, entries=[*places, *entries], deleted=deleted)
        touched = {self._beliefs.key_of(one) for one in new.values() if one.slot}
        self._beliefs.refresh(touched)
        return list(new.values())

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
        """Where it belongs: under its belief, or with what waits to be normalised."""
        if evidence.slot:
            return self._beliefs.place(evidence)
        return Entry(STAGED, evidence.id, b"{}", (evidence.id,))

    def _was_deleted(self, evidence: Evidence) -> bool:
        """Whether the user deleted the belief since this was said."""
        if not evidence.slot:
            return False
        stored = self._store.kv.get(MARK, self._beliefs.key_of(evidence))
        if stored is None or evidence.authority == "edit":
            return False
        deleted_at = msgspec.json.decode(stored.value, type=Mark).deleted_at
        return deleted_at is not None and evidence.at <= deleted_at
