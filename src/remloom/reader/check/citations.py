"""Citations: whether the lines that a sentence cites exist, were shown, and have its quote.

Quotes are looked for, and a head judges whether the sentence follows from what is quoted; no model
is asked. What has no doubt is quoted, and may still be false.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Annotated

from msgspec import Struct

from ... import labels
from ...heads.differences import Comparison, Difference, compare, content_words, differences
from ...heads.head import Decision, head
from ...llm.prompts import hint
from ...text.analysis import terms
from ...text.language import are_of_two_languages
from ...text.sentences import UNSPACED, marked_ends, sentence_ends
from ..result import Cited, Sentence
from .evidence import ShownLines
from .quotes import WORD, QuoteFinder, QuoteMatch, folded, plain_words, quote_words

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
_DOUBTED = 0.4  # probability of a lie: one that passes costs a reader more than a false doubt
_NAME = 3  # words at most
_LONGEST = 4_000  # characters of a sentence that are looked at
_MOST_CITED = 60_000  # characters of the lines
_MOST_NAMED = 4  # words in a doubt
_LONGEST_NAMED = 60  # characters
_MOST_MENDED = 12  # parts of a sentence that are tried
_MARKED = re.compile(r"\[[^\[\]]*\bLines? [\d-]+\]", re.IGNORECASE)
_BROKEN = re.compile(r"(?<=[^\W\d_])[-\u2010\u2011\u00ad][ \t]*\n[ \t]*(?=[^\W\d_])")
_WORD = re.compile(r"\w+(?:['’]\w+)?")


# The limits are part of what the model is asked. A reply that goes beyond is taken all the same.
class Draft(Struct, frozen=True, kw_only=True):
    """A sentence as a model wrote it, and what it says it rests on."""

    text: Annotated[str, hint(maxLength=360)]
    document: Annotated[str, hint(maxLength=120)] = ""
    first_line: int = 0
    last_line: int = 0
    quote: Annotated[str, hint(maxLength=300)] = ""


class _Scope(Struct, frozen=True):
    """The whole sentences that a quote is of."""

    text: str
    count: int = 1  # sentences


class CitationChecker:
    """Checks sentences against the lines that were shown in a reading."""

    def __init__(self, evidence: ShownLines) -> None:
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
        if len(self._names) == 1:
            return next(iter(self._names.values()))
        return self._names.get(labels.try_key(name), "")

    def _locate(self, draft: Draft, name: str, match: QuoteMatch) -> Cited:
        """The lines to be cited: the draft's if they hold the quote, else the quote's own."""
        first, last = draft.first_line, max(draft.first_line, draft.last_line)
        if match.found != "moved" and first <= match.first and match.last <= last:
            if not self._evidence.was_shown(name, first, last) or last - first >= _MOST_LINES:
                first, last = match.first, match.last
            return self._cited(name, first, last, draft.quote, match)
        return self._cited(match.document, match.first, match.last, draft.quote, match)

    def _cited(self, name: str, first: int, last: int, quote: str, match: QuoteMatch) -> Cited:
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

    def _describe_range(self, draft: Draft, name: str, match: QuoteMatch) -> str:
        if not draft.quote.strip() and not draft.first_line:
            return "it cites nothing"
        if not name:
            return f"there is no document {draft.document!r}, and {match.problem}"
        size = len(self._evidence.documents[name])
        which = f"lines {draft.first_line}-{max(draft.first_line, draft.last_line)}"
        if draft.first_line < 1 or draft.last_line > size:
            return f"there are no {which} in {name!r}, which has {size}, and {match.problem}"
        return f"{which} were not read, and {match.problem}"

    def _quote_doubts(self, quote: str, match: QuoteMatch, scope: _Scope) -> Iterator[str]:
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


def describe_lines(document: str, first: int, last: int, *, named: bool) -> str:
    """Write lines of a document, as "[Lines 3-9]" or "[novel: Lines 3-9]"."""
    prefix = f"{' '.join(document.split())}: " if named else ""
    return f"[{prefix}Lines {first}-{last}]"


def without_citations(text: str) -> str:
    """A sentence without the citations that a model wrote into it."""
    return _MARK.sub("", " ".join(text.split())).strip()


def _read_scope(texts: Sequence[str], match: QuoteMatch) -> _Scope:
    """Read the whole sentences that a quote is of, those over several lines included."""
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


class Basis(Struct, frozen=True, kw_only=True):
    """What a sentence rests on."""

    scope: str  # the sentences that the quote is of
    cited: str  # all lines that are cited


def doubts(sentence: str, basis: Basis) -> list[str]:
    """List the reasons to doubt that the lines say this."""
    claim = _MARKED.sub(" ", sentence[:_LONGEST]).strip()
    scope, cited = _BROKEN.sub("", basis.scope), _BROKEN.sub("", basis.cited[:_MOST_CITED])
    if are_of_two_languages(claim, cited):
        return ["it is in another language than the lines: not checked"]
    claimed = content_words(claim)
    if claimed and claimed.keys().isdisjoint(content_words(f"{scope}\n{cited}")):
        # the head knows only claims that are about their lines
        return [_say_nothing(_missing(claimed, ()), claim)]
    compared = compare(claim, scope)
    # a name alone, as lists have it, claims nothing
    is_named = len(compared.words) <= _NAME and compared.is_within
    if compared.is_same or is_named:
        return []
    lines = _lines_about(claimed, scope, cited)
    decision = head("support").decide_by(differences(claim, lines))
    if _lie(decision) < _DOUBTED:
        return []
    reason = _reason(claim, lines)
    return [f"{reason} ({decision.head}, {_lie(decision):.2f})"]


def _lie(decision: Decision) -> float:
    return decision.probabilities["lie"]


def _lines_about(stems: Collection[str], scope: str, cited: str) -> str:
    """The quoted sentences, and others of the cited lines that have words of a sentence which these
    lack; only the others if the quote has none of its words."""
    known = content_words(scope)
    unknown = {stem for stem in stems if stem not in known}
    pieces = _pieces(cited) if unknown else []
    of_pieces = [unknown.intersection(content_words(piece)) for piece in pieces]
    chosen = []
    while any(of_pieces):
        best = max(range(len(pieces)), key=lambda at: len(of_pieces[at]))
        chosen.append(best)
        found = of_pieces[best]
        of_pieces = [one - found for one in of_pieces]
    others = [pieces[at] for at in sorted(chosen)]
    is_about = len(unknown) < len(stems) or not others
    return "\n".join([scope, *others] if is_about else others)


def _pieces(text: str) -> list[str]:
    ends = [*marked_ends(text), len(text)]
    return [text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False)]


def _reason(claim: str, lines: str) -> str:
    """Say what differs: the part that makes it a lie, or else what the lines do not have."""
    compared = compare(claim, lines)
    mended = [(_lie_when_mended(compared, part, lines), part) for part in _mendable(compared)]
    best, part = min(mended, default=(1.0, None), key=lambda pair: pair[0])
    if part is not None and (best < _DOUBTED or compared.is_copy):
        return _describe(part, claim, lines)
    if missing := _missing(content_words(claim), content_words(lines)):
        return _say_nothing(missing, claim)
    return "it may not follow from the lines"


def _mendable(compared: Comparison) -> Iterator[Difference]:
    for part in compared.parts[:_MOST_MENDED]:
        if len(part.words) <= _MOST_NAMED and len(part.instead) == part.left_out <= _MOST_NAMED:
            yield part


def _lie_when_mended(compared: Comparison, part: Difference, lines: str) -> float:
    """How probable a lie is where a sentence has the words of the lines in place of its own."""
    words = compared.words
    mended = [*words[: part.start], *part.instead, *words[part.start + len(part.words) :]]
    return _lie(head("support").decide_by(differences(" ".join(mended), lines)))


def _describe(part: Difference, claim: str, lines: str) -> str:
    claimed, written = _spelled(part.words, claim), _spelled(part.instead, lines)
    if not written:
        return f"it says {claimed!r}, and the lines do not"
    if not claimed:
        return f"the lines say {written!r}, and it does not"
    return f"it says {claimed!r} where the lines say {written!r}"


def _say_nothing(missing: Sequence[str], claim: str) -> str:
    named = ", ".join(repr(_spelled([word], claim)) for word in missing[:_MOST_NAMED])
    return f"the lines say nothing of {named}"


def _missing(claimed: Mapping[str, str], there: Collection[str]) -> list[str]:
    return list(dict.fromkeys(word for stem, word in claimed.items() if stem not in there))


def _spelled(words: Sequence[str], text: str) -> str:
    spelling = {match[0].replace("’", "'").casefold(): match[0] for match in _WORD.finditer(text)}
    spelled = " ".join(spelling.get(word, word) for word in words)
    return spelled if len(spelled) <= _LONGEST_NAMED else f"{spelled[:_LONGEST_NAMED]}…"
