"""The language of a text, named if it is one that is not heard."""

from __future__ import annotations

from .features import spelling
from .head import LANGUAGE, head

HEARD = "heard "  # begins the label of a language that training found the heads good enough in
ANOTHER = "another language"  # not heard either, but which one is not sure
_ENOUGH = 40  # different runs of letters; some four words have that many, or a dozen ideographs
_UNHEARD = 0.5  # least probability of all languages together that are not heard
_NAMED = 0.4  # least share of that probability that the one has which is named


def unheard_language(text: str) -> str:
    """Return the English name of a text's language if it is not heard.

    Empty if it is, or if there is too little text to tell, such as names or "ok".

    >>> unheard_language("მე თბილისში ვცხოვრობ და მასწავლებლად ვმუშაობ")
    'another language'
    >>> unheard_language("Since I retired I have been growing tomatoes on the balcony")
    ''
    """
    # words with a capital count as names; in a text that is all capitals that tells nothing
    seen = spelling(text.lower() if text.isupper() else text)
    if len(seen) < _ENOUGH:
        return ""
    probabilities = head(LANGUAGE).decide_by(seen).probabilities
    others = {name: one for name, one in probabilities.items() if not name.startswith(HEARD)}
    unheard = sum(others.values())
    if unheard < _UNHEARD:
        return ""
    likeliest = max(others, key=others.__getitem__)
    return likeliest if others[likeliest] >= _NAMED * unheard else ANOTHER
