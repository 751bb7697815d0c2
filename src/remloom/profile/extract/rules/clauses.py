"""Clauses of a passage that somebody means, in their normal form and with their frames."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from ....text.analysis import terms
from ....text.sentences import marked_ends, sentence_ends
from .lexicon import alternatives, words
from .passage import HIDDEN

Bounds: TypeAlias = tuple[int, int]

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
_JEST = re.compile(r"/s\s*$|[.,]\s+(?:not!|NOT\b)|[🙄😒🤡🙃😏]")
# "As a nurse, I …": who is a nurse is told by what follows
_AS = re.compile(r"as an?\b(?![\w -]{2,40} (?:I|we)\b)", re.IGNORECASE)
# "Just for this week, I …": it is of what follows
_FOR_NOW = re.compile(
    r"\W*(?:just |only )*(?:for )?"
    r"(?:this \w+|today|tonight|now|once|the (?:day|week|weekend|moment)),\s*$",
    re.IGNORECASE,
)
# "Just for this week, I … and I …": it is of all that follows, as far as nothing is set against it
_ONLY_NOW = re.compile(
    r"\W*(?:(?:just|only) (?:for )?|for )"
    r"(?:this \w+|today|tonight|now|once|the (?:day|week|weekend|moment))\b",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"[;:–—]|\b(?:but|yet|although|though|whereas|otherwise|normally|usually|generally)\b",
    re.IGNORECASE,
)
# a cut behind which something new is said, whatever was not meant before it
_STRONG = re.compile(r"[;:–—]|\s-\s|\b(?:but|yet|although|though|whereas|and|so)\b", re.IGNORECASE)
# no question, but a nudge: "It’s short answers for me, ok?"
_TAG = re.compile(r",? (?:ok|okay|alright|yeah|thanks|please)\s?\?\s*$", re.IGNORECASE)
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
# between clauses
_OPENER = rf"(?={alternatives('openers')}\b)"
_BOUNDARY = re.compile(
    r"(?:[;–—()☀-➿\U0001F300-\U0001FAFF]"
    r"|(?<!allergies)(?<!hobbies)(?<!stack)(?<!setup):(?!\d)"
    r"(?!\s?(?-i:[A-Z]\w+)(?:,|\s(?:and|&|\+)\s)))+\s*"
    r"|\s-\s|,?\s+(?:but|yet|because|whereas|although|though)\s+"
    r"|,?\s+(?:since|given that|seeing as)\s+(?=(?:I’m|I am|im|I have|I’ve got|we’re)\b)"
    rf"|,?(?<!just)\s+(?:and|so|or|while)\s+{_OPENER}|,\s*{_OPENER}",
    re.IGNORECASE,
)
_NOT_MEANT = re.compile(
    rf"{words('not_meant').pattern}|\b(?:my|the|our) (?:\w+ )?"
    rf"(?:{alternatives('people')}|{alternatives('speakers_of_user')}) "
    rf"{alternatives('of_others')}\b",
    re.IGNORECASE,
)
_SOMEBODY = re.compile(rf"(?:my|our) (?:\w+ )?{alternatives('people')}\b", re.IGNORECASE)
_CUE = words("cues")
_IRONY = words("irony")
_SELF = words("selves")
_SPEAKER = words("speakers")
_ELIDED = words("elided")
_LONG_AGO = words("long_ago")
_CONDITION = words("conditions")
_POLITENESS = words("polite_conditions")
_QUESTION = words("questions")
_REQUEST = words("requests")
_HEDGE = words("hedges")
_PASSING = words("passing")
_MOMENTARY = words("momentary")
_BEGINNING = words("beginnings")
_ENDED = words("ended")
# what the normal form leaves out, or adds
_LEAD = re.compile(rf"(?:{alternatives('leads')}\b[,.!:]*\s*|[\s\W]+)+", re.IGNORECASE)
_TAIL = re.compile(rf"(?<![\w’])(?:{alternatives('closings')})$", re.IGNORECASE)
_SUBJECT = re.compile(r"(?:I|we)(?:’m|’ve|’d|’re)?(?= )", re.IGNORECASE)
_HELPER = re.compile(r" (?:am|are|have|don’t|can’t|not|never|been)(?= )", re.IGNORECASE)
_FILLER = re.compile(rf" {alternatives('fillers')}(?= )", re.IGNORECASE)
_UNDERSTOOD = {
    "I": re.compile(alternatives("without_i"), re.IGNORECASE),
    "I’m": re.compile(alternatives("without_am"), re.IGNORECASE),
    "I’ve": re.compile(alternatives("without_have"), re.IGNORECASE),
}


class NormalForm(NamedTuple):
    text: str
    places: tuple[int, ...]  # of each character and of the end, in what was normalised


class Clause(Struct, frozen=True):
    """A clause that its author means."""

    form: NormalForm
    start: int  # of the clause in the passage
    end: int
    words: str  # as they stand there
    sentence: str
    lasting: bool  # False for what is so today, or until something else is so
    ended: bool  # it is no longer so
    confident: bool
    has_reason: bool  # another clause of the sentence says why: "call me Einstein, I solved it"

    def places(self, start: int, end: int) -> slice:
        places = self.form.places
        return slice(self.start + places[start], self.start + places[end])


def clauses(text: str) -> Iterator[Clause]:
    """The clauses of a passage of which only its author's own words can be read, in order."""
    start = 0
    for line in text.splitlines(keepends=True):
        if _CUE.search(line) and not _JEST.search(line) and not _IRONY.search(line):
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
    stated = _terms(sentence)
    return any(asked and asked <= stated for asked in refused)


def _terms(text: str) -> frozenset[str]:
    return frozenset(terms(text))


def _of_sentence(sentence: str, start: int) -> Iterator[Clause]:
    subject = ""
    for begin, end in _find_bounds(sentence):
        core = begin + _skip_lead(sentence[begin:end])
        inner = sentence[core:end].rstrip()
        if not inner:
            continue
        understood = subject if _ELIDED.match(inner) else ""
        subject = "I" if understood or _SPEAKER.match(inner) else ""
        whole = sentence[begin:end]
        yield Clause(
            form=normalise(inner, understood, is_first=core == _skip_lead(sentence)),
            start=start + core,
            end=start + core + len(inner),
            words=inner,
            sentence=sentence,
            lasting=not _is_passing(sentence, begin, end),
            ended=bool(_ENDED.search(whole)),
            confident=not _HEDGE.search(whole),
            has_reason=_gives_reason(sentence[:begin], sentence[end:]),
        )


def _gives_reason(before: str, behind: str) -> bool:
    """Whether the rest of a sentence is about what the user does, and not about names."""
    # "before we start: call me Jo"
    rest = behind if before.rstrip().endswith(":") else f"{before} {behind}"
    return bool(_SELF.search(rest)) and not _OF_NAMES.search(rest)


def _is_passing(sentence: str, start: int, end: int) -> bool:
    clause = sentence[start:end]
    return bool(
        _PASSING.search(clause)
        or _FOR_NOW.fullmatch(sentence, 0, start)
        or _is_only_now(sentence, start)
        or (_MOMENTARY.search(clause) and not _BEGINNING.search(clause))
    )


def _is_only_now(sentence: str, start: int) -> bool:
    """Whether the sentence begins with what limits it to these days, up to a clause and beyond."""
    begin = _ONLY_NOW.match(sentence)
    if begin is None or begin.end() > start:
        return False
    return not _AGAINST.search(sentence, begin.end(), start) and not _AGAINST.match(sentence, start)


def _find_bounds(sentence: str) -> list[Bounds]:
    """Where the clauses of a sentence are that its author means, in order."""
    if _NOT_MEANT.search(sentence) or _LONG_AGO.search(sentence):
        return []
    cuts = list(_BOUNDARY.finditer(sentence))
    starts = [0, *(cut.end() for cut in cuts)]
    ends = [*(cut.start() for cut in cuts), len(sentence)]
    bounds = _meant(sentence, _asserted(sentence, list(zip(starts, ends, strict=True))))
    return [one for place, one in enumerate(bounds) if not _is_of_another(sentence, bounds, place)]


def _asserted(sentence: str, bounds: list[Bounds]) -> list[Bounds]:
    """The clauses that are not questions: of "I live in Ghent, any good bakeries?" the first."""
    core = _skip_lead(sentence)
    asked = sentence.rstrip().rstrip(f'"”’){HIDDEN}').endswith("?") and not _TAG.search(sentence)
    if not asked or _REQUEST.match(sentence, core):
        return bounds
    return [] if _QUESTION.match(sentence, core) else bounds[:-1]


def _meant(sentence: str, bounds: list[Bounds]) -> list[Bounds]:
    """The clauses before a condition, if they are more than what it is the condition of."""
    for place, (start, end) in enumerate(bounds):
        condition = _CONDITION.search(sentence, start, end)
        if condition is None or _POLITENESS.match(sentence, condition.start(), end):
            continue
        before = bounds[place - 1][1] if place else 0
        is_own = bool(_STRONG.search(sentence, before, condition.start()))
        return bounds[: place if is_own else max(0, place - 1)]
    return bounds


def _is_of_another(sentence: str, bounds: list[Bounds], place: int) -> bool:
    """Whether it is "As a nurse, …", and goes on with somebody else."""
    start, end = bounds[place]
    if not _AS.match(sentence, start + _skip_lead(sentence[start:end]), end):
        return False
    if not bounds[place + 1 :] or _SOMEBODY.match(sentence, *bounds[place + 1]):
        return True
    return not _SELF.match(sentence, *bounds[place + 1])


def _skip_lead(text: str) -> int:
    """The length of what comes before the clause proper: "Hi, btw"."""
    lead = _LEAD.match(text)
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
    form = _Draft(clause[: _end(clause)])
    for found in reversed(list(_SPELLING.finditer(form.text))):
        form.replace(found.start(), found.end(), _SPELLINGS[found[0].casefold()])
    form.drop_fillers()
    if is_first:
        subject = next((who for who, verbs in _UNDERSTOOD.items() if verbs.match(form.text)), "")
    if subject:
        form.replace(0, 0, f"{subject} ")
    return NormalForm(form.text, tuple(form.places))


def _end(clause: str) -> int:
    """Where the clause ends, without what is only said behind it."""
    end = len(clause)
    while True:
        marks = _MARKS.search(clause, max(0, end - 20), end)
        end = marks.start() if marks else end
        tail = _TAIL.search(clause, max(0, end - 40), end)
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
        subject = _SUBJECT.match(self.text)
        position = subject.end() if subject else 0
        while position:
            if filler := _FILLER.match(self.text, position):
                self.replace(position, filler.end(), "")
            else:
                helper = _HELPER.match(self.text, position)
                position = helper.end() if helper else 0
