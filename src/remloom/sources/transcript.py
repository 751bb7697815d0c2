"""Plain-text chats: `[2024-01-05 10:00] Sarah: hi`, or `Sarah: hi` where a whole file is written
so.

Detection is careful: a document taken for a chat would be cut in the wrong places, while a chat
taken for a document is still read.
"""

from __future__ import annotations

import re
from collections import Counter

from ..model import Message
from ..text import dates
from .document import Turn

__all__ = ["turns"]

_TIMED = re.compile(
    r"""\[?(?P<at>\d{4}-\d\d-\d\d[T ]\d\d?:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?
        |\d\d?\.\d\d?\.\d{4},?[ ]\d\d?:\d\d(?::\d\d)?)\]?
        [ \t]*(?:-[ \t]+)?<?(?P<speaker>[^\s:<>][^:<>\n]{0,60}?)(?::|>:?)(?:[ \t]+(?P<text>.*)|[ \t]*)""",
    re.X,
)
_PLAIN = re.compile(
    r"(?P<speaker>@?[^\W\d_][\w.'’-]*(?:[ ][^\W_][\w.'’-]*){0,3})(?:[ ]?\([^()\n]{1,20}\))?:[ \t]+(?P<text>.*)"
)
_NOT_SPEAKERS = re.compile(
    r"notes?|warning|caution|tip|important|todo|fixme|title|date|time|from|to|cc|subject|re|q|a|question|answer|"
    r"examples?|https?|see(?: also)?|summary|name|authors?|version|license|source|abstract|keywords|where|when|why|who|"
    r"what|how|usage|args|returns|raises|step|result|output|input|default|type",
    re.I,
)
_LEAST_TURNS = 4  # of a chat without times
_LEAST_SHARE = 0.6  # of its lines that name a speaker


def turns(text: str) -> tuple[Turn, ...]:
    """The turns of a transcript; none when the text is not clearly one. Lines without a speaker
    continue a turn."""
    lines = text.split("\n")
    filled = sum(1 for line in lines if line.strip())
    timed = [_TIMED.fullmatch(line.rstrip()) for line in lines]
    count = sum(1 for found in timed if found)
    if count >= 2 and count * 4 >= filled:
        return _collect(lines, timed)
    plain = [_PLAIN.fullmatch(line.rstrip()) for line in lines]
    speakers = Counter(found["speaker"] for found in plain if found)
    count = sum(speakers.values())
    if (
        count >= max(_LEAST_TURNS, _LEAST_SHARE * filled)
        and 2 <= len(speakers) <= count / 2
        and not any(_NOT_SPEAKERS.fullmatch(speaker) for speaker in speakers)
        and all(
            speaker[0] == "@" or speaker[0].isupper() or not speaker.isascii()
            for speaker in speakers
        )
    ):
        return _collect(lines, plain)
    return ()


def _collect(lines: list[str], matches: list[re.Match[str] | None]) -> tuple[Turn, ...]:
    found: list[Turn] = []
    start, said = 0, [""]
    opened: re.Match[str] | None = None

    def close(last: int) -> None:
        text = "\n".join(said).strip()
        if opened is not None and text:
            at = dates.parse(opened["at"].replace(",", "")) if "at" in opened.groupdict() else None
            message = Message(speaker=opened["speaker"].strip(), text=text, at=at)
            found.append(Turn(message=message, lines=(start, last)))

    last = 0
    for number, (line, match) in enumerate(zip(lines, matches, strict=True), 1):
        if match:
            close(last)
            opened, start, said = match, number, [match["text"] or ""]
        elif opened is not None:
            said.append(line)
        if line.strip():
            last = number
    close(last)
    return tuple(found)
