"""Claims of one turn or paragraph: its clauses, the patterns that fit them, what they then say."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import cache
from typing import Literal, NamedTuple

from msgspec import Struct

from ....errors import InvalidInputError
from ...evidence.claim import Claim, Polarity, Signal
from .clauses import Clause, clauses
from .lexicon import PARSERS, alternatives, is_known_place, lookup_words, read_table
from .passage import HIDDEN, own_words

_INSTEAD = re.compile(
    r"(?<!’m)(?<! am)(?<! are)(?<!’re)(?<! do)(?<! did)(?<! is)(?<! can)(?<! have)(?<! will)"
    r",?\s+(?:and\s+)?not\s+(?:in\s+|on\s+|at\s+|for\s+|an?\s+)?(?P<value>[^,]+?)[.!]*$",
    re.IGNORECASE,
)
_TIME = re.compile(r"\b(?:since|in|last|this|ago|on|today)\b", re.IGNORECASE)
_LONGEST_DAY = 1  # days of a window; a longer one tells only the month
_LONGEST_SEASON = 200  # the same of the year
_YEAR = re.compile(r"\b(?:since|in) ((?:19|20)\d\d)\b")
_BEHAVIOUR = ("developer_posture.", "runtime_environments.", "tooling_defaults.")
_PROJECT = re.compile(
    r"\b(?:[Ii]n|[Ff]or|[Oo]n) (?:(?:the )?project (?P<behind>[A-Z][\w-]+)"
    r"|the (?P<before>[A-Z][\w-]+) project)\b"
)
# "in this repo"
_UNNAMED = re.compile(
    r"\b(?:in|for|on) (?:this|the current|our) (?:project|repo|repository|codebase|chat)\b",
    re.IGNORECASE,
)
_TOPICS = ("identity", "home", "tools", "food")
_MACRO = re.compile(r"\{([a-z]\w*)\}")


class Rule(Struct, frozen=True, forbid_unknown_fields=True):
    """The ways to say one thing; the head of macros.toml says what the fields are."""

    patterns: tuple[str, ...]
    key: str = ""
    parse: str = "words"
    polarity: Literal["for", "against", "retire"] = "for"
    other: Literal["", "against", "retire"] = ""
    signal: Signal = "explicit_preference"
    dated: bool = False
    again: bool = False
    alone: bool = False


class _Topic(Struct, forbid_unknown_fields=True):
    macros: dict[str, str] = {}
    rule: list[Rule] = []


class _Statement(NamedTuple):
    key: str
    value: str
    polarity: Polarity


def extract(text: str, *, at: datetime | None = None) -> list[Claim]:
    """Find what the user says of themself in one turn, or in one paragraph of a note.

    What others said, questions, conditions, irony, stories of the past and what is meant for one
    task alone claim nothing. Every claim has the clause that says it as its quote.

    Args:
        text: the turn or paragraph; of any but English nothing is found.
        at: when it was said: "in March" is a date only then.

    >>> [(claim.key, claim.value) for claim in extract("I'm vegan and I live in Oslo.")]
    [('food_and_dining.dietary_style', 'vegan'), ('environment.location_region', 'Oslo')]
    >>> extract("If I were vegan, what would you cook?")
    []
    """
    claims: dict[tuple[str, str, Polarity, str], Claim] = {}
    for clause in clauses(own_words(text)):
        for claim in _claims(clause, text, at):
            same = (claim.key, str(claim.value).casefold(), claim.polarity, claim.scope)
            claims.setdefault(same, claim)
    return list(claims.values())


def _claims(clause: Clause, passage: str, at: datetime | None) -> Iterator[Claim]:
    if not clause.lasting:
        return
    text = clause.form.text
    denied = _INSTEAD.search(text)
    end = denied.start() if denied else len(text)
    for expression, rule in patterns():
        # some patterns say themselves what is not so
        found = expression.match(text, 0, end) or (denied and expression.match(text))
        if found is None or (rule.alone and clause.has_reason):
            continue
        statements = _statements(found, rule, clause, passage)
        if denied and statements and rule.polarity == "for":
            # "…, not in Bonn" says the same of another value, which is not so
            others = _parse(_caught(denied, "value", clause, passage), rule, "against")
            statements += [other for other in others if other.key == statements[0].key]
        since = _since(clause.words, at) if rule.dated else ""
        for key, value, polarity in statements:
            yield Claim(
                key=key,
                value=value,
                polarity=polarity,
                signal=rule.signal,
                scope=_find_scope(clause.sentence, key),
                quote=passage[clause.start : clause.end],
                span=(clause.start, clause.end),
                since=since,
                confident=clause.confident and not _UNNAMED.search(clause.sentence),
            )
        if statements and not rule.again:
            return


def _statements(found: re.Match[str], rule: Rule, clause: Clause, passage: str) -> list[_Statement]:
    polarity: Polarity = rule.polarity
    if polarity == "against" and clause.ended:
        polarity = "retire"
    caught = next(filter(None, (_caught(found, one, clause, passage) for one in "acd")), "")
    statements = _parse(caught, rule, polarity)
    instead = _caught(found, "b", clause, passage)
    # people move from one browser to another too
    is_place = rule.parse == "place" and instead[:1].isupper()
    if is_place and not any(map(is_known_place, (instead, *(one.value for one in statements)))):
        return []
    if statements and rule.other and instead:
        statements += _parse(instead, rule, rule.other)
    return statements


def _caught(found: re.Match[str], group: str, clause: Clause, passage: str) -> str:
    """The words of a group as the passage has them; empty if the pattern has no such group."""
    if group not in found.re.groupindex or found[group] is None:
        return ""
    start, end = found.span(group)
    # what is hidden ends what is caught
    end = start + len(found[group].partition(HIDDEN)[0])
    return passage[clause.places(start, end)]


def _parse(words: str, rule: Rule, polarity: Polarity) -> list[_Statement]:
    if rule.parse != "lexicon":
        values = PARSERS[rule.parse](words.replace("’", "'")) if words else []
        return [_Statement(rule.key, value, polarity) for value in values]
    return [_Statement(key, value, polarity) for key, value in lookup_words(words)]


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


def _find_scope(sentence: str, key: str) -> str:
    """The scope that a sentence gives to a claim of this key; empty is everywhere.

    Who somebody is holds everywhere, whatever their sentence is about.

    >>> _find_scope("In project Apollo we use Go", "developer_posture.primary_languages")
    'project:apollo'
    """
    project = _PROJECT.search(sentence)
    if project is None or not key.startswith(_BEHAVIOUR):
        return ""
    return f"project:{(project['behind'] or project['before']).casefold()}"


@cache
def patterns() -> tuple[tuple[re.Pattern[str], Rule], ...]:
    """Every pattern with its rule, in the order in which they are tried."""
    macros = _read_topic("macros").macros
    macros["holds"] = rf"(?=[^\w\s-]|\s*$|\s+{alternatives('behind_states')}\b)"
    rules = [rule for topic in _TOPICS for rule in _read_topic(topic).rule]
    return tuple((_expand(one, macros), rule) for rule in rules for one in rule.patterns)


def _expand(pattern: str, macros: Mapping[str, str]) -> re.Pattern[str]:
    """Put the macros in, which hold macros themselves; braces with digits are counts."""
    while (short := _MACRO.sub(lambda found: macros[found[1]], pattern)) != pattern:
        pattern = short
    return re.compile(pattern, re.IGNORECASE)


def _read_topic(name: str) -> _Topic:
    return read_table(f"topics/{name}.toml", _Topic)
