"""Quoting: what was remembered, on its way to a model or a terminal.

Whatever a name, a source, a type or a text is, it stays where it is put: names in one short line
and in quotes that they cannot close, texts line by line behind a mark. Nothing of it steers a
terminal, hides text or reverses its direction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

LONGEST = 160  # characters of a name or source; of a longer one both ends are shown
_END = 60  # of them, what is shown of the end: lines and pages are there

_CONTROLS = r"\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029"
# Without a width or a meaning of their own: they join or part letters, or say how one is drawn. Of
# several selectors in a row the last one stays: one makes an emoji of a sign, many spell a hidden
# text.
_PARTING = r"\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2065\u3164\ufeff\uffa0"
_JOINERS = r"\u200c\u200d"
# These reverse the direction of a text, or hide one.
_HIDING = (
    r"\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u200e\u200f\u202a-\u202e\u2066-\u206f"
    r"\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SELECTORS = r"[\ufe00-\ufe0f](?=[\ufe00-\ufe0f])"

_unshown = re.compile(f"[{_CONTROLS}{_PARTING}{_JOINERS}{_HIDING}]|{_SELECTORS}")
_controls = re.compile(f"[{_CONTROLS}]")
_nothing = re.compile(f"[{_PARTING}{_JOINERS}]|{_SELECTORS}")
_hiding = re.compile(f"[{_HIDING}]+")
# one joiner between two letters of a script or two signs of an emoji, which are written with it
_VISIBLE = rf"[^\x00-\x7f{_PARTING}{_JOINERS}{_HIDING}]"
_unread = re.compile(
    f"[{_PARTING}{_HIDING}]|{_SELECTORS}|(?<!{_VISIBLE})[{_JOINERS}]|[{_JOINERS}](?!{_VISIBLE})"
)
_QUOTES = str.maketrans({'"': "'", "“": "'", "”": "'", "„": "'", "«": "'", "»": "'", "＂": "'"})


def visible(value: object) -> str:
    """Make a value text that is safe to show in a terminal.

    Line breaks stay; characters without width, or that would steer the terminal, go. A replacement
    character shows where text was hidden, or turned in its direction.
    """
    text = str(value)
    if _is_plain(text):
        return text
    text = _controls.sub(" ", text)
    text = _nothing.sub("", text)
    return _hiding.sub("\N{REPLACEMENT CHARACTER}", text)


def cleaned(value: object) -> str:
    """Make a value text for a model: without characters that nobody sees, but for line breaks and
    the joiners that scripts and emoji are written with.

    >>> cleaned("see\\u202e\\x1b[31m\\U000e0041 this")
    'see [31m this'
    """
    text = str(value)
    if _is_plain(text):
        return text
    return _unread.sub("", _controls.sub(" ", text))


def cleaned_origins(text: str) -> Sequence[int]:
    """Say where each character of the `cleaned` text is in the text, and where that ends.

    >>> list(cleaned_origins("a\\u200bb"))
    [0, 2, 3]
    """
    if _is_plain(text):
        return range(len(text) + 1)
    origins: list[int] = []
    end = 0
    for unread in _unread.finditer(_controls.sub(" ", text)):
        origins += range(end, unread.start())
        end = unread.end()
    return [*origins, *range(end, len(text) + 1)]


def escaped(json: str) -> str:
    """Spell what `visible` would take out of a JSON text as JSON escapes, but for line breaks."""
    return json if _is_plain(json) else _unshown.sub(_escape, json)


def one_line(value: object, longest: int = LONGEST) -> str:
    """Write a name or source in one short line: nothing in it can pass for a line of its own.

    Args:
        longest: characters; of what is longer the middle is left out. 0: as many as there are.
    """
    line = " ".join(cleaned(value).split())
    if not longest or len(line) <= longest:
        return line
    end = min(_END, longest // 2)
    return f"{line[: longest - end - 1]}…{line[-end:]}"


def quoted(value: object, longest: int = LONGEST) -> str:
    """Write a name or source in straight double quotes, which nothing in it closes.

    >>> print(quoted('Bob" · trust: told'))
    "Bob' · trust: told"
    """
    return f'"{unquoted(one_line(value, longest))}"'


def unquoted(text: str) -> str:
    """Write double quotes of all kinds as single ones."""
    return text.translate(_QUOTES)


def quoted_lines(text: object) -> Iterator[str]:
    """Write each line of a text behind "> "; empty ones are left out."""
    for line in str(text).splitlines():
        shown = cleaned(line)
        if shown.strip():
            yield f"> {shown}"


def _is_plain(text: str) -> bool:
    # most texts are plain ASCII, which needs no search
    return (text.isascii() and text.isprintable()) or not _unshown.search(text)


def _escape(match: re.Match[str]) -> str:
    return "".join(_spelled(ord(character)) for character in match[0])


def _spelled(code: int) -> str:
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"
