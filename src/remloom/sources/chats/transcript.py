"""Plain-text chats: `[2024-01-05 10:00] Sarah: hi`, or `Sarah: hi` all through a file.

Detection is careful: a document taken for a chat would be cut in the wrong places, while a chat
taken for a document is still read.
"""

from __future__ import annotations

import re
from collections import Counter

from ...model import Message
from ...text import dates
from ..document import Turn

_TIMED = re.compile(
    r"""\[?(?P<at>\d{4}-\d\d-\d\d[T ]\d\d?:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?
        |\d\d?\.\d\d?\.\d{4},?[ ]\d\d?:\d\d(?::\d\d)?)\]?
        [ \t]*(?:-[ \t]+)?<?(?P<speaker>[^\s:<>][^:<>\n]{0,60}?)(?::|>:?)
        (?:[ \t]+(?P<text>.*)|[ \t]*)""",
    re.X,
)
_PLAIN = re.compile(
    r"(?P<speaker>@?[^\W\d_][\w.'’-]*(?:[ ][^\W_][\w.'’-]*){0,3})"
    r"(?:[ ]?\([^()\n]{1,20}\))?:[ \t]+(?P<text>.*)"
)
_NOT_SPEAKERS = re.compile(
    r"notes?|warning|caution|tip|important|todo|fixme|title|date|time|from|to|cc|subject|re|q|a|"
    r"question|answer|examples?|https?|see(?: also)?|summary|name|authors?|version|license|source|"
    r"abstract|keywords|where|when|why|who|what|how|usage|args|returns|raises|step|result|output|"
    r"input|default|type",
    re.I,
)
_LEAST_TURNS = 4  # of a chat without times
_LEAST_SHARE = 0.6  # of its lines that name a speaker


def turns(text: str) -> tuple[Turn, ...]:
    """Read the turns of a transcript, in which lines without a speaker continue one; none if it
    clearly is none."""
    lines = text.split("\n")
    filled = sum(1 for line in lines if line.strip())
    timed = [_TIMED.fullmatch(line.rstrip()) for line in lines]
    count = sum(1 for match in timed if match)
    # messages may have several lines
    if count >= 2 and count * 4 >= filled:
        return _collect(lines, timed)
    plain = [_PLAIN.fullmatch(line.rstrip()) for line in lines]
    speakers = Counter(match["speaker"] for match in plain if match)
    count = sum(speakers.values())
    if count < max(_LEAST_TURNS, _LEAST_SHARE * filled):
        return ()
    # A glossary has many "speakers", each of whom says one thing.
    if not 2 <= len(speakers) <= count / 2 or not all(map(_may_speak, speakers)):
        return ()
    return _collect(lines, plain)


def _may_speak(name: str) -> bool:
    if _NOT_SPEAKERS.fullmatch(name):
        return False
    return name[0] == "@" or name[0].isupper() or not name.isascii()


def _collect(lines: list[str], matches: list[re.Match[str] | None]) -> tuple[Turn, ...]:
    """The turns that begin at the lines which match, each with the lines that follow."""
    collected: list[Turn] = []
    opening: re.Match[str] | None = None
    start = last = 0
    text: list[str] = []

    def close() -> None:
        whole = "\n".join(text).strip()
        if opening is None or not whole:
            return
        at = None
        if "at" in opening.groupdict():
            at = dates.parse(opening["at"].replace(",", ""))
        message = Message(speaker=opening["speaker"].strip(), text=whole, at=at)
        collected.append(Turn(message=message, lines=(start, last)))

    for number, (line, match) in enumerate(zip(lines, matches, strict=True), 1):
        if match:
            close()
            opening = match
            start = number
            text = [match["text"] or ""]
        elif opening is not None:
            text.append(line)
        # blank lines at its end are not of a turn
        if line.strip():
            last = number
    close()
    return tuple(collected)
