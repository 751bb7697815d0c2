"""Claims of one turn or paragraph: its clauses, the patterns that fit them, what they then say."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from datetime import datetime
from typing import NamedTuple

from ....errors import InvalidInputError
from ...evidence.claim import Claim, Polarity
from .clauses import Clause, clauses
from .lexicon import lookup_words, split_version
from .passage import HIDDEN, own_words
from .patterns import Rule, patterns
from .readings import READINGS, is_known_place
from .scopes import find_scope, is_of_unnamed_project

_INSTEAD = re.compile(
    r"(?<!’m)(?<! am)(?<! are)(?<!’re)(?<! do)(?<! did)(?<! is)(?<! can)(?<! have)(?<! will)"
    r",?\s+(?:and\s+)?not\s+(?:in\s+|on\s+|at\s+|for\s+|an?\s+)?(?P<value>[^,]+?)[.!]*$",
    re.IGNORECASE,
)
_TIME = re.compile(r"\b(?:since|in|last|this|ago|on|today)\b", re.IGNORECASE)
_LONGEST_DAY = 1  # days of a window; a longer one tells only the month
_LONGEST_SEASON = 200  # the same of the year
_YEAR = re.compile(r"\b(?:since|in) ((?:19|20)\d\d)\b")


class _Said(NamedTuple):
    """One thing that a clause says."""

    key: str
    value: str
    polarity: Polarity


def extract(
    text: str, *, speaker_is_subject: bool = True, at: datetime | None = None
) -> list[Claim]:
    """Find what the user says of themself in one turn, or in one paragraph of a note.

    What others said, questions, conditions, irony, stories of the past and what is meant for one
    task alone claim nothing. Every claim has the clause that says it as its quote.

    Args:
        text: the turn or paragraph; of any but English nothing is found.
        speaker_is_subject: whether it is the user who speaks; what others say is not of the user.
        at: when it was said: "in March" is a date only then.

    >>> [(claim.key, claim.value) for claim in extract("I'm vegan and I live in Oslo.")]
    [('food_and_dining.dietary_style', 'vegan'), ('environment.location_region', 'Oslo')]
    >>> extract("If I were vegan, what would you cook?")
    []
    """
    if not speaker_is_subject or not text:
        return []
    claims: dict[tuple[str, str, Polarity, str], Claim] = {}
    for clause in clauses(own_words(text)):
        for claim in _claims(clause, text, at):
            same = (claim.key, str(claim.value).casefold(), claim.polarity, claim.scope)
            claims.setdefault(same, claim)
    return list(claims.values())


def _claims(clause: Clause, passage: str, at: datetime | None) -> Iterator[Claim]:
    if not clause.frame.lasting:
        return
    text = clause.form.text
    denied = _INSTEAD.search(text)
    end = denied.start() if denied else len(text)
    for expression, rule in patterns():
        # some patterns say themselves what is not so
        found = expression.match(text, 0, end) or (denied and expression.match(text))
        if found is None or (rule.alone and clause.has_reason):
            continue
        said = _read(found, rule, clause, passage)
        if denied and said and rule.polarity == "for":
            said += _denied(said[0], denied, rule, clause, passage)
        since = _since(clause.words, at) if rule.dated else ""
        for key, value, polarity in said:
            yield Claim(
                key=key,
                value=value,
                polarity=polarity,
                signal=rule.signal,
                scope=find_scope(clause.sentence, key),
                quote=passage[clause.start : clause.end],
                span=(clause.start, clause.end),
                since=since,
                confident=clause.frame.confident and not is_of_unnamed_project(clause.sentence),
            )
        if said and not rule.again:
            return


def _read(found: re.Match[str], rule: Rule, clause: Clause, passage: str) -> list[_Said]:
    """What a pattern makes of the words that it caught."""
    polarity: Polarity = rule.polarity
    if polarity == "against" and clause.frame.ended:
        polarity = "retire"
    caught = next(filter(None, (_caught(found, one, clause, passage) for one in "acd")), "")
    said = _read_words(caught, rule, polarity)
    instead = _caught(found, "b", clause, passage)
    # people move from one browser to another too
    is_place = rule.parse == "place" and instead[:1].isupper()
    if is_place and not any(map(is_known_place, (instead, *(one.value for one in said)))):
        return []
    if said and rule.other and instead:
        said += _read_words(instead, rule, rule.other)
    return said


def _caught(found: re.Match[str], group: str, clause: Clause, passage: str) -> str:
    """The words of a group as the passage has them; empty if the pattern has no such group."""
    if group not in found.re.groupindex or found[group] is None:
        return ""
    start, end = found.span(group)
    # what is hidden ends what is caught
    end = start + len(found[group].partition(HIDDEN)[0])
    return passage[clause.places(start, end)]


def _read_words(words: str, rule: Rule, polarity: Polarity) -> list[_Said]:
    if rule.parse != "lexicon":
        values = READINGS[rule.parse](words.replace("’", "'")) if words else []
        return [_Said(rule.key, value, polarity) for value in values]
    said: list[_Said] = []
    for meaning in lookup_words(words):
        name, version = (
            split_version(meaning.value) if meaning.of.versioned else (meaning.value, "")
        )
        said.append(_Said(meaning.of.id, name, polarity))
        if version and meaning.of.version:
            said.append(_Said(meaning.of.version, version, polarity))
    return said


def _denied(
    first: _Said, denied: re.Match[str], rule: Rule, clause: Clause, passage: str
) -> list[_Said]:
    """What "…, not in Bonn" says: the same of another value, which is not so."""
    words = _caught(denied, "value", clause, passage)
    others = _read_words(words, rule, "against")
    return [other for other in others if other.key == first.key]


def _since(text: str, at: datetime | None) -> str:
    """When it began, as far as the clause and the time at which it was said tell."""
    if at is None:
        year = _YEAR.search(text)
        return year[1] if year else ""
    if not _TIME.search(text):
        return ""
    from ....retrieve.time_expressions import find_window

    # "from May to March" ends before it starts
    window = None
    with contextlib.suppress(InvalidInputError):
        window = find_window(text, at)
    if window is None or window.start > at:
        return ""
    days = (window.end - window.start).days
    parts = 1 if days > _LONGEST_SEASON else 2 if days > _LONGEST_DAY else 3
    return "-".join(f"{window.start:%Y-%m-%d}".split("-")[:parts])
