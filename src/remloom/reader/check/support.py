"""Whether lines say what a sentence says, as far as the head "support" can tell, without a model.

It judges by the words in which the two differ. It was trained on English lines with right and wrong
claims about each; docs/reader.md says how often it is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from msgspec import Struct

from ...heads.differences import Comparison, Part, compare, content_words, differences
from ...heads.head import Decision, head
from ...text.language import are_of_two_languages
from ...text.sentences import marked_ends

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


class Basis(Struct, frozen=True, kw_only=True):
    """What a sentence rests on."""

    scope: str  # the sentences that the quote is of
    cited: str  # all lines that are cited


def doubts(sentence: str, basis: Basis) -> list[str]:
    """List the reasons to doubt that the lines say this; none if there are none."""
    claim = _MARKED.sub(" ", sentence[:_LONGEST]).strip()
    scope, cited = _BROKEN.sub("", basis.scope), _BROKEN.sub("", basis.cited[:_MOST_CITED])
    if are_of_two_languages(claim, cited):
        return ["it is in another language than the lines: not checked"]
    said = content_words(claim)
    if said and said.keys().isdisjoint(content_words(f"{scope}\n{cited}")):
        # the head knows only claims that are about their lines
        return [_say_nothing(_missing(said, ()), claim)]
    compared = compare(claim, scope)
    # a name alone, as lists have it, claims nothing
    is_named = len(compared.words) <= _NAME and compared.is_within
    if compared.is_same or is_named:
        return []
    lines = _lines_about(said, scope, cited)
    decision = head("support").decide_by(differences(claim, lines))
    if _lie(decision) < _DOUBTED:
        return []
    reason = _reason(claim, lines)
    return [f"{reason} ({decision.head}, {_lie(decision):.2f})"]


def _lie(decision: Decision) -> float:
    return decision.probabilities["lie"]


def _lines_about(said: Collection[str], scope: str, cited: str) -> str:
    """The sentences that are quoted, with those others of the cited lines that have words of a
    sentence which these do not; only the others if the quote has none of its words."""
    known = content_words(scope)
    wanted = {stem for stem in said if stem not in known}
    pieces = _pieces(cited) if wanted else []
    of_pieces = [wanted.intersection(content_words(piece)) for piece in pieces]
    chosen = []
    while any(of_pieces):
        best = max(range(len(pieces)), key=lambda at: len(of_pieces[at]))
        chosen.append(best)
        found = of_pieces[best]
        of_pieces = [one - found for one in of_pieces]
    others = [pieces[at] for at in sorted(chosen)]
    is_about = len(wanted) < len(said) or not others
    return "\n".join([scope, *others] if is_about else others)


def _pieces(text: str) -> list[str]:
    ends = [*marked_ends(text), len(text)]
    return [text[start:end].strip() for start, end in zip([0, *ends], ends, strict=False)]


# -- reasons ---------------------------------------------------------------------------------------


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


def _mendable(compared: Comparison) -> Iterator[Part]:
    for part in compared.parts[:_MOST_MENDED]:
        if len(part.words) <= _MOST_NAMED and len(part.instead) == part.left_out <= _MOST_NAMED:
            yield part


def _lie_when_mended(compared: Comparison, part: Part, lines: str) -> float:
    """How probable a lie is where a sentence has the words of the lines in place of its own."""
    words = compared.words
    mended = [*words[: part.start], *part.instead, *words[part.start + len(part.words) :]]
    return _lie(head("support").decide_by(differences(" ".join(mended), lines)))


def _describe(part: Part, claim: str, lines: str) -> str:
    said, written = _spelled(part.words, claim), _spelled(part.instead, lines)
    if not written:
        return f"it says {said!r}, and the lines do not"
    if not said:
        return f"the lines say {written!r}, and it does not"
    return f"it says {said!r} where the lines say {written!r}"


def _say_nothing(missing: Sequence[str], claim: str) -> str:
    named = ", ".join(repr(_spelled([word], claim)) for word in missing[:_MOST_NAMED])
    return f"the lines say nothing of {named}"


def _missing(said: Mapping[str, str], there: Collection[str]) -> list[str]:
    """The words of which none is there, in the order of the sentence, each once."""
    return list(dict.fromkeys(word for stem, word in said.items() if stem not in there))


def _spelled(words: Sequence[str], text: str) -> str:
    """Folded words as a text has them."""
    spelling = {match[0].replace("’", "'").casefold(): match[0] for match in _WORD.finditer(text)}
    spelled = " ".join(spelling.get(word, word) for word in words)
    return spelled if len(spelled) <= _LONGEST_NAMED else f"{spelled[:_LONGEST_NAMED]}…"
