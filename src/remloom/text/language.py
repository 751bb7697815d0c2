"""Whether a short text is English or of another language, by its letters and a few common words."""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORD = re.compile(r"[^\W\d_]+")
_NOT_LATIN = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")  # a letter of another script
_ENGLISH_WORDS = """
    what who whom whose which when where why how the of and to is are was were do does did has have
    had with for from that this it its by at on in an a my your his her their our i you we they
    about tell me
"""
# of German, Spanish, French, Italian, Portuguese and Dutch
_OTHER_WORDS = """
    der die das den dem des ein eine einer einem einen und ist sind wurde wurden wird wer wie wo
    warum welche welcher welches wann wieviel viele nicht mit von für auf zu zum zur im bei nach
    hatte haben
    el la los las un una unos unas y es fue fueron quién quien qué que cuál cuáles cómo dónde cuándo
    cuántos cuántas por para con del al se su en
    le les du et est sont qui quel quelle quels quelles où quand combien pourquoi dans pour avec sur
    au aux
    il lo gli di che chi quale quali dove quanto quanti perché nel nella della dei delle sono
    o os um uma quem qual quais onde quantos não na dos das em
    het een wie waar wanneer waarom hoe welk hoeveel zijn werd naar voor
"""
_CLEARLY = 2  # words more: "in", "an" and "was" are German, too, and "o" is in "o'clock"
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_OTHERS = frozenset(_OTHER_WORDS.split())


def is_english(text: str) -> bool:
    """Whether a text may be English: neither its script nor its common words say otherwise.

    >>> is_english("Who scored?"), is_english("Wer hat das Tor geschossen?"), is_english("Pelé")
    (True, False, True)
    """
    words = _words(text)
    return not _is_of_other_script(words) and _lean(words) >= 0


def are_of_two_languages(one: str, other: str) -> bool:
    """Whether one of two texts is clearly English and the other clearly not, or they are of two
    scripts. Of two other languages in one script nothing is known.

    >>> are_of_two_languages("He lives with his wife", "Er wohnt mit der Frau bei Bonn")
    True
    >>> are_of_two_languages("Pelé, 1958", "Er wohnt mit der Frau bei Bonn")
    False
    """
    first, second = _words(one), _words(other)
    if not first or not second:
        return False
    if _is_of_other_script(first) or _is_of_other_script(second):
        return _is_of_other_script(first) != _is_of_other_script(second)
    leans = _lean(first), _lean(second)
    return max(leans) >= _CLEARLY and min(leans) <= -_CLEARLY


def _words(text: str) -> list[str]:
    return [word.casefold() for word in _WORD.findall(text)]


def _is_of_other_script(words: Sequence[str]) -> bool:
    return sum(bool(_NOT_LATIN.search(word)) for word in words) * 2 > len(words)


def _lean(words: Sequence[str]) -> int:
    return sum(word in _ENGLISH for word in words) - sum(word in _OTHERS for word in words)
