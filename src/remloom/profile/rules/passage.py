"""The words of a passage that are the user's own: quotes, code, material and role play are hidden.

Hidden characters are replaced one by one, so that offsets stay those of the passage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from .phrases import alternatives

__all__ = ["HIDDEN", "own_words"]

# A character that no pattern takes for a word or a mark; from the private use area.
HIDDEN = "\ue000"
_SAME = str.maketrans({"'": "’", "ʼ": "’", "\u00a0": " ", "\t": " ", "\r": " ", HIDDEN: " "})

# Of these, all of the match is hidden. Each looks at most to the end of its line, but for fences.
_FOREIGN = (
    re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL),
    re.compile(r"(?m)^ *>.*$"),
    re.compile(r"(?m)^ *(?://|/\*|\*/|#!|\$ |<\w|[{}\[\]]).*$"),
    re.compile(r"(?m)^(?: {4}).*$"),
    re.compile(r"(?m)^.*[;{}] *$"),
    re.compile(r"(?m)^ *\*[^*\n]+\* *$"),
    re.compile(r"(?m)^.*[♪♫].*$"),
    # a conversation in one line
    re.compile(r"\b[A-Z]\w{1,15}: [^\n]{1,300}?\b(?:Me|You): [^\n]*"),
    re.compile(r"\bhttps?://\S+|\bwww\.\S+"),
    re.compile(r"`[^`\n]*\s[^`\n]*`"),
)
# Of these, only what is between the quotes.
_QUOTED = re.compile(
    r"\"([^\"\n]{1,2000})\"|“([^“”\n]{1,2000})”|«([^«»\n]{1,2000})»|‘([^‘’\n]{1,2000})’"
    r"|(?<!\w)’([^’\n]{2,2000})’(?!\w)"
)
# A letter begins with a line that greets, or with the head of a mail.
_GREETING = re.compile(
    r"(?mi)^ *(?:hi|hello|hey|hallo|good (?:morning|afternoon|evening))\b[^\n.?:]{0,40}$"
)
_LETTER = re.compile(
    r"(?mi)^ *(?:dear|sehr geehrte[rs]?|liebe[rs]?)\b[^\n.?:]{0,40}$"
    r"|^ *(?:subject|from|to|cc|sent|date|betreff|von|an|gesendet): "
    r"|^[^\n]{0,20}\bforwarded (?:message|mail)\b"
)
_SPOKEN_LINE = re.compile(r"(?m)^[ ]*(?:\[[^\]\n]{1,30}\] ?)?([A-Z][\w .-]{0,25}):[ ]")


class _Orders:
    """The expressions that tell what a passage is for; compiled when they are first needed."""

    def __init__(self) -> None:
        begin = rf"\s*(?:{alternatives('politeness')}[,!]? )*"
        self.role_play = re.compile(rf"\b{alternatives('role_play')}", re.IGNORECASE)
        self.material = re.compile(rf"{begin}{alternatives('material')}\b", re.IGNORECASE)
        self.made = re.compile(
            rf"{begin}{alternatives('made')}\b[^\n:]{{0,200}}[:\n]", re.IGNORECASE
        )
        order = f"(?:{alternatives('made')}|{alternatives('material')})"
        # one blank at most: with more, each line end of a long gap would be looked over anew
        polite = f"(?:{alternatives('politeness')}[,!]? ){{0,3}}(?:now |then )?"
        self.later = re.compile(
            rf"(?<=[.!?\n])[ ]?{polite}{order}\b[^\n:]{{0,100}}[:\n]", re.IGNORECASE
        )
        self.speech = re.compile(rf"\b{alternatives('speech')}\b[^.:\n]{{0,30}}:", re.IGNORECASE)


_orders = cache(_Orders)


def own_words(text: str) -> str:
    """Return a text of the same length in which only the user's own words can be read.

    >>> own_words("My boss says “I love meat”.").replace(HIDDEN, "_")
    'My boss says “___________”.'
    """
    text = text.translate(_SAME)
    if _orders().role_play.search(text):
        return HIDDEN * len(text)
    for pattern in _FOREIGN:
        text = pattern.sub(_hide, text)
    text = _QUOTED.sub(_hide_inside, text)
    return _hide_ranges(text, [*_material(text), *_dialogue(text)]).replace("`", " ")


def _hide(found: re.Match[str]) -> str:
    # line ends stay: they part sentences
    return re.sub(r"[^\n]", HIDDEN, found[0])


def _hide_inside(found: re.Match[str]) -> str:
    return found[0][0] + HIDDEN * (len(found[0]) - 2) + found[0][-1]


def _hide_ranges(text: str, ranges: list[tuple[int, int]]) -> str:
    pieces = []
    position = 0
    for start, end in sorted(ranges):
        if end > position:
            start = max(start, position)
            pieces += [text[position:start], HIDDEN * (end - start)]
            position = end
    return "".join([*pieces, text[position:]])


def _material(text: str) -> Iterator[tuple[int, int]]:
    """What is given to be worked on ("Translate …", "Write a mail: …"), or said: "She wrote: …"."""
    orders = _orders()
    order = orders.material.match(text) or orders.made.match(text) or orders.later.search(text)
    if order:
        yield order.end(), len(text)
    letter = _LETTER.search(text) or _GREETING.search(text, len(text) - len(text.lstrip()) + 1)
    if letter:
        yield letter.start(), len(text)
    end = 0
    for speech in orders.speech.finditer(text):
        if speech.end() > end:
            # what begins on a line of its own may have paragraphs
            begins_below = text[speech.end() : speech.end() + 2].strip(" ").startswith("\n")
            end = -1 if begins_below else text.find("\n\n", speech.end())
            end = len(text) if end < 0 else end
            yield speech.end(), end


def _dialogue(text: str) -> Iterator[tuple[int, int]]:
    """Lines of a pasted conversation, which has at least two of them with a name before a colon."""
    lines = list(_SPOKEN_LINE.finditer(text))
    if len(lines) < 2:
        return
    for line in lines:
        end = text.find("\n", line.end())
        yield line.start(), len(text) if end < 0 else end
