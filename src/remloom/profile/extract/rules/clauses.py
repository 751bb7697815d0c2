"""Clauses of a passage that somebody means, in their normal form and with their frames."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from ....text.analysis import terms
from ....text.sentences import marked_ends, sentence_ends
from .frame import Frame, find_bounds, find_frame, is_in_jest
from .normal_form import NormalForm, normalise, skip_lead
from .phrases import words

_LONGEST = 500  # characters of a sentence; a longer one is a table or a list of something
_LONG = 5_000  # characters of a line whose sentences are told by their marks alone

# "I'm vegan. Vegan? No way.": what is asked again, and refused
_TAKEN_BACK = re.compile(
    r"(?<![\w’])(?P<asked>[\w’ ,-]{1,40})\?\s*"
    r"(?:no(?:pe|t|,? thanks?)?(?: (?:way|chance|me|really|at all|likely|a chance))?"
    r"|never|hardly|as if|nah|in my dreams|yeah,? right)(?=\s*(?:[,.;:!…–—-]|$))",
    re.IGNORECASE,
)
# "I'm allergic to nuts. Nuts? Never." takes nothing back
_REFUSES = re.compile(
    r"n’t\b|\b(?:allerg\w*|intoleran\w*|hate|dislike|avoid|never|no|not|cannot|without|quit"
    r"|stop(?:ped)?|gave up|no longer)\b",
    re.IGNORECASE,
)
# what is said of names, and why one of them is meant
_OF_NAMES = re.compile(
    r"\b(?i:names?|nick\w*|call\w*|known as|short(?:er|ens)?|prefer|hate|go by|spell\w*|formal)\b"
    r"|(?<=[a-z,] )(?!I\b)[A-Z]\w+"
)


class Clause(Struct, frozen=True):
    """A clause that its author means."""

    form: NormalForm
    frame: Frame
    start: int  # of the clause in the passage
    end: int
    words: str  # as they stand there
    sentence: str
    has_reason: bool  # another clause of the sentence says why: "call me Einstein, I solved it"

    def places(self, start: int, end: int) -> slice:
        """Where in the passage a part of the normal form stands."""
        places = self.form.places
        return slice(self.start + places[start], self.start + places[end])


class _Grammar:
    """The expressions that tell clauses; compiled when they are first needed."""

    def __init__(self) -> None:
        self.cue = words("cues")
        self.self = words("selves")
        self.speaker = words("speakers")
        self.elided = words("elided")


_grammar = cache(_Grammar)


def clauses(text: str) -> Iterator[Clause]:
    """The clauses of a passage of which only its author's own words can be read, in order."""
    start = 0
    for line in text.splitlines(keepends=True):
        if _grammar().cue.search(line) and not is_in_jest(line):
            yield from _of_line(line, start)
        start += len(line)


def _of_line(line: str, start: int) -> Iterator[Clause]:
    ends = sentence_ends(line) if len(line) <= _LONG else [*marked_ends(line), len(line)]
    refused = [(found.start(), _terms(found["asked"])) for found in _TAKEN_BACK.finditer(line)]
    position = 0
    for end in ends:
        sentence = line[position:end]
        later = [asked for at, asked in refused if at >= end - 1]
        if len(sentence) <= _LONGEST and not _is_taken_back(sentence, later):
            yield from _of_sentence(sentence, start + position)
        position = end


def _is_taken_back(sentence: str, refused: list[frozenset[str]]) -> bool:
    if not refused or _REFUSES.search(sentence):
        return False
    said = _terms(sentence)
    return any(asked and asked <= said for asked in refused)


def _terms(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def _of_sentence(sentence: str, start: int) -> Iterator[Clause]:
    subject = ""
    bounds = find_bounds(sentence)
    for place, (begin, end) in enumerate(bounds):
        frame = find_frame(sentence, (begin, end))
        begin += skip_lead(sentence[begin:end])
        inner = sentence[begin:end].rstrip()
        if not inner:
            continue
        understood = subject if _grammar().elided.match(inner) else ""
        subject = "I" if understood or _grammar().speaker.match(inner) else ""
        yield Clause(
            form=normalise(inner, understood, is_first=begin == skip_lead(sentence)),
            frame=frame,
            start=start + begin,
            end=start + begin + len(inner),
            words=inner,
            sentence=sentence,
            has_reason=_gives_reason(sentence[: bounds[place][0]], sentence[end:]),
        )


def _gives_reason(before: str, behind: str) -> bool:
    """Whether the rest of a sentence is about what the user does, and not about names."""
    # "before we start: call me Jo"
    rest = behind if before.rstrip().endswith(":") else f"{before} {behind}"
    return bool(_grammar().self.search(rest)) and not _OF_NAMES.search(rest)
