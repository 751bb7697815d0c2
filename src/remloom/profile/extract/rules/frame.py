"""The frame of a clause: whether its author means it, for how long, and how sure they are."""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct

from .normal_form import skip_lead
from .passage import HIDDEN
from .phrases import alternatives, words

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

Bounds = tuple[int, int]


class Frame(Struct, frozen=True):
    """What holds of a clause whatever it says."""

    lasting: bool  # False for what is so today, or until something else is so
    ended: bool  # it is no longer so
    confident: bool


class _Grammar:
    """The expressions that judge sentences; compiled when they are first needed."""

    def __init__(self) -> None:
        opener = rf"(?={alternatives('openers')}\b)"
        self.boundary = re.compile(
            r"(?:[;–—()☀-➿\U0001F300-\U0001FAFF]|(?<!allergies)(?<!hobbies)(?<!stack)(?<!setup):(?!\d)(?!\s?(?-i:[A-Z]\w+)(?:,|\s(?:and|&|\+)\s)))+\s*|\s-\s|,?\s+(?:but|yet|because|whereas|although|though)\s+"
            r"|,?\s+(?:since|given that|seeing as)\s+(?=(?:I’m|I am|im|I have|I’ve got|we’re)\b)"
            rf"|,?(?<!just)\s+(?:and|so|or|while)\s+{opener}|,\s*{opener}",
            re.IGNORECASE,
        )
        self.jest = words("irony")
        self.not_meant = re.compile(
            rf"{words('not_meant').pattern}|\b(?:my|the|our) (?:\w+ )?"
            rf"(?:{alternatives('people')}|{alternatives('speakers_of_user')}) "
            rf"{alternatives('of_others')}\b",
            re.IGNORECASE,
        )
        self.somebody = re.compile(
            rf"(?:my|our) (?:\w+ )?{alternatives('people')}\b", re.IGNORECASE
        )
        self.long_ago = words("long_ago")
        self.condition = words("conditions")
        self.politeness = words("polite_conditions")
        self.question = words("questions")
        self.request = words("requests")
        self.self = words("selves")
        self.hedge = words("hedges")
        self.passing = words("passing")
        self.momentary = words("momentary")
        self.beginning = words("beginnings")
        self.ended = words("ended")


_grammar = cache(_Grammar)


def is_in_jest(line: str) -> bool:
    """Whether somebody jokes in a line, of which then nothing is believed."""
    return bool(_JEST.search(line) or _grammar().jest.search(line))


def find_bounds(sentence: str) -> list[Bounds]:
    """Where the clauses of a sentence are that its author means, in order."""
    grammar = _grammar()
    if grammar.not_meant.search(sentence) or grammar.long_ago.search(sentence):
        return []
    bounds = _meant(sentence, _asserted(sentence, _cut(sentence)))
    return [one for place, one in enumerate(bounds) if not _is_of_another(sentence, bounds, place)]


def find_frame(sentence: str, bounds: Bounds) -> Frame:
    """Tell the frame of a clause of a sentence."""
    grammar = _grammar()
    clause = sentence[slice(*bounds)]
    passing = (
        grammar.passing.search(clause)
        or _FOR_NOW.fullmatch(sentence, 0, bounds[0])
        or _is_only_now(sentence, bounds[0])
        or (grammar.momentary.search(clause) and not grammar.beginning.search(clause))
    )
    return Frame(
        lasting=not passing,
        ended=bool(grammar.ended.search(clause)),
        confident=not grammar.hedge.search(clause),
    )


def _is_only_now(sentence: str, start: int) -> bool:
    """Whether the sentence begins with what limits it to these days, up to a clause and beyond."""
    begin = _ONLY_NOW.match(sentence)
    if begin is None or begin.end() > start:
        return False
    return not _AGAINST.search(sentence, begin.end(), start) and not _AGAINST.match(sentence, start)


def _cut(sentence: str) -> list[Bounds]:
    cuts = list(_grammar().boundary.finditer(sentence))
    starts = [0, *(cut.end() for cut in cuts)]
    ends = [*(cut.start() for cut in cuts), len(sentence)]
    return list(zip(starts, ends, strict=True))


def _asserted(sentence: str, bounds: list[Bounds]) -> list[Bounds]:
    """The clauses that are no questions: of "I live in Ghent, any good bakeries?" the first."""
    grammar = _grammar()
    core = skip_lead(sentence)
    asked = sentence.rstrip().rstrip(f'"”’){HIDDEN}').endswith("?") and not _TAG.search(sentence)
    if not asked or grammar.request.match(sentence, core):
        return bounds
    return [] if grammar.question.match(sentence, core) else bounds[:-1]


def _meant(sentence: str, bounds: list[Bounds]) -> list[Bounds]:
    """The clauses before a condition, if they are more than what it is the condition of."""
    grammar = _grammar()
    for place, (start, end) in enumerate(bounds):
        condition = grammar.condition.search(sentence, start, end)
        if condition is None or grammar.politeness.match(sentence, condition.start(), end):
            continue
        before = bounds[place - 1][1] if place else 0
        is_own = bool(_STRONG.search(sentence, before, condition.start()))
        return bounds[: place if is_own else max(0, place - 1)]
    return bounds


def _is_of_another(sentence: str, bounds: list[Bounds], place: int) -> bool:
    """Whether it is "As a nurse, …", and goes on with somebody else."""
    start, end = bounds[place]
    if not _AS.match(sentence, start + skip_lead(sentence[start:end]), end):
        return False
    if not bounds[place + 1 :] or _grammar().somebody.match(sentence, *bounds[place + 1]):
        return True
    return not _grammar().self.match(sentence, *bounds[place + 1])
