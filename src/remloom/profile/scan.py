"""The scan: looks at what was read and not looked at yet, and makes evidence of what it says.

The newest passages come first. Each is marked as looked at in the transaction that writes what it
says, so a scan that is killed goes on where it was, and nothing is written twice. A passage that
could not be looked at is not marked: it is a failed item, which the next scan tries again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ..errors import InvalidInputError
from ..kv import Entry
from ..model import ReadReport, Resource
from ..runs.failures import failed_item_entry, failed_item_key
from ..runs.run import Run
from ..runs.writer import Writer
from ..settings import Settings
from ..store.contract import Store
from .claim import Claim
from .evidence import Evidence, from_claim
from .masking import MaskedPassages, is_only_secret, mask_passages
from .passages import Passage, passage_of, seen_entry, unseen
from .recorder import Recorder
from .slots import Registry, Slot

__all__ = ["Extract", "Extracted", "Found", "Progress", "ScanResult", "Scanner"]

_TOGETHER = 64  # passages that are looked at, and written, at once

Progress: TypeAlias = Callable[[int, int], None]


class Found(Struct, frozen=True):
    """A claim, and the passage that it stands in."""

    passage: Passage
    claim: Claim
    subject: str = ""  # of whom it is; empty: the subject of the passage


class Extracted(Struct, frozen=True):
    """What was found in some passages, and which of them failed."""

    found: tuple[Found, ...] = ()
    failed: tuple[tuple[Passage, Exception], ...] = ()


class ScanResult(Struct, frozen=True, kw_only=True):
    """What a scan did.

    Args:
        run: its run: `counts` has passages, evidence, staged, secrets, refused (what only the user
            may set), deleted_before; with its id it can be taken back.
        read: what was read first, if a source was given.
        evidence: of a dry run, what would be written.
    """

    run: Run
    read: ReadReport | None = None
    evidence: tuple[Evidence, ...] = ()


Extract: TypeAlias = Callable[[Sequence[Passage]], Extracted]


class Scanner:
    """Makes evidence of passages.

    Args:
        extract: finds claims in passages whose secrets are masked.
        extractor: its name; passages are marked as looked at by it.
        slots: what can be known.
    """

    def __init__(
        self,
        store: Store,
        writer: Writer,
        recorder: Recorder,
        *,
        extract: Extract,
        extractor: str,
        slots: Registry,
        settings: Settings,
    ) -> None:
        self._tenant = settings.tenant
        self._store = store
        self._writer = writer
        self._recorder = recorder
        self._extract = extract
        self._extractor = extractor
        self._slots = slots
        self._settings = settings
        self._now = datetime.now(UTC)

    def run(self, *, limit: int | None = None, progress: Progress | None = None) -> None:
        """Look at all passages that were not looked at; the run counts what came of it.

        Args:
            limit: passages to look at, at most.
        """
        ids = unseen(self._store, self._settings, self._extractor)[:limit]
        done = 0
        for start in range(0, len(ids), _TOGETHER):
            some = ids[start : start + _TOGETHER]
            records = [self._store.records.get("resources", id) for id in some]
            passages = [
                passage
                for record in records
                if isinstance(record, Resource)
                and (passage := passage_of(record, self._settings)) is not None
            ]
            self.look_at(passages)
            done += len(some)
            if progress is not None:
                progress(done, len(ids))

    def look_at(self, passages: Sequence[Passage]) -> list[Evidence]:
        """Make evidence of passages, and mark them; returns what is new."""
        masked = mask_passages(passages)
        originals = {passage.record.id: passage for passage in passages}
        extracted = self._extract(masked.passages)
        failed = {passage.record.id for passage, _ in extracted.failed}
        evidence = [
            one
            for found in extracted.found
            for one in self._evidence(found, originals[found.passage.record.id], masked)
        ]
        seen = [
            seen_entry(passage, self._extractor)
            for passage in passages
            if passage.record.id not in failed
        ]
        new = self._recorder.record(
            evidence,
            entries=[*seen, *self._failures(extracted.failed)],
            deleted=[failed_item_key("observe", entry.refs[0]) for entry in seen],
        )
        staged = sum(not one.slot for one in new)
        self._writer.count(
            passages=len(passages),
            evidence=len(new) - staged,
            staged=staged,
            secrets=masked.count,
        )
        return new

    def _evidence(
        self, found: Found, original: Passage, masked: MaskedPassages
    ) -> Iterator[Evidence]:
        """The evidence that a claim is; none if nobody but the user may say that, or it is only
        a secret.
        """
        claim, slot_id = found.claim, ""
        if is_only_secret(claim.value):
            return
        subject = found.subject or found.passage.subject
        slot = self._slots.find(claim.key)
        if slot is not None:
            if not self._may_say(slot, original):
                self._writer.count(refused=1)
                return
            try:
                value = self._slots.canonical(slot, claim.value) if claim.value != "" else ""
            except InvalidInputError:
                # it may still mean something: the normaliser decides
                slot = None
            else:
                claim, slot_id = replace(claim, value=value), slot.id
        yield from_claim(
            masked.as_stored(claim, original.record.id),
            original.record,
            tenant=self._tenant,
            subject=subject,
            slot=slot_id,
            authority="observed" if original.is_behaviour else "statement",
            extractor=self._extractor,
            now=self._now,
        )

    def _may_say(self, slot: Slot, passage: Passage) -> bool:
        """Whether what is read may say anything of a slot."""
        if slot.user_only:
            return False
        # what is sensitive counts when the user says it, never when something suggests it
        return not (slot.sensitive and passage.is_behaviour)

    def _failures(self, failed: Iterable[tuple[Passage, Exception]]) -> Iterator[Entry]:
        for passage, error in failed:
            record = passage.record
            yield failed_item_entry(
                self._store,
                "observe",
                record.id,
                error,
                (record.id,),
                name=record.name,
                run_id=self._writer.id,
            )
