"""The normal form of a clause: one spelling, and none of what is only said around what it says."""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from .phrases import alternatives

_SPELLINGS = {
    "i am": "I’m",
    "im": "I’m",
    "i’m": "I’m",
    "ive": "I’ve",
    "do not": "don’t",
    "dont": "don’t",
    "can not": "can’t",
    "cannot": "can’t",
    "cant": "can’t",
    "pls": "please",
    "plz": "please",
    "u": "you",
    "ur": "your",
    "n": "and",
    "w": "with",
    "r": "are",
    "luv": "love",
}
# "Im 20. Jahrhundert" is German
_SPELLING = re.compile(
    rf"(?<![\w’-])(?!(?-i:Im) \d)(?:{'|'.join(_SPELLINGS)})(?![\w’-])(?! \d\d\.)", re.IGNORECASE
)
_MARKS = re.compile(r"[\s.!?,;:…☀-➿\U0001F300-\U0001FAFF\ufe0f]+$")


class NormalForm(NamedTuple):
    """What patterns are tried on."""

    text: str
    places: tuple[int, ...]  # of each character and of the end, in what was normalised


class _Grammar:
    """What is left out; compiled when it is first needed."""

    def __init__(self) -> None:
        self.lead = re.compile(rf"(?:{alternatives('leads')}\b[,.!:]*\s*|[\s\W]+)+", re.IGNORECASE)
        self.tail = re.compile(rf"(?<![\w’])(?:{alternatives('closings')})$", re.IGNORECASE)
        self.subject = re.compile(r"(?:I|we)(?:’m|’ve|’d|’re)?(?= )", re.IGNORECASE)
        self.helper = re.compile(r" (?:am|are|have|don’t|can’t|not|never|been)(?= )", re.IGNORECASE)
        self.filler = re.compile(rf" {alternatives('fillers')}(?= )", re.IGNORECASE)
        self.understood = {
            "I": re.compile(alternatives("without_i"), re.IGNORECASE),
            "I’m": re.compile(alternatives("without_am"), re.IGNORECASE),
            "I’ve": re.compile(alternatives("without_have"), re.IGNORECASE),
        }


_grammar = cache(_Grammar)


def skip_lead(text: str) -> int:
    """How long what is said before the clause proper is: "Hi, btw"."""
    lead = _grammar().lead.match(text)
    return lead.end() if lead else 0


def normalise(clause: str, subject: str = "", *, is_first: bool = False) -> NormalForm:
    """Bring a clause into its normal form.

    Contractions have one spelling, adverbs behind the subject and what is only said behind the
    clause ("btw", "from now on", "anymore") are left out, and a subject that is understood is put.

    Args:
        clause: without its lead; apostrophes are ’.
        subject: the subject of the clause before, where this one has none of its own.
        is_first: it begins its sentence, where "I" may be left out: "Moved to Rome."

    >>> normalise("i am actually still vegan btw").text
    'I’m vegan'
    >>> normalise("been on Fedora for years", is_first=True).text
    'I’ve been on Fedora'
    """
    grammar = _grammar()
    form = _Draft(clause[: _end(clause)])
    for found in reversed(list(_SPELLING.finditer(form.text))):
        form.replace(found.start(), found.end(), _SPELLINGS[found[0].casefold()])
    form.drop_fillers()
    if is_first:
        subject = next(
            (who for who, verbs in grammar.understood.items() if verbs.match(form.text)), ""
        )
    if subject:
        form.replace(0, 0, f"{subject} ")
    return NormalForm(form.text, tuple(form.places))


def _end(clause: str) -> int:
    """Where the clause ends, without what is only said behind it."""
    end = len(clause)
    while True:
        marks = _MARKS.search(clause, max(0, end - 20), end)
        end = marks.start() if marks else end
        tail = _grammar().tail.search(clause, max(0, end - 40), end)
        if tail is None or tail.start() == 0:
            return end
        end = tail.start()


class _Draft:
    """A text that changes, whose characters keep their places."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.places = list(range(len(text) + 1))

    def replace(self, start: int, end: int, words: str) -> None:
        inner = [min(self.places[start] + step, self.places[end]) for step in range(len(words))]
        self.text = self.text[:start] + words + self.text[end:]
        self.places[start:end] = inner

    def drop_fillers(self) -> None:
        """Leave out adverbs behind the subject, and behind the helping verbs that follow it."""
        grammar = _grammar()
        subject = grammar.subject.match(self.text)
        position = subject.end() if subject else 0
        while position:
            if filler := grammar.filler.match(self.text, position):
                self.replace(position, filler.end(), "")
            else:
                helper = grammar.helper.match(self.text, position)
                position = helper.end() if helper else 0
