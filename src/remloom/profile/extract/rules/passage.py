"""The words of a passage that are the user's own: quotes, code, material and role play are hidden.

Hidden characters are replaced one by one, so that offsets stay those of the passage.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from .lexicon import GIVEN_NAMES, alternatives

# A character that no pattern takes for a word or a mark; from the private use area.
HIDDEN = "\ue000"
_FAR = 2_000  # characters in which what is given begins
_SAME = str.maketrans({"'": "’", "ʼ": "’", "\u00a0": " ", "\t": " ", "\r": " ", HIDDEN: " "})

# Of these, all of the match is hidden. Each looks at most to the end of its line, but for fences.
_FOREIGN = (
    re.compile(r"```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)", re.DOTALL),
    re.compile(r"(?m)^ *>.*$"),
    re.compile(r"(?m)^ *(?://|/\*|\*/|#!|\$ |<\w|[{}\[\]]).*$"),
    re.compile(r"(?m)^#+ .*$"),
    re.compile(r"(?m)^(?: {4}).*$"),
    re.compile(r"(?m)^.*[;{}] *$"),
    re.compile(r"(?m)^ *\*[^*\n]+\* *$"),
    re.compile(r"(?m)^.*[♪♫].*$"),
    # a conversation in one line
    re.compile(r"\b(?:user|human|q): [^\n]{1,300}?\b(?:assistant|ai|bot|a): [^\n]*", re.IGNORECASE),
    re.compile(r"\b[A-Z]\w{0,15}: [^\n]{1,300}?\b(?:Me|You|A): [^\n]*"),
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
# "Alice: I’m vegan."
_NAMED_LINE = re.compile(
    r"(?m)^ *(?P<name>[A-ZÀ-Þ][\w’-]+)(?: [A-ZÀ-Þ][\w’-]+)?:(?= [^\n]*\b(?:I|I’m|my|we)\b)"
)
_ROLE_PLAY = re.compile(rf"\b{alternatives('role_play')}", re.IGNORECASE)
# one blank at most: with more, each line end of a long gap would be looked over again
_POLITE = f"(?:{alternatives('politeness')}[,!]? ){{0,3}}(?:now |then )?"
_BEGIN = rf"(?:\A\s{{0,9}}|(?<=[.!?\n])[ ]?){_POLITE}"
_ORDER = re.compile(
    rf"{_BEGIN}(?:(?P<rewrite>{alternatives('rewriting')})|(?P<read>{alternatives('reading')})"
    rf"|(?P<make>{alternatives('making')}))\b(?P<about>[^\n:.!?]{{0,200}})",
    re.IGNORECASE,
)
_GIVEN = re.compile(rf"\b{alternatives('given')}\b", re.IGNORECASE)
_VOICE = re.compile(rf"\b{alternatives('voices')}\b", re.IGNORECASE)
# "Mum: I’m vegan", "Sample: I live in Rome."
_LABEL = re.compile(
    r"(?m)^ *(?:(?:my|our|the|an?) )?"
    rf"(?:{alternatives('people')}|{alternatives('samples')})"
    r"(?: \d+)?:(?= [^\n]*\b(?:I|I’m|my|we|ich|mein)\b)",
    re.IGNORECASE,
)
_SPEECH = re.compile(rf"\b{alternatives('speech')}\b[^.:\n]{{0,30}}:", re.IGNORECASE)


def own_words(text: str) -> str:
    """Return a text of the same length in which only the user's own words can be read.

    >>> own_words("My boss says “I love meat”.").replace(HIDDEN, "_")
    'My boss says “___________”.'
    """
    text = text.translate(_SAME)
    if _ROLE_PLAY.search(text):
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
    for order in _ORDER.finditer(text):
        yield from _material_of(order, text)
    letter = _LETTER.search(text) or _GREETING.search(text, len(text) - len(text.lstrip()) + 1)
    if letter:
        yield letter.start(), len(text)
    named = (one for one in _NAMED_LINE.finditer(text) if one["name"].casefold() in GIVEN_NAMES)
    for label in chain(_LABEL.finditer(text), named):
        yield label.end(), _line_end(text, label.end())
    end = 0
    for speech in _SPEECH.finditer(text):
        if speech.end() > end:
            # what begins on a line of its own may have paragraphs
            begins_below = text[speech.end() : speech.end() + 2].strip(" ").startswith("\n")
            end = -1 if begins_below else text.find("\n\n", speech.end())
            end = len(text) if end < 0 else end
            yield speech.end(), end


def _material_of(order: re.Match[str], text: str) -> Iterator[tuple[int, int]]:
    """What is given with an order: behind a colon, in the lines below, or what it is made about."""
    end = order.end()
    if text.startswith(":", end):
        yield end, len(text)
        return
    below = text.find("\n", end, end + _FAR)
    is_below = below >= 0 and bool(text[below : below + _FAR].strip())
    if is_below:
        yield below, len(text)
    if order["rewrite"]:
        yield order.start("rewrite"), end
        # "Translate this. I live in Rome.", where nothing else can be meant
        if not is_below and HIDDEN not in text[end:] and _GIVEN.search(order["about"]):
            yield end, len(text)
    elif order["make"] and _VOICE.search(order["about"]):
        yield order.start("make"), end


def _dialogue(text: str) -> Iterator[tuple[int, int]]:
    """Lines of a pasted conversation, which has at least two of them with a name before a colon."""
    lines = list(_SPOKEN_LINE.finditer(text))
    if len(lines) < 2:
        return
    for line in lines:
        yield line.start(), _line_end(text, line.end())


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end
