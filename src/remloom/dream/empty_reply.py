"""Whether a model's reply means NOTHING: that a text adds nothing to what is known."""

from __future__ import annotations

import re

__all__ = ["is_nothing"]

_MARKS = re.compile(r"[\s*_`\"'“”‘’«».:!#>()\[\]-]+")
_NOTHING = re.compile(r"nothing(?: (?:new|to add|added|here|really|at all|else))*", re.IGNORECASE)
# shouted, and then explained
_LEADING = re.compile(r"\A[\W_]*NOTHING[\W_]*(?:\n|\Z|[-–—:.,;]\s)")
_THING = (
    "one|information|info|passage|text|note|chunk|learning|synthesis|content|statement|material"
)
_IN = rf"in (?:this|it|that|here)(?: (?:new |above |given |second |latest )?(?:{_THING}))?"
_IT = rf"(?:this|it|that|there|here|the) ?(?:new |above |given |second |latest )?(?:{_THING})?"
_KNOWN = (
    r"(?:what (?:we|is|was)(?: already){,2} (?:know|known|knew)(?: (?:already|before|so far))?"
    r"|(?:the |our )?existing (?:knowledge|understanding))"
)
_NEW = "new|more|further|else|additional|substantial|significant|novel"
_FACTS = "information|insights?|knowledge|content|facts?|understanding|value"
_WHERE = rf"(?: (?:here|at all|{_IN}|to (?:this|it|that|{_KNOWN})|beyond {_KNOWN}))?"
_ADDS = "(?:adds?|brings?|contributes?|offers?|provides?|contains?|says?|tells us|holds?)"
_THERE_IS = "(?:there is|there s|i see|i find|i found|i have|we see|we learn|we find|we have)"
_FOUND = "(?:found|added|provided|learned|learnt|said|given)"
_ADVERB = "(?:really |simply |essentially |just )?"
_SOME_NEW = rf"(?: (?:{_NEW}))?"
# each is a whole sentence that says so
_FORMS = (
    # "This adds nothing new here."
    rf"{_IT} {_ADVERB}{_ADDS}"
    rf" (?:(?:absolutely |really |basically )?nothing{_SOME_NEW}|no{_SOME_NEW} (?:{_FACTS}))"
    rf"{_WHERE}",
    # "It does not add any information."
    rf"{_IT} (?:does not|doesn t|do not|don t|did not|didn t) (?:really )?{_ADDS}"
    rf" (?:anything{_SOME_NEW}|any{_SOME_NEW} (?:{_FACTS})){_WHERE}",
    # "There is nothing to add."
    rf"{_THERE_IS} (?:really |simply )?nothing{_SOME_NEW}"
    rf"(?: (?:here|at all|{_IN}|to (?:be )?(?:add|added|report|learn|learned|note)))*",
    # "I found no new insights."
    rf"{_THERE_IS} no{_SOME_NEW} (?:{_FACTS})"
    rf"(?: (?:here|at all|{_IN}|to (?:add|report)))*",
    # "No new information found."
    rf"no (?:{_NEW}) (?:{_FACTS})"
    rf"(?: (?:here|at all|{_IN}|(?:(?:is|are|was|were) )?{_FOUND}))?",
    # "Nothing new is learned from this."
    rf"nothing (?:{_NEW}) (?:is|was|has been|can be) {_FOUND}"
    rf"(?: (?:here|(?:by|from) this))?",
    # "It repeats what we know."
    rf"{_IT} (?:is |s )?(?:simply |merely |only |just )?(?:a )?"
    rf"(?:repeats?|repetition of|restates?|restatement of|duplicates?|duplicate of) {_KNOWN}",
    # "We already knew this."
    "(?:we|i) (?:already knew|know|knew) (?:all )?(?:of )?(?:this|it|that)(?: already)?",
    "already known",
)
_OPENING = "(?:(?:in (?:short|summary|conclusion)|overall|therefore|so) )?"
_SAYS_NOTHING = re.compile(
    "|".join(rf"{_OPENING}(?:{form})" for form in _FORMS),
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+")
_NON_WORD = re.compile(r"[^\w]+|_+")
_LONGEST = 400  # characters of a reply all of whose sentences say that nothing is new


def is_nothing(reply: str) -> bool:
    """Whether a reply means NOTHING, however it is dressed.

    >>> shouted = ("NOTHING", "**Nothing.**", '"NOTHING new"', "NOTHING - it repeats the above.")
    >>> [is_nothing(text) for text in shouted]
    [True, True, True, True]
    >>> is_nothing("This adds nothing new.")
    True
    >>> is_nothing("There is nothing new here. We already knew this.")
    True
    >>> is_nothing("Nothing in the treaty binds Spain.")
    False
    >>> is_nothing("There is nothing like NOTHING in it.")
    False
    """
    bare = _MARKS.sub(" ", reply).strip()
    if not bare or _NOTHING.fullmatch(bare) or _LEADING.match(reply):
        return True
    if len(reply) > _LONGEST:
        return False
    sentences = [_plain(part) for part in _SENTENCE.split(reply)]
    return all(_says_nothing(sentence) for sentence in sentences if sentence)


def _says_nothing(sentence: str) -> bool:
    return bool(_NOTHING.fullmatch(sentence) or _SAYS_NOTHING.fullmatch(sentence))


def _plain(sentence: str) -> str:
    """A sentence as bare words."""
    return " ".join(_NON_WORD.sub(" ", sentence).split())
