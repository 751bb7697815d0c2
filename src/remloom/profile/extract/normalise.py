"""The normaliser: finds the slot that each waiting claim belongs to, and its value there.

Source: seed 4, "Stage 3: Normalizer". Keys that name a slot need no model. The rest goes to a model
that sees what is believed and chooses from a closed list; what it chooses is checked as if anybody
had said it. Without a model the rest becomes extras. Nothing moves: what is normalised is new
evidence, made of the claim.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, TypeAlias

from msgspec import Meta, Struct

from ...engine.arguments import Progress
from ...errors import BudgetError, GoneError, InvalidInputError, ModelError, UnknownNameError
from ...kv import Entry
from ...llm import Call, Quote
from ...runs.failures import FailedItem, failed_item_entry, failed_item_key, failed_items
from ...runs.run import Run
from ...runs.write_plan import EntryKey
from ...runs.writer import Writer
from ...store.contract import Store
from ..beliefs.belief import Belief
from ..beliefs.belief_store import BeliefStore
from ..beliefs.recorder import Recorder
from ..context.relevance import Relevance
from ..evidence.claim import FieldMapping, Value
from ..evidence.evidence import (
    NORMALISE,
    STAGED,
    Evidence,
    derived,
    normalised_entry,
    staged,
    value_key,
)
from ..slots.slot import EXTRAS, Slot
from .scan import may_say

if TYPE_CHECKING:
    from ...llm import LLM


_TOGETHER = 320  # claims that are normalised, and written, at once
_OF_ONE_CALL = 16
_MOST_CHOICES = 3  # a model makes for a claim; what it still misplaces becomes an extra
_ATTEMPTS = 20  # of a write, while claims go that it is about
_WORD = re.compile(r"\w+")
# Words of keys that would grant something. What agents may do, the user sets by hand: an extra that
# says so would look like a permission.
_GRANTING = frozenset((
    "allow", "allowed", "allows", "approval", "approve", "approved", "authorization",
    "authorisation", "authorized", "autonomy", "confirmation", "consent", "grant", "granted",
    "permission", "permissions", "permitted", "sudo", "unrestricted",
))  # fmt: skip


class MappingDraft(Struct, frozen=True):
    """Where a claim belongs, as a model replies with it."""

    item: int
    field: Annotated[str, Meta(extra_json_schema={"maxLength": 80})]
    value: Annotated[str, Meta(extra_json_schema={"maxLength": 120})] = ""


MappingDrafts: TypeAlias = Annotated[
    list[MappingDraft], Meta(extra_json_schema={"maxItems": _OF_ONE_CALL})
]


class NormaliseResult(Struct, frozen=True, kw_only=True):
    """What normalising did.

    Args:
        run: its run; `counts` has normalised, extras (of these), refused (what only the user may
            say), unknown_slot, unsupported (the claim has no word of the slot that was chosen),
            invalid (values), silent, parked, calls. With an empty id nothing was due.
        mappings: what became of the claims; of a dry run, what would.
        failed: claims that still wait, with the reason.
    """

    run: Run
    mappings: tuple[FieldMapping, ...] = ()
    failed: tuple[FailedItem, ...] = ()


class _Refused(Struct, frozen=True):
    """A claim that goes nowhere. Without a reason it never will; else the next run tries again."""

    count: str  # as which it counts
    reason: str = ""


class _Placed(Struct, frozen=True):
    slot: Slot
    values: tuple[Value, ...]


_Decision: TypeAlias = _Placed | _Refused


class Normaliser:
    """Normalises what waits, within a run; without a model, keys without a slot become extras."""

    def __init__(self, store: Store, writer: Writer, beliefs: BeliefStore, llm: LLM | None) -> None:
        self._store = store
        self._writer = writer
        self._recorder = Recorder(store, beliefs, writer)
        self._beliefs = beliefs
        self._slots = beliefs.slots
        self._llm = llm
        self._now = datetime.now(UTC)
        self._mappings: list[FieldMapping] = []

    def run(self, progress: Progress | None = None) -> list[FieldMapping]:
        """Normalise the claims that wait; BudgetError if it is spent, when what is done is
        written."""
        # what failed in this run, before it was interrupted, is tried again by the next one
        failed = failed_items(self._store, NORMALISE)
        tried = {item.item for item in failed if item.run == self._writer.id}
        claims = [claim for claim in staged(self._store) if claim.id not in tried]
        attempts = {item.item: item.attempts for item in failed}
        for start in range(0, len(claims), _TOGETHER):
            self._normalise(claims[start : start + _TOGETHER], attempts)
            if progress is not None:
                progress(min(start + _TOGETHER, len(claims)), len(claims))
        if claims:
            self._writer.write((), entries=[normalised_entry(self._now)])
        return self._mappings

    def _normalise(self, claims: Sequence[Evidence], attempts: dict[str, int]) -> None:
        """Normalise some claims, and write what comes of it in one transaction.

        So an interrupted run asks again what it has asked, word for word, and is given the replies
        that were kept.
        """
        by_key = {claim.id: self._decide_by_key(claim) for claim in claims}
        decisions = {id: decision for id, decision in by_key.items() if decision is not None}
        unknown = [claim for claim in claims if claim.id not in decisions]
        spent: BudgetError | None = None
        if self._llm is not None:
            spent = self._ask(self._llm, unknown, decisions)
            self._give_up(unknown, decisions, attempts)
        else:
            decisions |= {claim.id: self._as_extra(claim, claim.key) for claim in unknown}
        self._write(claims, decisions, attempts.keys())
        if spent is not None:
            raise spent

    # -- deciding ----------------------------------------------------------------------------------

    def _decide_by_key(self, claim: Evidence) -> _Decision | None:
        """Where a claim belongs by its key alone; None: a model may know."""
        slot = self._slots.find(claim.key)
        if slot is None:
            return None
        decision = self._place(claim, slot, claim.value)
        is_final = isinstance(decision, _Placed) or not decision.reason
        # a model may know what a value means that the slot does not
        return decision if is_final or self._llm is None else None

    def _as_extra(self, claim: Evidence, key: str) -> _Decision:
        try:
            # an extra that is called like a slot would speak in its name
            name = key.removeprefix(EXTRAS)
            slot = self._slots.find(name) or self._slots.get_or_extra(EXTRAS + name)
        except InvalidInputError as error:
            return _Refused("unknown_slot", str(error))
        if slot.is_extra and not _GRANTING.isdisjoint(slot.id.removeprefix(EXTRAS).split("_")):
            return _Refused("refused")
        return self._place(claim, slot, claim.value)

    def _place(self, claim: Evidence, slot: Slot, value: Value) -> _Decision:
        if not may_say(slot, claim.authority):
            return _Refused("refused")
        if value == "":
            return _Placed(slot, ("",))
        try:
            return _Placed(slot, self._slots.items(slot, value))
        except InvalidInputError as error:
            return _Refused("invalid", str(error))

    # -- asking ------------------------------------------------------------------------------------

    def _ask(
        self, llm: LLM, claims: Sequence[Evidence], decisions: dict[str, _Decision]
    ) -> BudgetError | None:
        """Ask the model where claims belong; returns the error of a budget that is spent."""
        batches = list(_batches(claims))
        replies = llm.ask_all([self._call(batch) for batch in batches])
        self._writer.count_calls(replies)
        spent: BudgetError | None = None
        for batch, reply in zip(batches, replies, strict=True):
            if isinstance(reply, BudgetError):
                spent = reply
            elif isinstance(reply, ModelError):
                failed = _Refused("", str(reply))
                decisions |= {claim.id: failed for claim in batch}
            else:
                decisions |= self._decide_by_reply(batch, reply)
        return spent

    def _call(self, batch: Sequence[Evidence]) -> Call:
        beliefs = self._current(batch[0].subject)
        choices = (slot for slot in self._slots if not slot.user_only)
        return Call(
            "profile_normalise",
            {
                "slots": Quote("\n".join(map(_describe, choices)), source="slots"),
                "current": Quote("\n".join(_lines(beliefs)) or "nothing", source="profile"),
                "claims": [_quote(claim) for claim in batch],
            },
            returns=MappingDrafts,
            subjects=tuple(claim.id for claim in batch),
        )

    def _current(self, subject: str) -> list[Belief]:
        return [belief for belief in self._beliefs.all(subject) if belief.holds]

    def _decide_by_reply(
        self, batch: Sequence[Evidence], drafts: Sequence[MappingDraft]
    ) -> dict[str, _Decision]:
        silent = _Refused("silent", "the model did not say where it belongs")
        decisions: dict[str, _Decision] = {claim.id: silent for claim in batch}
        for draft in drafts:
            if not 0 < draft.item <= len(batch):
                continue
            claim = batch[draft.item - 1]
            # the first answer counts: small models repeat themselves
            if decisions[claim.id] is silent:
                decisions[claim.id] = self._decide_by_draft(claim, draft)
        return decisions

    def _decide_by_draft(self, claim: Evidence, draft: MappingDraft) -> _Decision:
        field = draft.field.strip()
        if field.startswith(EXTRAS):
            return self._as_extra(claim, field)
        # the list is closed: by its id, or a name that only one has
        try:
            slot = self._slots.get(field)
        except UnknownNameError:
            return _Refused("unknown_slot", f"the model chose {field!r}, and there is no such slot")
        if not _is_supported(claim, slot):
            reason = f"the model chose {field!r}, of which the claim has no word"
            return _Refused("unsupported", reason)
        return self._place(claim, slot, _value(claim, slot, draft.value))

    def _give_up(
        self,
        claims: Iterable[Evidence],
        decisions: dict[str, _Decision],
        attempts: dict[str, int],
    ) -> None:
        """Make extras of the claims that a model has misplaced too often."""
        for claim in claims:
            decision = decisions.get(claim.id)
            # a model that did not answer has not chosen
            chose = isinstance(decision, _Refused) and decision.count and decision.reason
            if chose and attempts.get(claim.id, 0) + 1 >= _MOST_CHOICES:
                decisions[claim.id] = self._as_extra(claim, claim.key)

    # -- writing -----------------------------------------------------------------------------------

    def _write(
        self,
        claims: Sequence[Evidence],
        decisions: dict[str, _Decision],
        known_failed: Collection[str],
    ) -> None:
        before = {claim.subject: self._current(claim.subject) for claim in claims}
        for claim in claims:
            decision = decisions.get(claim.id)
            if isinstance(decision, _Placed):
                self._report(claim, decision, before[claim.subject])
            elif decision is not None and decision.count:
                self._writer.count(**{decision.count: 1})
        outdated: set[str] = set()
        for _ in range(_ATTEMPTS):
            # a claim goes with the passage that says it, which may be forgotten meanwhile
            there = [
                claim
                for claim in claims
                if claim.id not in outdated
                and self._store.records.get("resources", claim.id) is not None
            ]
            try:
                return self._record(there, decisions, known_failed)
            except GoneError as error:
                known = {claim.id for claim in there}
                # what is made of a claim may name what was forgotten: then all of them wait
                outdated |= known.intersection(error.fields["names"]) or known
                gone = error
        raise gone

    def _record(
        self,
        claims: Sequence[Evidence],
        decisions: dict[str, _Decision],
        known_failed: Collection[str],
    ) -> None:
        new: list[Evidence] = []
        entries: list[Entry] = []
        deleted: list[EntryKey] = []
        for claim in claims:
            decision = decisions.get(claim.id)
            if decision is None:
                continue
            if isinstance(decision, _Placed):
                new += [derived(claim, decision.slot.id, value) for value in decision.values]
            if isinstance(decision, _Refused) and decision.reason:
                # without a model nothing about it has changed
                if self._llm is not None or claim.id not in known_failed:
                    entries.append(self._failure(claim, decision.reason))
            else:
                deleted += [(STAGED, claim.id), failed_item_key(NORMALISE, claim.id)]
        self._recorder.record([claim.id for claim in claims], new, entries=entries, deleted=deleted)

    def _failure(self, claim: Evidence, reason: str) -> Entry:
        return failed_item_entry(
            self._store,
            NORMALISE,
            claim.id,
            reason,
            (claim.id,),
            name=claim.key,
            run_id=self._writer.id,
        )

    def _report(self, claim: Evidence, placed: _Placed, beliefs: Sequence[Belief]) -> None:
        slot = placed.slot
        self._writer.count(normalised=1, extras=int(slot.is_extra))
        there = [one for one in beliefs if (one.slot, one.scope) == (slot.id, claim.scope)]
        for value in placed.values:
            same = any(value_key(one.value) == value_key(value) for one in there)
            is_against = claim.polarity != "for"
            # items of a list do not contradict each other
            contradicts = same if is_against else bool(there) and not same and slot.kind != "list"
            self._mappings.append(
                FieldMapping(
                    raw_key=claim.key,
                    field=slot.id,
                    value=value,
                    is_new=not same and not contradicts,
                    is_reinforcement=same and not is_against,
                    is_contradiction=contradicts,
                    subject=claim.subject,
                    scope=claim.scope,
                    claim=claim.id,
                )
            )


def _batches(claims: Iterable[Evidence]) -> Iterator[list[Evidence]]:
    """The claims of one call each: about one person, by time."""
    by_subject: defaultdict[str, list[Evidence]] = defaultdict(list)
    for claim in claims:
        by_subject[claim.subject].append(claim)
    for some in by_subject.values():
        for start in range(0, len(some), _OF_ONE_CALL):
            yield some[start : start + _OF_ONE_CALL]


def _is_supported(claim: Evidence, slot: Slot) -> bool:
    """Whether a claim has a word of its slot: a small model takes any slot for anything.

    Where a slot says which values there are, having one of them is enough.
    """
    if slot.values and not slot.open:
        return True
    claimed = Relevance(f"{claim.key.replace('_', ' ')}. {claim.quote}")
    return claimed.by_words(slot, "") > 0


def _describe(slot: Slot) -> str:
    holds = {"flag": "yes or no", "number": "a number", "list": "any of a list"}.get(slot.kind, "")
    if slot.values:
        holds = f"{holds} " if slot.kind == "list" else ""
        holds += " | ".join(slot.values) + (" | …" if slot.open else "")
    return f"{slot.id}: {slot.label}" + (f" ({holds.strip()})" if holds else "")


def _lines(beliefs: Iterable[Belief]) -> Iterator[str]:
    for belief in beliefs:
        where = f" [{belief.scope}]" if belief.scope else ""
        yield f"{belief.slot}{where} = {belief.value}"


def _quote(claim: Evidence) -> Quote:
    text = f"key: {claim.key}\nvalue: {claim.value}\nsaid: {claim.quote}"
    polarity = {"for": "", "against": "it is not so", "retire": "it is no longer so"}
    return Quote(text, trust="read", note=polarity[claim.polarity])


def _value(claim: Evidence, slot: Slot, value: str) -> Value:
    """The value in a slot: the model's where the slot says which there are, or where its words are
    those of the claim; else the claim's own.
    """
    if claim.value == "" or not value.strip():
        return claim.value
    if slot.kind in ("flag", "number") or slot.values:
        return value
    words = set(_WORD.findall(f"{claim.value} {claim.quote}".casefold()))
    return value if words.issuperset(_WORD.findall(value.casefold())) else claim.value
