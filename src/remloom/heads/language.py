"""The language of a text, as far as it is none that the heads hear what people say in."""

from __future__ import annotations

from .features import spelling
from .head import head

__all__ = ["ANOTHER", "HEARD", "unheard_language"]

HEARD = "heard "  # begins the label of a language that the heads are trained in
ANOTHER = "another language"  # one that is not told for sure
_ENOUGH = 40  # runs of letters, as some four words or a dozen ideographs have
_UNHEARD = 0.5  # probability from which on it is in none of the languages that are heard
_NAMED = 0.5  # of that probability, how much the language has that is named


def unheard_language(text: str) -> str:
    """Name the language of a text in English if the heads do not hear it.

    Empty if they do, and where there is too little text to tell, such as names or "ok".

    >>> unheard_language("Da quando sono in pensione coltivo pomodori sul balcone")
    'Italian'
    >>> unheard_language("Since I retired I have been growing tomatoes on the balcony")
    ''
    """
    seen = spelling(text)
    if len(seen) < _ENOUGH:
        return ""
    probabilities = head("language").decide_by(seen).probabilities
    others = {name: one for name, one in probabilities.items() if not name.startswith(HEARD)}
    unheard = sum(others.values())
    if unheard < _UNHEARD:
        return ""
    likeliest = max(others, key=others.__getitem__)
    return likeliest if others[likeliest] >= _NAMED * unheard else ANOTHER
