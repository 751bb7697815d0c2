"""Makes odd names, values and texts: what stands beside sound pieces and must cost nothing but itself."""

from __future__ import annotations

import random
import sys
import unicodedata

__all__ = ["odd_name", "odd_sentence", "odd_text"]

_TITLES = (
    "Chevalier", "Count", "Lord", "Lady", "Duke", "Sir", "Dame", "Dr.", "Prof.", "President", "King",
    "Queen", "Prince", "Baron", "Marquis", "Saint", "St.", "General", "Senator", "Mr.", "Mrs.", "Pope",
    "Captain", "Minister", "Comte", "Viscount", "Earl", "Emperor",
)  # fmt: skip
_PARTICLES = (
    "de", "de la", "du", "des", "von", "von der", "van", "van den", "of", "of the", "the", "and", "&",
    "for", "on", "y", "e", "al-", "el-", "bin", "ibn", "da", "di", "le", "La", "zu", "ten", "der",
)  # fmt: skip
_NAMES = (
    "Saint",
    "George",
    "Paris",
    "May",
    "I",
    "II",
    "O'Neill",
    "Æthel",
    "Öz",
    "Å",
    "Σ",
    "Ж",
    "É.",
)
_BLANKS = (
    "",
    " ",
    "\t",
    "\n",
    "\u00a0",
    "\u2003",
    "\u3000",
    "\u200b",
    "\u2060",
    "\ufeff",
    "\u00ad",
)
_MARKS = (
    "'",
    '"',
    "`",
    "''",
    '""',
    "“”",
    "‘’",
    "«»",
    "「」",
    "-",
    "_",
    ".",
    "…",
    "!",
    "#",
    "--",
    "/*",
    "%s",
)
_DIRECTIONS = ("\u202e", "\u200f", "\u2067", "\u200d", "\U000e0041")
_EMOJI = ("😀", "👩‍👩‍👧", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "☺️", "🇫🇷")  # fmt: skip
_HALVES = ("\ud800", "\udfff", "\ud83d")
_CONTROLS = ("\x00", "\x1b[2J", "\x07", "\x7f", "\x85", "\u2028")


def _any_character(draw: random.Random) -> str:
    """One character of all of Unicode, letters and marks before the rest."""
    while True:
        character = chr(draw.randrange(sys.maxunicode + 1))
        category = unicodedata.category(character)
        if category[0] in "LM" or (category != "Cn" and draw.random() < 0.2):
            return character


def odd_name(draw: random.Random) -> str:
    """What may stand where a name does."""
    match draw.randrange(9):
        case 0 | 1 | 2:
            # titles, particles and names in any order
            parts = [
                draw.choice(draw.choice((_TITLES, _PARTICLES, _NAMES, _TITLES)))
                for _ in range(draw.randrange(1, 6))
            ]
            return " ".join(parts)
        case 3:
            return "".join(_any_character(draw) for _ in range(draw.randrange(1, 8)))
        case 4:
            return draw.choice(_BLANKS) * draw.randrange(1, 3)
        case 5:
            return "".join(draw.choice(_MARKS) for _ in range(draw.randrange(1, 4)))
        case 6:
            base = draw.choice((*_NAMES, *_EMOJI))
            odd = draw.choice((*_DIRECTIONS, *_EMOJI, *_HALVES, *_CONTROLS, "\u0301" * 30))
            return draw.choice((base + odd, odd + base, odd))
        case 7:
            return draw.choice(("x", "É", "A ", "a-", "'")) * draw.choice((200, 5_000, 70_000))
        case _:
            mark = draw.choice(_MARKS)
            return f"{mark}{draw.choice((*_NAMES, *_BLANKS))}{mark}"


def odd_sentence(draw: random.Random) -> str:
    """A sentence with odd names in it."""
    first, second = odd_name(draw), odd_name(draw)
    return draw.choice((
        f"I met the {first} {second} in Paris.",
        f"{first} of {second} ({second[:3]}) wrote to @{first} and {second}@example.com.",
        f"# {first}\n\n{second}",
        f"See [{first}]({second}.md), said {first}.",
        f"The {first} and the {second} were in {first}.",
    ))  # fmt: skip


def odd_text(draw: random.Random) -> str:
    """A few odd sentences, perhaps behind odd front matter."""
    sentences = "\n\n".join(odd_sentence(draw) for _ in range(draw.randrange(1, 4)))
    if draw.random() < 0.3:
        number = draw.choice(("7" * 30, "1e999", odd_name(draw)))
        return f"---\nauthor: {odd_name(draw)}\ntitle: {odd_name(draw)}\nyear: {number}\n---\n{sentences}"
    return sentences
