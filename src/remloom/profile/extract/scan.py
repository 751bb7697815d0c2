"""The scan: looks at what was read and not looked at yet, and makes evidence of what it says.

The newest passages come first. Each is marked as looked at in the transaction that writes what it
says, so a scan that is killed goes on where it was, and nothing is written twice. A passage that
could not be looked at is not marked: it is a failed item, which the next scan tries again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from ...engine.arguments import Progress
from ...errors import BudgetError, ChangedError, GoneError, InvalidInputError
from ...kv import Entry
from ...model import ReadReport
from ...model.premises import premises_of
from ...runs.failures import FailedItem, failed_item_entry, failed_item_key, failed_items
from ...runs.run import Run
from ...runs.writer import Writer
from ...settings import Settings
from ...store.contract import Store
from ...store.encoding import content_key
from ..beliefs.recorder import Recorder
from ..evidence.claim import Claim, FieldMapping, check_scope
from ..evidence.evidence import Authority, Evidence, from_claim, is_only_secret, stored_resources
from ..evidence.passages import (
    UNHEARD,
    MaskedPassages,
    Passage,
    key_prefixes,
    mask_passages,
    passage_of,
    read_position,
    seen_entry,
    unheard_entry,
    unseen,
    write_position,
)
from ..slots.registry import SlotRegistry
from ..slots.slot import Slot

KIND = "observe"  # of the runs
_ATTEMPTS = 20  # of a write, while passages are forgotten that it is about
_UNHEARD = "unheard_"  # before a language: its count
_CALLS = "calls"  # detail of a failed passage: those that failed, kept with one passage of each
_TOGETHER = 64  # passages that are looked at, and written, at once


class FoundClaim(Struct, frozen=True):
    """A claim, and the passage that it stands in."""

    passage: Passage
    claim: Claim
    extractor: str = ""  # what found it; empty: that which looked


class Extracted(Struct, frozen=True):
    """What was found in some passages.

    Args:
        failed: those that could not be looked at, and why.
        left: those that were not looked at, since the budget is spent.
        spent: what the budget lacked; the scan stops when what was found is written.
        unheard: the languages of those that are in one that is not heard, by the ids of records.
            None: what looked tells no languages, and something looks after it that may fail; what
            is stored of that stays.
    """

    found: tuple[FoundClaim, ...] = ()
    failed: tuple[tuple[Passage, Exception], ...] = ()
    left: tuple[Passage, ...] = ()
    spent: BudgetError | None = None
    unheard: dict[str, str] | None = None


class ScanResult(Struct, frozen=True, kw_only=True):
    """What a scan did.

    Args:
        run: its run: `counts` has passages, evidence, staged, secrets, refused (what only the user
            may set), deleted_before; with a model also asked (passages that it looked at), calls,
            fabricated (quotes that are not there), unusable (claims that say nothing), parked;
            of what was normalised see `normalise`. With its id it can be taken back.
        read: what was read first, if a source was given.
        evidence: of a dry run, what would be written.
        mappings: what was normalised at its end; see `FieldMapping`.
        failed: the passages that wait for the next scan, with the reason.
        unheard: passages in languages that are not heard yet, by the English name of the language;
            where it cannot be named for sure, "another language". A model reads them all.
    """

    run: Run
    read: ReadReport | None = None
    evidence: tuple[Evidence, ...] = ()
    mappings: tuple[FieldMapping, ...] = ()
    failed: tuple[FailedItem, ...] = ()
    unheard: dict[str, int] = {}


Extract: TypeAlias = Callable[[Sequence[Passage]], Extracted]


class Scanner:
    """Makes evidence of what `extract` finds in passages whose secrets are masked, and marks
    them as looked at by this extractor. If it `stages`, as a model does, all that it finds
    waits to be normalised; `from_start` looks also at passages that were looked at."""

    def __init__(
        self,
        store: Store,
        writer: Writer,
        recorder: Recorder,
        *,
        extract: Extract,
        extractor: str,
        slots: SlotRegistry,
        settings: Settings,
        stages: bool = False,
        from_start: bool = False,
    ) -> None:
        self._stages = stages
        self._from_start = from_start
        self._tenant = settings.tenant
        self._store = store
        self._writer = writer
        self._recorder = recorder
        self._extract = extract
        self._extractor = extractor
        self._slots = slots
        self._settings = settings
        self._now = datetime.now(UTC)
        self._waiting: dict[str, int] = {}  # passages that were not looked at, see `unseen`

    def run(self, *, limit: int | None = None, progress: Progress | None = None) -> None:
        """Look at passages that were not looked at, up to a limit; the run counts what came of it.

        BudgetError if it is spent: what was found until then is written.
        """
        extractor = "" if self._from_start else self._extractor
        # what failed in this run, before it was interrupted, is tried again by the next one; by
        # rule nothing fails
        failed = failed_in(self._store, self._writer.id) if self._stages else []
        tried = {item.item for item in failed}
        since = read_position(self._store, self._extractor, from_start=self._from_start)
        ids, self._waiting, upto = unseen(self._store, self._settings, extractor, since)
        ids = [id for id in ids if id not in tried][:limit]
        try:
            self._look_at_all(ids, progress)
        finally:
            self._recorder.refresh()
            if not self._writer.is_dry:
                write_position(self._store, self._extractor, since, upto, self._waiting)

    def _look_at_all(self, ids: Sequence[str], progress: Progress | None) -> None:
        done = 0
        for start in range(0, len(ids), _TOGETHER):
            some = ids[start : start + _TOGETHER]
            passages = (
                passage_of(record, self._settings) for record in stored_resources(self._store, some)
            )
            self.look_at([passage for passage in passages if passage is not None])
            done += len(some)
            if progress is not None:
                progress(done, len(ids))

    def look_at(self, passages: Sequence[Passage]) -> list[Evidence]:
        """Make evidence of passages, and mark them; returns what is new."""
        masked = mask_passages(passages)
        originals = {passage.record.id: passage for passage in passages}
        extracted = self._extract(masked.passages)
        unfinished = [*(passage for passage, _ in extracted.failed), *extracted.left]
        ids = originals.keys() - {passage.record.id for passage in unfinished}
        evidence = [
            one
            for found in extracted.found
            for one in self._evidence(found, originals[found.passage.record.id], masked)
        ]
        seen = [seen_entry(originals[id], self._extractor) for id in originals if id in ids]
        failures = list(self._failures(extracted.failed))
        new, looked_through = self._write(originals, evidence, seen, failures, extracted.unheard)
        for id in looked_through:
            self._waiting.pop(id, None)
        staged = sum(not one.slot for one in new)
        looked_at = len(passages) - len(extracted.left)
        counts = {"evidence": len(new) - staged, "staged": staged}
        # secrets are counted once, by the first who looks
        counts |= {"asked": looked_at} if self._stages else {"passages": looked_at}
        counts |= {} if self._stages else {"secrets": masked.count}
        languages = (extracted.unheard or {}).values()
        counts |= Counter(f"{_UNHEARD}{language}" for language in languages)
        self._writer.count(**counts)
        if extracted.spent is not None:
            raise extracted.spent
        return new

    def _write(
        self,
        passages: Mapping[str, Passage],
        evidence: Sequence[Evidence],
        seen: Sequence[Entry],
        failures: Sequence[Entry],
        unheard: Mapping[str, str] | None,
    ) -> tuple[list[Evidence], list[str]]:
        """Write what was found; of passages that were forgotten meanwhile, made again without what
        was, or say something else now, nothing is. Returns what is new, and the passages whose
        turn does not come again."""
        outdated: set[str] = set()
        ids = {ref for entry in (*seen, *failures) for ref in entry.refs}
        for _ in range(_ATTEMPTS):
            there = {
                record.id: record.revision
                for record in stored_resources(self._store, ids)
                if record.id not in outdated
                and content_key(record) == content_key(passages[record.id].record)
            }
            kept = [entry for entry in (*seen, *failures) if there.keys() >= set(entry.refs)]
            over: list[str] = []
            if unheard is not None:
                over = [entry.refs[0] for entry in seen if entry.refs[0] in there]
                kept += [unheard_entry(passages[id], unheard[id]) for id in over if id in unheard]
            marked = list(key_prefixes(self._store, UNHEARD))
            try:
                new = self._recorder.record(
                    there,
                    [one for one in evidence if one.passage in there],
                    entries=kept,
                    deleted=[
                        *(failed_item_key(KIND, id) for id in over),
                        *((UNHEARD, f"{begin}/{id}") for begin in marked for id in over),
                    ],
                    passages=there,
                    premises=premises_of(passages[id].record for id in there),
                    refresh=False,
                )
            except GoneError as error:
                gone = set(error.fields["names"]) & there.keys()
                # a claim of theirs may name what was forgotten: then the whole group waits
                outdated |= gone or there.keys()
                self._writer.count(forgotten=len(gone or there))
                changed: Exception = error
            except ChangedError as error:
                changed = error
            else:
                # one that says something else now has its turn as that
                return new, [entry.refs[0] for entry in seen if entry.refs[0] not in outdated]
        raise changed

    def _evidence(
        self, found: FoundClaim, original: Passage, masked: MaskedPassages
    ) -> Iterator[Evidence]:
        """The evidence that a claim is; none if only the user may say that, it is only a secret,
        or its scope is none."""
        claim, slot_id = found.claim, ""
        if is_only_secret(claim.value):
            return
        try:
            claim = replace(claim, scope=check_scope(claim.scope))
        except InvalidInputError:
            return
        slot = self._slots.find(claim.key)
        authority = self._authority(claim, slot, original)
        if slot is not None and not may_say(slot, authority):
            self._writer.count(refused=1)
            return
        if slot is not None and not self._stages:
            try:
                value = self._slots.canonical(slot, claim.value) if claim.value != "" else ""
            except InvalidInputError:
                # it may still mean something: the normaliser decides
                pass
            else:
                claim, slot_id = replace(claim, value=value), slot.id
        yield from_claim(
            masked.as_stored(claim, original.record.id),
            original.record,
            tenant=self._tenant,
            subject=found.passage.subject,
            slot=slot_id,
            authority=authority,
            extractor=found.extractor or self._extractor,
            now=self._now,
        )

    def _authority(self, claim: Claim, slot: Slot | None, passage: Passage) -> Authority:
        if passage.is_behaviour:
            return "observed"
        if claim.signal != "implicit_behavior":
            return "statement"
        if self._stages:
            # what a model says that a person does is its conclusion
            return "inferred"
        # One choice does not tell what is preferred. Of a list it takes nothing's place.
        return "observed" if slot is not None and slot.kind != "list" else "statement"

    def _failures(self, failed: Iterable[tuple[Passage, Exception]]) -> Iterator[Entry]:
        counted: list[Exception] = []
        for passage, error in failed:
            record = passage.record
            # the passages of one call share its error
            calls = 0 if any(error is one for one in counted) else 1
            counted.append(error)
            yield failed_item_entry(
                self._store,
                KIND,
                record.id,
                error,
                (record.id,),
                name=record.name,
                details={_CALLS: calls},
                run_id=self._writer.id,
            )


def failed_in(store: Store, run: str) -> list[FailedItem]:
    """The passages that failed in a run: where it goes on, they are skipped."""
    return [item for item in failed_items(store, KIND) if item.run == run]


def skipped_counts(store: Store, run: str) -> dict[str, int]:
    """What a run counted of the passages that are skipped where it goes on."""
    skipped = failed_in(store, run)
    calls = sum(item.details.get(_CALLS, 0) for item in skipped)
    return {"asked": len(skipped), "calls": calls}


def unheard_of(run: Run) -> dict[str, int]:
    """The passages in languages that are not heard, by language, those of most passages first.

    They stand among the counts of the run, so that a run that was resumed has all of them.
    """
    found = {
        name.removeprefix(_UNHEARD): count
        for name, count in run.counts.items()
        if name.startswith(_UNHEARD) and count
    }
    return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))


def may_say(slot: Slot, authority: Authority) -> bool:
    """Whether what is read may say anything of a slot."""
    if slot.user_only:
        return False
    # what is sensitive counts when the user says it, never when something suggests it
    return not (slot.sensitive and authority in ("observed", "inferred"))
