"""Words of a stranger as one line of plain text: titles, tags, notes."""

from __future__ import annotations

import html
import re
import unicodedata
from html.parser import HTMLParser

# most titles have no need to be looked at character by character
_USUAL = re.compile(r"[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff]*")
# control characters, invisible ones (which turn the direction of a line), and halves of pairs
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn")
# invisible too, but scripts and emoji are written with them
_JOINERS = "\u200c\u200d"
# elements whose content is not for people
_CODE = frozenset(("script", "style", "template"))


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


def from_html(source: str) -> str:
    """Take the words out of a piece of HTML; what is not HTML stays as it is.

    >>> from_html("<p>Rye<br>bread</p><script>x()</script> &amp; butter").split()
    ['Rye', 'bread', '&', 'butter']
    """
    if "<" not in source:
        return html.unescape(source)
    words = _Words()
    words.feed(source)
    words.close()
    return "".join(words.parts)


class _Words(HTMLParser):
    """Collects the text of elements; a tag parts words."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._code = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.parts.append(" ")
        self._code += tag in _CODE

    def handle_endtag(self, tag: str) -> None:
        self.parts.append(" ")
        self._code = max(0, self._code - (tag in _CODE))

    def handle_data(self, data: str) -> None:
        if not self._code:
            self.parts.append(data)


def _seen(character: str) -> str:
    if character in _JOINERS:
        return character
    return " " if character in "\t\n\r\v\f\x85" else _visible(character)


def _visible(character: str) -> str:
    return "" if unicodedata.category(character) in _UNSEEN else character
