"""Whether an embedder knows the language of a question. One that does not finds by resemblance of
letters."""

from __future__ import annotations

import re

__all__ = ["foreign"]

_ENGLISH_ONLY = frozenset(("all-MiniLM-L6-v2",))
_WORD = re.compile(r"[^\W\d_]+")
_OTHER_SCRIPT = re.compile(r"[^\W\d_\u0000-\u024f\u1e00-\u1eff]")  # a letter that is not Latin
_COMMON = """
    what who whom whose which when where why how the of and to is are was were did does do has have had with for
    from that this it its by at on in an a my your his her their our i you we they about tell me
"""
# Of German, Spanish, French, Italian, Portuguese and Dutch.
_COMMON_ELSEWHERE = """
    der die das den dem des ein eine einer einem einen und ist sind wurde wurden wird wer wie wo warum welche welcher
    welches wann wieviel viele nicht mit von für auf zu zum zur im bei nach hatte haben
    el la los las un una unos unas y es fue fueron quién quien qué que cuál cuáles cómo dónde cuándo cuántos
    cuántas por para con del al se su en
    le les du et est sont qui quel quelle quels quelles où quand combien pourquoi dans pour avec sur au aux
    il lo gli di che chi quale quali dove quanto quanti perché nel nella della dei delle sono
    o os um uma quem qual quais onde quantos não na dos das em
    het een wie waar wanneer waarom hoe welk hoeveel zijn werd naar voor
"""
_ENGLISH, _OTHERS = frozenset(_COMMON.split()), frozenset(_COMMON_ELSEWHERE.split())


def foreign(text: str, model: str) -> bool:
    """Whether the text is in a language that the model was not made for, as far as a few common
    words tell.

    >>> foreign("Wer hat das Tor geschossen?", "all-MiniLM-L6-v2"), foreign("Who scored?", "all-MiniLM-L6-v2")
    (True, False)
    >>> foreign("Wer hat das Tor geschossen?", "multilingual-e5-small+prefixes")
    False
    """
    if model not in _ENGLISH_ONLY:
        return False
    words = [word.casefold() for word in _WORD.findall(text)]
    if sum(bool(_OTHER_SCRIPT.search(word)) for word in words) * 2 > len(words):
        return True
    english, others = (sum(word in known for word in words) for known in (_ENGLISH, _OTHERS))
    return others > english
