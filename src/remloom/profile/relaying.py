"""Relaying: a request that has something done with what the user is asked for in it: "Post in the
channel what I eat", "To Ana: where do I live?".

A question about oneself is a sentence of its own. What is the object of some verb, or stands behind
a colon, is for whoever that verb or heading serves; unless these are known to ask or to wish, the
request is read as words for others.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

from ..text.analysis import STOP_WORDS, term_set
from .domains import domain_words, domains_of
from .signs import sign, talk, words

__all__ = ["is_relayed"]

_SENTENCE = re.compile(r"[.!?;]+\s+")
_ASKING = r"(?:what|which|who|whom|whose|where|when|how|why)"
_VERB = (
    r"(?:am|is|are|was|were|do|does|did|have|has|had|can|could|should|shall|will|would|might|may)"
)
_SELF = r"(?:i|i'm|i've|i'd|my)\b"
# "what I eat", "which films my kids like": nothing but what is asked for stands before the user
_OBJECT = re.compile(rf"\b{_ASKING} (?!{_VERB}\b|to\b)(?:(?!{_VERB}\b)[\w-]+ ){{0,4}}?{_SELF}")
# "what do I eat"
_QUESTION = re.compile(rf"\b{_ASKING}(?:'s)? (?:[\w-]+ ){{0,5}}?{_SELF}")
_HEADING = re.compile(r"^(?P<heading>[^:]*\w):\s+(?P<rest>.*)")
# "hey,", "please"
_CALL = re.compile(r"^\s*(?:(?:[\w'-]+(?:,| -+)|please|pls|plz|just|then|and|so|now|also) )+")
_IN_WHICH_LENGTH = re.compile(
    r"\bin (?:[\w-]+ )?(?:sentences?|words?|lines?|details?|short|brief)\b"
)
# behind these stands what something is made by: "a menu around what I eat"
_BY_WHAT = re.compile(r"\b(?:on|of|around|about|from|given|like|for|by|to|and|or)\W*$")


def is_relayed(text: str, known: Collection[str]) -> bool:
    """Whether what is asked for of the user is for something else than to be told to them.

    Args:
        text: of a request, folded, without "tell me".
        known: terms of what is known of the user, with which a request may begin: "music: …".
    """
    return any(_is_relayed(sentence, known) for sentence in _SENTENCE.split(text))


def _is_relayed(sentence: str, known: Collection[str]) -> bool:
    if heading := _HEADING.match(sentence):
        asks = _QUESTION.search(heading["rest"])
        return asks is not None and not _is_read(heading["heading"], known)
    question = _OBJECT.search(sentence)
    # "given where I live, what can I do?" asks by what follows
    if question is None or _QUESTION.search(sentence, question.end()):
        question = _QUESTION.search(sentence)
    if question is None:
        return False
    before = _IN_WHICH_LENGTH.sub("", _CALL.sub("", sentence[: question.start()])).strip(" ,-")
    first, _, others = before.partition(" ")
    # "guess what I like" has nobody else in it
    if not term_set(others) or first in STOP_WORDS or _is_read(before, known):
        return False
    if talk().match(before) or sign("example", "words").match(_CALL.sub("", sentence)):
        return False
    # "find something by what I like" wishes, "file a report with what I eat" does not
    return not (_begins_as_read(before, known) and _BY_WHAT.search(before))


def _is_read(text: str, known: Collection[str]) -> bool:
    """Whether all of it asks or wishes, or names what is known or what it is about."""
    for pattern in _read_signs():
        text = pattern.sub(" ", text)
    for name in domains_of(text):
        text = domain_words(name).sub(" ", text)
    return term_set(text) - _asking() <= set(known)


def _begins_as_read(text: str, known: Collection[str]) -> bool:
    return _is_read(text.split(" ", 1)[0], known)


def _read_signs() -> tuple[re.Pattern[str], ...]:
    return tuple(sign("wish", name) for name in ("forms", "verbs", "pleasures", "occasions"))


@cache
def _asking() -> frozenset[str]:
    return frozenset(term_set(" ".join(words("own", "asking"))))
