"""Citations: whether the lines that a sentence cites exist, were shown, and have its quote.

No model is asked: quotes are looked for, and a head judges whether the sentence follows from what
is quoted (see `support`). What does not gets a doubt that says why; what has no doubt is quoted,
and may still be false.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Annotated

from msgspec import Meta, Struct

from ... import labels
from ...text.analysis import terms
from ...text.scripts import UNSPACED
from ...text.sentences import sentence_ends
from ..result import Cited, Sentence
from .evidence import Evidence
from .quotes import WORD, Match, QuoteFinder, folded, plain_words, quote_words
from .support import Basis, doubts

DOUBTFUL = "[doubtful]"  # behind a sentence of an answer that has a doubt
_MOST_LINES = 12  # of a citation; of a longer one the lines of the quote are cited
_FEWEST_WORDS = 3  # of a quote that is not a whole line
_FEWEST_CHARACTERS = 6  # of one in a script without blanks
_UNSPACED = re.compile(f"[{UNSPACED}]")
_RANGE = r"\d+(?: ?[-–] ?\d+)?"
_MARK = re.compile(
    rf" ?\[(?:(?:[^\[\]]{{0,120}}: ?)?Lines? {_RANGE}(?:(?: ?[,;&] ?| and )(?:Lines? )?{_RANGE})*"
    r"|doubtful)\]",
    re.IGNORECASE,
)

_AROUND = 6  # lines before and after a quote into which its sentence may reach
_SHORTEST = 40  # characters of a line that may go on in the next
_PART = re.compile(r";\s+")
_PARAGRAPH = re.compile(r"\n\s*\n")
_WRAP = re.compile(r"\n(?!\s*\n)")
_CLOSED = re.compile(r"[.;:!?。！？][\"”’)\]*_]*\s*$")
_ITEM = re.compile(r"\s*(?:[-*•–#|>]|\(?\w{1,4}[.)]\s|\d+(?:\.\d+)+\.?\s)")


# The limits are part of what the model is asked. A reply that goes beyond is taken all the same.
class Draft(Struct, frozen=True, kw_only=True):
    """A sentence as a model wrote it, and what it says it rests on."""

    text: Annotated[str, Meta(extra_json_schema={"maxLength": 360})]
    document: Annotated[str, Meta(extra_json_schema={"maxLength": 120})] = ""
    first_line: int = 0
    last_line: int = 0
    quote: Annotated[str, Meta(extra_json_schema={"maxLength": 300})] = ""


class _Scope(Struct, frozen=True):
    """The whole sentences that a quote is of."""

    text: str
    count: int = 1  # sentences


class CitationChecker:
    """Checks sentences against the lines that were shown in a reading."""

    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence
        self._finder = QuoteFinder(evidence)
        self._names = {labels.try_key(name): name for name in evidence.documents}

    def check(self, draft: Draft) -> Sentence:
        """Check a sentence: where its quote stands, and whether that says what it says."""
        text = without_citations(draft.text)
        name = self._find_document(draft.document)
        first, last = draft.first_line, max(draft.first_line, draft.last_line)
        match = self._finder.find(draft.quote, name, first, last)
        if match.found == "unfounded":
            is_shown = bool(name) and self._evidence.was_shown(name, first, last)
            kept = (self._cited(name, first, last, draft.quote, match),) if is_shown else ()
            reason = match.problem if is_shown else self._describe_range(draft, name, match)
            return Sentence(text=text, citations=kept, doubt=reason)
        citation = self._locate(draft, name, match)
        lines = self._evidence.documents[citation.document]
        scope = _read_scope(lines.texts, match)
        basis = Basis(scope=scope.text, cited=lines.text(citation.first, citation.last))
        reasons = [*self._quote_doubts(draft.quote, match, scope), *doubts(text, basis)]
        return Sentence(text=text, citations=(citation,), doubt="; ".join(reasons))

    def _find_document(self, name: str) -> str:
        """The document that a model means; empty if that is unknown."""
        if len(self._names) == 1:
            return next(iter(self._names.values()))
        return self._names.get(labels.try_key(name), "")

    def _locate(self, draft: Draft, name: str, match: Match) -> Cited:
        """The lines to be cited: the draft's if they hold the quote, else the quote's own."""
        first, last = draft.first_line, max(draft.first_line, draft.last_line)
        if match.found != "moved" and first <= match.first and match.last <= last:
            if not self._evidence.was_shown(name, first, last) or last - first >= _MOST_LINES:
                first, last = match.first, match.last
            return self._cited(name, first, last, draft.quote, match)
        return self._cited(match.document, match.first, match.last, draft.quote, match)

    def _cited(self, name: str, first: int, last: int, quote: str, match: Match) -> Cited:
        lines = self._evidence.documents[name]
        return Cited(
            uri=lines.uri,
            document=name,
            first=first,
            last=last,
            quote=" ".join(quote.split()),
            found=match.found,
            page=lines.page(first),
            lined=lines.lined,
        )

    def _describe_range(self, draft: Draft, name: str, match: Match) -> str:
        """Say what is wrong with lines that were never shown."""
        if not draft.quote.strip() and not draft.first_line:
            return "it cites nothing"
        if not name:
            return f"there is no document {draft.document!r}, and {match.problem}"
        size = len(self._evidence.documents[name])
        which = f"lines {draft.first_line}-{max(draft.first_line, draft.last_line)}"
        if draft.first_line < 1 or draft.last_line > size:
            return f"there are no {which} in {name!r}, which has {size}, and {match.problem}"
        return f"{which} were not read, and {match.problem}"

    def _quote_doubts(self, quote: str, match: Match, scope: _Scope) -> Iterator[str]:
        parts = quote_words(quote)
        if len(parts) > 1 and scope.count > 1:
            yield "the quote joins words of several sentences"
        words = [word for part in parts for word in part if word.isalnum()]
        unspaced = len(_UNSPACED.findall(quote))
        is_long = len(words) >= (_FEWEST_CHARACTERS if unspaced * 2 > len(words) else _FEWEST_WORDS)
        if is_long and (terms(" ".join(words)) or unspaced):
            return
        texts = self._evidence.documents[match.document].texts
        whole = plain_words("\n".join(texts[match.first - 1 : match.last]))
        if len(words) < len(whole):
            yield "the quote is too short to prove anything"


def cite(citation: Cited, *, named: bool) -> str:
    """Write a citation, as "[Lines 3-9]" or "[novel: Lines 3-9]"."""
    return describe_lines(citation.document, citation.first, citation.last, named=named)


def describe_lines(document: str, first: int, last: int, *, named: bool) -> str:
    """Write lines of a document, as "[Lines 3-9]" or "[novel: Lines 3-9]"."""
    prefix = f"{' '.join(document.split())}: " if named else ""
    return f"[{prefix}Lines {first}-{last}]"


def without_citations(text: str) -> str:
    """A sentence without the citations that a model wrote into it."""
    return _MARK.sub("", " ".join(text.split())).strip()


def _read_scope(texts: Sequence[str], match: Match) -> _Scope:
    """Read the whole sentences that a quote is of, a sentence going over several lines included."""
    first, last = match.first, match.last
    while first > 1 and match.first - first < _AROUND and _goes_on(texts, first - 1):
        first -= 1
    while last < len(texts) and last - match.last < _AROUND and _goes_on(texts, last):
        last += 1
    before = "\n".join(texts[first - 1 : match.first - 1])
    text = folded("\n".join(texts[first - 1 : last]))
    spans = [word.span() for word in WORD.finditer(text)]
    start = len(WORD.findall(folded(before))) + match.start
    if not spans:
        return _Scope(text)
    begin = spans[min(start, len(spans) - 1)][0]
    end = spans[min(start + match.words, len(spans)) - 1][1]
    paragraphs = (end.end() for end in _PARAGRAPH.finditer(text))
    sentences = {*sentence_ends(_WRAP.sub(" ", text)), *paragraphs}
    cuts = [*sentences, *(part.end() for part in _PART.finditer(text))]
    opening = max((cut for cut in cuts if cut <= begin), default=0)
    closing = min((cut for cut in cuts if cut >= end), default=len(text))
    within = sum(begin < cut < end for cut in sentences)
    return _Scope(text[opening:closing].strip(), 1 + within)


def _goes_on(texts: Sequence[str], line: int) -> bool:
    """Whether the sentence at the end of a line goes on in the next."""
    text, following = texts[line - 1], texts[line]
    if not following.strip() or _CLOSED.search(text[-8:]) or _ITEM.match(following):
        return False
    return len(text.strip()) >= _SHORTEST
