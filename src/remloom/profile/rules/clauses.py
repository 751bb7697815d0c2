"""Clauses of a passage that somebody means: no questions, conditions, irony, or times long gone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from ...text.sentences import marked_ends, sentence_ends
from .passage import HIDDEN
from .phrases import alternatives, words

__all__ = ["Clause", "clauses"]

_LONGEST = 500  # characters of a sentence; a longer one is a table or a list of something
_LONG = 5_000  # characters of a line whose sentences are told by their marks alone
_SHORT = 12  # words of a passage that may be nothing else than a wish

# irony that is written down
_IRONY = re.compile(r"/s\s*$|[🙄😒🤡]")
# said behind a wish, as a sentence of its own
_FOR_EVER = re.compile(r"\s*(?:ever|never|always|every time|from now on)\b[.! ]*$", re.IGNORECASE)
# "As a nurse, I …": who is a nurse is told by what follows
_AS = re.compile(r"as an?\b(?![\w -]{2,40} (?:I|we)\b)", re.IGNORECASE)


class Clause(Struct, frozen=True):
    """A clause that its author means."""

    text: str  # what patterns are tried on, in which a subject said before is put again: "I …"
    start: int  # of the clause in the passage
    end: int
    shift: int  # add it to an offset in `text` to have one in the passage
    confident: bool
    corrects: bool
    alone: bool  # the passage is one short sentence: "Keep it short."
    sentence: str


class _Grammar:
    """The expressions that part and judge sentences; compiled when they are first needed."""

    def __init__(self) -> None:
        opener = rf"(?={alternatives('openers')}\b)"
        self.cue = words("cues")
        self.boundary = re.compile(
            r"[;:–—()]+\s*|\s-\s|,?\s+(?:but|because|whereas|although|though)\s+"
            rf"|,?\s+(?:and|so|or|while)\s+{opener}|,\s*{opener}",
            re.IGNORECASE,
        )
        self.lead = re.compile(rf"(?:{alternatives('leads')}\b[,.!:]*\s*|[\s\W]+)+", re.IGNORECASE)
        self.hedge = words("hedges")
        self.correction = re.compile(rf"\W*{alternatives('corrections')}", re.IGNORECASE)
        self.not_meant = words("not_meant")
        self.long_ago = words("long_ago")
        self.question = words("questions")
        self.request = words("requests")
        self.self = words("selves")
        self.speaker = words("speakers")
        self.elided = words("elided")


_grammar = cache(_Grammar)


def clauses(text: str) -> Iterator[Clause]:
    """The clauses of a passage of which only its author's own words can be read, in order."""
    grammar = _grammar()
    alone = _is_short(text)
    start = 0
    for line in text.splitlines(keepends=True):
        if grammar.cue.search(line):
            yield from _of_line(line, start, alone)
        start += len(line)


def _of_line(line: str, start: int, alone: bool) -> Iterator[Clause]:
    ends = sentence_ends(line) if len(line) <= _LONG else [*marked_ends(line), len(line)]
    if len(ends) > 1 and _FOR_EVER.match(line, ends[-2]):
        ends = [*ends[:-2], ends[-1]]
    position = 0
    corrects = False
    for end in ends:
        sentence = line[position:end]
        if len(sentence) <= _LONGEST:
            # "That's wrong." says of the next sentence that it corrects
            before = corrects and position > 0
            corrects = bool(_grammar().correction.match(sentence))
            yield from _of_sentence(sentence, start + position, corrects or before, alone)
        position = end


def _is_short(text: str) -> bool:
    core = text.strip()
    return len(core) < 200 and len(core.split()) <= _SHORT and len(sentence_ends(core)) == 1


def _of_sentence(sentence: str, start: int, corrects: bool, alone: bool) -> Iterator[Clause]:
    subject = ""
    bounds = _meant(sentence)
    for place, (begin, end) in enumerate(bounds):
        begin += _lead(sentence[begin:end])
        inner = sentence[begin:end].rstrip()
        if not inner or _is_of_another(inner, sentence, bounds[place + 1 :]):
            continue
        prefix = subject if _grammar().elided.match(inner) else ""
        subject = "I " if prefix or _grammar().speaker.match(inner) else ""
        yield Clause(
            text=prefix + inner,
            start=start + begin,
            end=start + begin + len(inner),
            shift=start + begin - len(prefix),
            confident=not _grammar().hedge.search(sentence[bounds[place][0] : end]),
            corrects=corrects,
            # "…, I'm in a hurry" is why it is wanted this once
            alone=alone and not _has_reason(sentence, bounds[place + 1 :]),
            sentence=sentence,
        )


def _meant(sentence: str) -> list[tuple[int, int]]:
    """Where the clauses of a sentence are that say what their author means."""
    grammar = _grammar()
    if grammar.not_meant.search(sentence) or _IRONY.search(sentence):
        return []
    if grammar.long_ago.search(sentence):
        return []
    core = _lead(sentence)
    asked = sentence.rstrip().rstrip(f'"”’){HIDDEN}').endswith("?")
    if not asked or grammar.request.match(sentence, core):
        return _bounds(sentence)
    if grammar.question.match(sentence, core):
        return []
    # "I live in Ghent, any good bakeries?": only its end asks
    return _bounds(sentence)[:-1]


def _is_of_another(inner: str, sentence: str, rest: list[tuple[int, int]]) -> bool:
    """Whether it is "As a nurse, …", and goes on with somebody else."""
    if not _AS.match(inner):
        return False
    return not (rest and _grammar().self.match(sentence, *rest[0]))


def _has_reason(sentence: str, rest: list[tuple[int, int]]) -> bool:
    return any(_grammar().self.match(sentence, *bounds) for bounds in rest)


def _bounds(sentence: str) -> list[tuple[int, int]]:
    cuts = list(_grammar().boundary.finditer(sentence))
    starts = [0, *(cut.end() for cut in cuts)]
    ends = [*(cut.start() for cut in cuts), len(sentence)]
    return list(zip(starts, ends, strict=True))


def _lead(text: str) -> int:
    """How long what is said before the clause proper is."""
    lead = _grammar().lead.match(text)
    return lead.end() if lead else 0
