"""Words of a stranger as one line of plain text: titles, tags, notes."""

from __future__ import annotations

import html
import re
import unicodedata

__all__ = ["one_line"]

# most titles have no need to be looked at character by character
_USUAL = re.compile(r"[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff]*")
# control characters, invisible ones (which turn the direction of a line), and halves of pairs
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn")
# invisible too, but scripts and emoji are written with them
_JOINERS = "\u200c\u200d"


def one_line(text: str, most: int = 0) -> str:
    """Write a text as one line: entities of HTML resolved, without characters that nobody sees.

    >>> one_line("Bread &amp; butter\\n\\x00 at home"), one_line("a long title", 8)
    ('Bread & butter at home', 'a long…')

    Args:
        text: of any origin.
        most: characters of the line; 0: as many as there are.
    """
    text = html.unescape(text)
    if not _USUAL.fullmatch(text):
        text = "".join(map(_seen, text))
    line = " ".join(text.split())
    if most and len(line) > most:
        line = line[: most - 1].rstrip() + "…"
    return line


def _seen(character: str) -> str:
    if character in _JOINERS:
        return character
    return " " if character in "\t\n\r\v\f\x85" else _visible(character)


def _visible(character: str) -> str:
    return "" if unicodedata.category(character) in _UNSEEN else character
