"""Extraction by a model: what people say of themselves, each claim with a quote that is checked.

Source: seed 4, "Stage 1: Extractor". The model knows no slots: its keys are free, and wait until
they are normalised. A claim whose quote is not in the turn that it names is not believed.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

from msgspec import Meta, Struct
from msgspec.structs import replace

from ...errors import BudgetError, CutOffError, FullReplyError, InvalidInputError, ModelError
from ...llm import Call, Quote
from ...model import Resource
from ...predicates import Eq, Gte, Lte, Query
from ...runs.writer import Writer
from ...store.contract import Store
from ...text.quoting import cleaned, cleaned_origins
from ...text.secrets import mask
from ...text.sentences import count_words, middle
from ..evidence.claim import Claim, Polarity, StatedSignal, check_scope
from ..evidence.passages import Passage
from ..slots.slot_names import identifier
from .scan import Extracted, FoundClaim

if TYPE_CHECKING:
    from ...llm import LLM


_WORDS = 1_000  # of the turns of one call
_CONTEXT = 600  # characters of a turn that is only context
_BEFORE = 2  # turns before the first that are context
_MOST_CONTEXT = 100  # turns
_SHORTEST_QUOTE = 3  # letters and digits
_TOO_MUCH = (FullReplyError, CutOffError)  # for one reply
_APOSTROPHES = "['’‘`´]"
_QUOTES = '["“”„«»]'


class ClaimDraft(Struct, frozen=True, kw_only=True):
    """A claim as a model replies with it."""

    key: Annotated[str, Meta(extra_json_schema={"maxLength": 48})]
    value: Annotated[str, Meta(extra_json_schema={"maxLength": 120})] = ""
    polarity: Polarity = "for"
    signal: StatedSignal = "explicit_preference"
    scope: Annotated[str, Meta(extra_json_schema={"maxLength": 40})] = ""
    quote: Annotated[str, Meta(extra_json_schema={"maxLength": 240})]
    message: int = 1


ClaimDrafts: TypeAlias = Annotated[list[ClaimDraft], Meta(extra_json_schema={"maxItems": 16})]


class _Piece(Struct, frozen=True):
    """The turns of one call, in order; those to be looked at are passages.

    Args:
        within: the part of the only passage that is looked at, by offsets; default all of it.
    """

    turns: tuple[Passage | Resource, ...]
    within: tuple[int, int] = (0, sys.maxsize)

    @property
    def passages(self) -> list[Passage]:
        return [turn for turn in self.turns if isinstance(turn, Passage)]

    def text(self, passage: Passage) -> str:
        return passage.record.content[slice(*self.within)]

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(_record(turn).id for turn in self.turns)


class ModelExtractor:
    """Finds claims in passages by asking a model; called with passages whose secrets are masked."""

    def __init__(self, store: Store, writer: Writer, llm: LLM) -> None:
        self._store = store
        self._writer = writer
        self._llm = llm

    def __call__(self, passages: Sequence[Passage]) -> Extracted:
        """Ask the model about passages.

        A piece that has more claims than a reply may have is asked about in halves, down to a
        sentence. A piece whose call fails has failed, all of it; what the budget does not allow is
        left over.
        """
        pieces = list(self._pieces(passages))
        found: list[FoundClaim] = []
        failed: list[tuple[Passage, Exception]] = []
        left: list[Passage] = []
        spent: BudgetError | None = None
        while pieces:
            replies = self._llm.ask_all([_call(piece) for piece in pieces])
            self._writer.count_calls(replies)
            again: list[_Piece] = []
            for piece, reply in zip(pieces, replies, strict=True):
                halves = self._halves(piece) if isinstance(reply, _TOO_MUCH) else []
                again += halves
                if isinstance(reply, BudgetError):
                    spent = reply
                    left += piece.passages
                elif isinstance(reply, ModelError) and not halves:
                    failed += [(passage, reply) for passage in piece.passages]
                    found += self._checked(piece, getattr(reply, "items", ()))
                elif not halves:
                    found += self._checked(piece, reply)
            pieces = again
        # a model hears every language
        return Extracted(tuple(found), tuple(failed), tuple(left), spent, unheard={})

    def _pieces(self, passages: Sequence[Passage]) -> Iterator[_Piece]:
        by_source: defaultdict[str, list[Passage]] = defaultdict(list)
        for passage in passages:
            # what was done is not said: it has no words to quote
            if not passage.is_behaviour:
                by_source[passage.record.uri or passage.record.id].append(passage)
        for some in by_source.values():
            some.sort(key=lambda passage: (passage.record.ordinal, passage.record.id))
            for group in _sized(some):
                yield self._with_context(group)

    def _halves(self, piece: _Piece) -> list[_Piece]:
        """A piece in smaller ones: two, or itself without context; none where it is one
        sentence."""
        passages = piece.passages
        if len(passages) > 1:
            half = len(passages) // 2
            return [self._with_context(some) for some in (passages[:half], passages[half:])]
        if len(piece.turns) > 1:
            # what is only context may be what fills the reply
            return [_Piece((passages[0],))]
        start, end = piece.within
        if not (size := middle(piece.text(passages[0]))):
            return []
        cut = start + size
        return [replace(piece, within=part) for part in ((start, cut), (cut, end))]

    def _with_context(self, passages: Sequence[Passage]) -> _Piece:
        """Passages with what was said before them and between them."""
        first, last = passages[0].record, passages[-1].record
        if "speaker" not in first.metadata or not first.uri:
            return _Piece(tuple(passages))
        window = (
            Query(Eq("uri", first.uri))
            .filter(Gte("ordinal", first.ordinal - _BEFORE))
            .filter(Lte("ordinal", last.ordinal))
            .limit(_MOST_CONTEXT)
        )
        own = {passage.record.id for passage in passages}
        others = [
            record
            for record in self._store.records.query("resources", window)
            if isinstance(record, Resource) and record.id not in own and not record.generation
        ]
        turns: list[Passage | Resource] = [*passages, *others]
        turns.sort(key=lambda turn: (_record(turn).ordinal, _record(turn).id))
        return _Piece(tuple(turns))

    def _checked(self, piece: _Piece, drafts: Sequence[ClaimDraft]) -> Iterator[FoundClaim]:
        """The claims that hold against the turns; the others are counted."""
        for draft in drafts:
            turn = piece.turns[draft.message - 1] if 0 < draft.message <= len(piece.turns) else None
            span = _place(draft.quote, turn, piece) if isinstance(turn, Passage) else None
            if not isinstance(turn, Passage) or span is None:
                self._writer.count(fabricated=1)
            elif not _is_sound(draft):
                self._writer.count(unusable=1)
            else:
                yield FoundClaim(turn, _claim(draft, turn.record.content, span))


def _record(turn: Passage | Resource) -> Resource:
    return turn.record if isinstance(turn, Passage) else turn


def _sized(passages: Sequence[Passage]) -> Iterator[list[Passage]]:
    group: list[Passage] = []
    words = 0
    for passage in passages:
        size = count_words(passage.record.content)
        if group and words + size > _WORDS:
            yield group
            group, words = [], 0
        group.append(passage)
        words += size
    if group:
        yield group


def _call(piece: _Piece) -> Call:
    turns = [_quote(turn, piece) for turn in piece.turns]
    slots = {"turns": turns}
    return Call("profile_extract", slots, returns=ClaimDrafts, subjects=piece.ids, lists_all=True)


def _quote(turn: Passage | Resource, piece: _Piece) -> Quote:
    record = _record(turn)
    speaker = record.metadata.get("speaker", "") or "the user's notes"
    when = f"{record.starts_at:%Y-%m-%d}" if record.starts_at else ""
    if isinstance(turn, Passage):
        return Quote(piece.text(turn), source=str(speaker), trust=record.trust, note=when)
    # masked here, as nobody has looked at it before
    text = mask(record.content)[0][:_CONTEXT]
    return Quote(text, source=f"context: {speaker}", trust=record.trust, note=when)


def _place(quote: str, passage: Passage, piece: _Piece) -> tuple[int, int] | None:
    """Where a quote stands in what the model saw of a text, whatever the case, blanks and kinds
    of quotation marks."""
    words = quote.split()
    if sum(char.isalnum() for char in quote) < _SHORTEST_QUOTE:
        return None
    pattern = r"\s+".join(map(_pattern, words))
    text = piece.text(passage)
    found = re.search(pattern, cleaned(text), re.IGNORECASE)
    if not found:
        return None
    origins, start = cleaned_origins(text), piece.within[0]
    return start + origins[found.start()], start + origins[found.end() - 1] + 1


def _pattern(word: str) -> str:
    pattern = re.sub(_APOSTROPHES, lambda _: _APOSTROPHES, re.escape(word))
    return re.sub(_QUOTES, lambda _: _QUOTES, pattern)


def _is_sound(draft: ClaimDraft) -> bool:
    """Whether a claim can be kept: its key is one, its scope too, and it says something."""
    try:
        identifier(draft.key)
        check_scope(draft.scope)
    except InvalidInputError:
        return False
    return bool(draft.value.strip()) or draft.polarity == "retire"


def _claim(draft: ClaimDraft, content: str, span: tuple[int, int]) -> Claim:
    return Claim(
        key=draft.key.strip(),
        value=" ".join(draft.value.split()),
        polarity=draft.polarity,
        signal=draft.signal,
        scope=check_scope(draft.scope),
        quote=content[span[0] : span[1]],
        span=span,
    )
