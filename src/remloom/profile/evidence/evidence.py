"""Evidence: what one passage, or the user, says of a person; a record like any other.

Evidence is a resource without text of its own, whose parent is the passage that says it. So it is
exported, copied and found by SQL like any other, and forgetting the passage forgets it. Beside it
an entry of the store places it under the belief that it bears on (see `belief_store`).

Claims that wait to be normalised are evidence without a slot, as durable as any. Source: seed 4,
"Stage 2: Staging Queue". A claim leaves it in the transaction that writes what was made of it, or
when only the user may say it; never because something failed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from itertools import islice
from typing import Any, Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from uuid_utils import NAMESPACE_URL, uuid5

from ...kv import Entry
from ...model import Resource
from ...model.records import cited
from ...model.reports import MOST_MENTIONS
from ...runs.failures import failed_items
from ...store.contract import Reads, Store
from ...store.forgetting.remaining_words import find_mentions
from ...text.secrets import mask
from .claim import Claim, Polarity, Signal, Value

ME = "me"  # the subject that is the user; anybody else goes by their name

KIND = "evidence"  # of the records
CATEGORY = "profile"
# namespaces of the entries: evidence of a belief, and what waits to be normalised
EVIDENCE = "profile.evidence"
STAGED = "profile.staged"

LONGEST_QUOTE = 300  # characters

_NAMESPACE = uuid5(NAMESPACE_URL, "https://remloom.dev/evidence")

# Who says it, the strongest first. What a weaker one says never ends what a stronger one said.
Authority: TypeAlias = Literal["edit", "statement", "confirmed", "observed", "inferred"]
# of what the caller does; reading never sets these
BY_HAND: tuple[Authority, ...] = ("edit", "confirmed")
NORMALISE = "normalise"  # kind of runs
ENOUGH = 10  # claims that are normalised at once
LONGEST_WAIT = timedelta(hours=6)  # of fewer claims
MASK = re.compile(r"\[secret: [^\]]*\]")
_WORD = re.compile(r"\w")
_LAST = ("profile.normalised", "last")


class Evidence(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One piece of evidence.

    Args:
        id: of its record.
        subject: of whom it speaks: "me", or a name.
        slot: the id of its slot; empty while it waits to be normalised.
        key: what it is about, as it was found.
        value, polarity, signal, scope, confident: see `Claim`.
        authority: who says it: the user in an edit or a statement, …
        source: the kind of passage: chat, note, saved, browsing, news, session, edit, …
        extractor: what found it: "rules", the name of a model, or "user".
        passage: the id of the record that says it; empty for an edit.
        claim: the id of the evidence that waited to be normalised, of which this was made.
        quote: the words that say it.
        span: where they stand in the passage.
        citation: of the passage, such as "chat.json:12".
        message_ids: of the turn that says it.
        at: when it was said.
        since: from when on it is so, where the passage says so; see `Claim`.
        group: what is said in one sitting counts once: that has one group; see `_group`.
        ordinal: where its passage stands among those of its source; tells what was said first of
            what has one time.
        made_at: when an edit was made that says what was so at another time; None: at that time.
        hard: nothing but another edit ends it, and it does not fade.
        note: why the user changed it, in their words.
        run: the run that wrote it.
    """

    id: str
    subject: str = ME
    slot: str = ""
    key: str = ""
    value: Value = ""
    polarity: Polarity = "for"
    signal: Signal = "explicit_preference"
    authority: Authority = "statement"
    source: str = "chat"
    extractor: str = "rules"
    scope: str = ""
    passage: str = ""
    claim: str = ""
    quote: str = ""
    span: tuple[int, int] = (0, 0)
    citation: str = ""
    message_ids: tuple[str, ...] = ()
    at: datetime
    since: str = ""
    group: str = ""
    confident: bool = True
    ordinal: int = 0
    made_at: datetime | None = None
    hard: bool = False
    note: str = ""
    run: str = ""

    @property
    def order(self) -> tuple[int, int]:
        """Where it stands in its source: the later of two of one time counts."""
        return self.ordinal, self.span[0]


def from_claim(
    claim: Claim,
    passage: Resource,
    *,
    tenant: str,
    subject: str,
    slot: str,
    authority: Authority,
    extractor: str,
    now: datetime,
) -> Evidence:
    # what a passage says of the time before it was said is known since it was said
    at = passage.starts_at or passage.created_at or now
    return Evidence(
        id=evidence_id(tenant, subject, passage.id, claim),
        subject=subject,
        slot=slot,
        key=claim.key,
        value=claim.value,
        polarity=claim.polarity,
        signal=claim.signal,
        authority=authority,
        source=passage.category or "document",
        extractor=extractor,
        scope=claim.scope,
        passage=passage.id,
        quote=claim.quote[:LONGEST_QUOTE],
        span=claim.span,
        citation=_citation(passage),
        message_ids=passage.message_ids,
        at=min(at, now),
        since=claim.since,
        group=_group(passage, at),
        confident=claim.confident,
        ordinal=passage.ordinal,
    )


def evidence_id(tenant: str, subject: str, passage: str, claim: Claim) -> str:
    """Return the id of evidence: what is found again in the same place gets the same."""
    parts = (
        tenant,
        subject,
        passage,
        claim.key,
        claim.polarity,
        value_key(claim.value),
        claim.scope,
        str(claim.span[0]),
    )
    return str(uuid5(_NAMESPACE, "\n".join(parts)))


def derived(evidence: Evidence, slot: str, value: Value) -> Evidence:
    """Return the evidence that is made of other evidence, for a slot; the same each time."""
    id = uuid5(_NAMESPACE, "\n".join((evidence.id, slot, value_key(value))))
    return replace(evidence, id=str(id), slot=slot, value=value, claim=evidence.id, run="")


def to_record(evidence: Evidence, premises: Mapping[str, str] = {}) -> Resource:
    """The record that keeps a piece of evidence; it has no text, so that no search finds it.
    `premises` are those of passages; what was made of other evidence has none."""
    fields = msgspec.to_builtins(evidence)
    for name in ("id", "at", "run"):
        fields.pop(name, None)
    parent = evidence.claim or evidence.passage
    return Resource(
        id=evidence.id,
        # not a word, so that no search for names finds it
        name=evidence.id,
        category=CATEGORY,
        kind=KIND,
        trust="told" if evidence.authority in ("edit", "statement", "confirmed") else "derived",
        parents=(parent,) if parent else (),
        premises={parent: premises[parent]} if parent in premises else {},
        starts_at=evidence.at,
        metadata=fields,
    )


def from_record(record: Resource) -> Evidence:
    fields: dict[str, Any] = {**record.metadata, "id": record.id, "at": record.starts_at}
    return msgspec.convert(fields, Evidence)


def stored_resources(reads: Reads, ids: Iterable[str]) -> list[Resource]:
    named = [id for id in ids if id]
    found = reads.records.of(named)
    records = (found.get(id) for id in named)
    return [record for record in records if isinstance(record, Resource)]


def stored_evidence(reads: Reads, ids: Iterable[str]) -> list[Evidence]:
    """The evidence of these ids that is there."""
    return [from_record(record) for record in stored_resources(reads, ids)]


def belief_key(person: str, slot: str, scope: str, item: Value | None = None) -> str:
    """The key of the belief that evidence bears on: no words can be read out of it. Of a list
    each item is a belief, and the empty item the list as a whole."""
    name = "" if item is None else value_key(item)
    return key_prefix(person, slot) + _digest("\0".join((slot, scope, name)))


def key_prefix(person: str, slot: str) -> str:
    """What the keys of all beliefs of a person in a slot begin with."""
    return f"{person}/{_digest(slot)[:8]}"


def key_of_subject(subject: str) -> str:
    return _digest(value_key(subject))


def value_key(value: Value) -> str:
    """What two values that are the same have in common."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return " ".join(str(value).casefold().split())


def _citation(passage: Resource) -> str:
    """Where it is said: lines or pages; of a turn without them, its id, or which one it is."""
    if not passage.uri:
        return passage.name
    citation = cited(passage.uri, passage.metadata)
    if citation != passage.uri or "speaker" not in passage.metadata:
        return citation
    turn = next(iter(passage.message_ids), str(passage.ordinal + 1))
    return f"{citation}#{turn}"


def _group(passage: Resource, at: datetime) -> str:
    """Name the sitting: a day of a chat, or a whole document; a copy of another uri is another."""
    if "speaker" in passage.metadata:
        return _digest(f"{passage.uri}\0{at.astimezone(UTC):%Y-%m-%d}")
    return _digest(passage.uri or passage.id)


def _digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def staged(store: Reads) -> list[Evidence]:
    """The claims that wait, the oldest first."""
    claims = stored_evidence(store, (entry.key for entry in store.kv.list(STAGED)))
    return sorted(claims, key=lambda claim: (claim.at, claim.id))


def normalised_entry(now: datetime) -> Entry:
    return Entry(*_LAST, msgspec.json.encode({"at": now}))


def is_due(store: Store, now: datetime) -> bool:
    """Whether ten claims wait that were not tried yet, or any since six hours, failed ones too."""
    ids = {entry.key for entry in store.kv.list(STAGED)}
    if not ids:
        return False
    failed = {item.item for item in failed_items(store, NORMALISE)}
    if len(ids - failed) >= ENOUGH:
        return True
    if last := store.kv.get(*_LAST):
        since = msgspec.json.decode(last.value, type=dict[str, datetime])["at"]
    else:
        waiting = stored_resources(store, ids)
        times = [one.created_at for one in waiting if one.created_at]
        since = min(times, default=now)
    # a clock that was set back must not make them wait for it to catch up
    return now - since >= LONGEST_WAIT or since > now


def mask_evidence(evidence: Evidence) -> tuple[Evidence, int]:
    """Evidence with its words masked, and how many secrets were in them."""
    count = 0
    changes: dict[str, Value] = {}
    for name in ("key", "value", "quote", "note"):
        value = getattr(evidence, name)
        masked, secrets = mask(value) if isinstance(value, str) else (value, 0)
        if secrets:
            count += secrets
            changes[name] = masked
    return (replace(evidence, **changes) if changes else evidence), count


def is_only_secret(value: Value) -> bool:
    """Whether nothing is left of a masked value but masks."""
    if not isinstance(value, str) or MASK.search(value) is None:
        return False
    return _WORD.search(MASK.sub("", value)) is None


def evidence_of(reads: Reads, passages: Iterable[str]) -> Iterator[str]:
    """Yield the ids of the evidence that was made of passages."""
    made = reads.records.resting(list(passages), (), category=CATEGORY)
    yield from (record.id for record in stored_resources(reads, made) if record.kind == KIND)


def records_with(
    store: Store, evidence: Iterable[Evidence], values: Iterable[Value], gone: Collection[str]
) -> tuple[str, ...]:
    """List the ids of records that stay and still say what was forgotten: the passages that the
    evidence was found in, and what says one of the values; up to `MOST_MENTIONS`."""
    passages = [one.id for one in stored_resources(store, (one.passage for one in evidence))]
    names = [value for value in values if isinstance(value, str) and value]
    found = dict.fromkeys((*passages, *find_mentions(store, names, will_be=dict.fromkeys(gone))))
    return tuple(islice((id for id in found if id not in gone), MOST_MENTIONS))
