"""What a single line would be the heading of, if it is one: see `heading_filter`."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from importlib import resources
from typing import Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

Kind: TypeAlias = Literal[
    "atx", "underlined", "named", "numbered", "capitals", "bold", "alone", "subtitle"
]

_MOST_WORDS = 12  # of a heading
_MOST_CAPITALS = 9  # words of one in capitals, see seed 3
_LONGEST = 120  # characters of a heading
_LEAST_LETTERS = 4  # of one in capitals: "USA" is none

_ATX = re.compile(r"(#{1,6})[ \t]+(\S.*?)[ \t]*#*[ \t]*$")
_ROMAN = r"(?=[IVXLC])(?:X{0,4}|XL|L?X{0,4}|C{0,3})(?:IX|IV|V?I{0,4})"
# "2.1 Results", "12. GOVERNING LAW", "IV. Methods", "B. Scope"
_NUMBERED = re.compile(
    rf"(?P<number>\d{{1,3}}(?:\.\d{{1,3}}){{0,5}}|{_ROMAN}(?=\.)|[A-Z](?=\.))"
    r"(?P<point>\.?)[ \t\u3000]+"
    r"(?P<title>\S.*)"
)
# the book has parts, chapters, sections, articles: 第一章, 第3節, 제1장
_CHINESE = re.compile(
    r"[第제][ ]?[0-9０-９〇零一二三四五六七八九十百千]+[ ]?"
    r"(?P<unit>[编編部卷篇册회편章回幕장節节절課课条條款조])(?:[ \t\u3000:：、.．]*(?P<title>.*))$"
)
_CHINESE_LEVELS = dict.fromkeys("编編部卷篇册편", 1) | dict.fromkeys("节節절課课", 3)
_CHINESE_LEVELS |= dict.fromkeys("条條款조", 4)
_CHINESE_ITEM = re.compile(r"[一二三四五六七八九十]{1,3}、[ ]?(?P<title>\S.*)$")
_CHINESE_SENTENCE = re.compile(r"[。！？，；,;]")
_BOLD = re.compile(r"(\*\*|__)(?P<title>[^*_\s][^*_]{0,100}?):?\1:?$")
# a heading with the text of its section behind it: "2.3 Term. The term of this …"
_CAPITAL = r"[^\W\d_a-z][\w’'&/-]*,?"
_ABBREVIATION = r"(?!(?:Mr|Mrs|Ms|Dr|Prof|St|No|Inc|Co|Art|Sec)\.)"
_SMALL = r"(?:of|and|the|for|to|in|or|on|by|with|a|an|de|la|und|der|die)"
_RUN_IN = re.compile(
    rf"(?P<title>{_ABBREVIATION}{_CAPITAL}(?:[ ](?:{_SMALL}[ ]){{0,3}}{_CAPITAL}){{0,7}})"
    r"(?:\.|:|[ ][–—-])[ \t]+(?=[^\W\d_a-z]|[\"“(])"
)
# and a definition: "1.4 “Affiliate” means …"
_DEFINITION = re.compile(
    r"(?P<title>[\"“][^\"“”]{1,60}[\"”])[^.;]{0,60}?\s(?:means?|shall mean|has the meaning)\b"
)
_JOINING = frozenset(("with", "from", "into", "upon", "this", "that", "their", "your", "between"))
# a line of a table of contents, a blank to be filled in, cells
_FURNITURE = re.compile(r"\.{4}|(?:\. ){3}|_{3}|\t|\||[ ]{3}\S|\.{2,}\s*\d+$")
_PAGE = re.compile(r"(?:PAGE|P\.|SEITE|FOLIO|VOL\.)\s*[\dIVXLC]+\b")
_LETTER = re.compile(r"[^\W\d_]")


class Heading(Struct, frozen=True, gc=False):
    """What a line would be as a heading."""

    kind: Kind
    level: int  # 1 is highest; of another kind it may mean another rank
    title: str
    number: str = ""  # "2.1", "IV"; of Chinese with its words
    runs_in: bool = False  # the text of its section begins in the same line


def read_atx(text: str) -> Heading | None:
    match = _ATX.match(text)
    return Heading("atx", len(match[1]), match[2]) if match else None


def read_heading(text: str) -> Heading | None:
    """Read a line without blanks around it as a heading of a plain text, if it can be one.

    >>> read_heading("ARTICLE IV").level, read_heading("Section 2.3 Term.").title
    (2, 'Section 2.3 Term')
    >>> read_heading("2.1 million people") is read_heading("USA") is None
    True
    """
    if len(text) > _LONGEST:
        # no more than its beginning may be a heading
        text = text[: 2 * _LONGEST]
        heading = _read_numbered(text) or _read_named(text)
        return heading if heading and heading.runs_in else None
    heading = (
        _read_numbered(text)
        or _read_named(text)
        or _read_chinese(text)
        or _read_bold(text)
        or _read_alone(text)
        or _read_capitals(text)
    )
    if heading and ("  " in heading.title or "\t" in heading.title):
        return replace(heading, title=" ".join(heading.title.split()))
    return heading


def is_title(text: str) -> bool:
    """Whether words may be those of a heading: few, not a sentence, most in capital letters."""
    if not text or len(text) > _LONGEST or text[-1] in ",;!?。" or _FURNITURE.search(text):
        return False
    words = text.split()
    if (
        len(words) > _MOST_WORDS
        or text[0].islower()
        or not (text[0].isalpha() or text[0] in '"“«(')
    ):
        return False
    if ". " in text or "; " in text:
        return False
    long = [word for word in words if len(word) > 3 and word[0].isalpha() and word not in _JOINING]
    small = sum(word[0].islower() for word in long)
    if text[-1] == ".":
        return not small
    # of what is not a sentence few words begin small, but "Results of the second trial" has some
    return small * 2 <= len(words) or (len(words) <= 4 and text[-1] not in ".:")


def _read_numbered(text: str) -> Heading | None:
    match = _NUMBERED.match(text)
    if not match:
        return None
    number, title = match["number"], match["title"]
    level = 2 + number.count(".")
    shown = f"{number}{match['point']} "
    plain = title.rstrip(".:").rstrip()
    run_in = _RUN_IN.match(title) or _DEFINITION.match(title)
    if is_title(title) and not (run_in and title[-1] == "."):
        return Heading("numbered", level, shown + plain, number)
    if run_in and number[0].isdigit():
        return Heading("numbered", level, shown + run_in["title"], number, runs_in=True)
    return None


def _read_named(text: str) -> Heading | None:
    word, level, match = _name_of(text)
    if not match:
        return None
    rest = text[match.end() :]
    number = match["number"]
    if not rest.strip(" .:–—-\t"):
        return Heading("named", level, text.rstrip(" .:–—-\t"), number)
    if rest[0] not in " .:–—-\t)":
        return None
    title = rest.lstrip(" .:–—-\t)")
    start = len(text) - len(title)
    if is_title(title):
        return Heading("named", level, text.rstrip(".:"), number)
    run_in = _RUN_IN.match(title)
    if run_in and word != "question":
        return Heading("named", level, text[:start] + run_in["title"], number, runs_in=True)
    return None


def _name_of(text: str) -> tuple[str, int, re.Match[str] | None]:
    """The word that a heading begins with, its level, and it with its number as a match."""
    word = text.partition(" ")[0].casefold()
    level = _words().levels.get(word, 0)
    if not level and text[0] == "§":
        word, level = "§", 3
    if not level or text[0].islower():
        return "", 0, None
    return word, level, _words().number.match(text)


def _read_chinese(text: str) -> Heading | None:
    if text[0] in "第제":
        match = _CHINESE.match(text)
        if match and len(text) <= 40 and not _CHINESE_SENTENCE.search(match["title"]):
            number = text[: match.end("unit")]
            return Heading("named", _CHINESE_LEVELS.get(match["unit"], 2), text, number)
        return None
    match = _CHINESE_ITEM.match(text)
    if match and len(text) <= 24 and not _CHINESE_SENTENCE.search(match["title"]):
        return Heading("numbered", 3, text, text[: text.index("、")])
    return None


def _read_bold(text: str) -> Heading | None:
    match = _BOLD.match(text)
    if not match or len(match["title"].split()) > _MOST_CAPITALS or match["title"][-1] in ".,;":
        return None
    return Heading("bold", 7, match["title"].rstrip(":"))


def _read_alone(text: str) -> Heading | None:
    if len(text) > 40 or text[0].islower() or text.casefold().rstrip(":") not in _words().alone:
        return None
    return Heading("alone", 2, text.rstrip(":"))


def _read_capitals(text: str) -> Heading | None:
    # what has an underscore is a name in a program: "MAX_SIZE"
    if not text.isupper() or text[-1] in ",;!?" or "_" in text:
        return None
    if len(text.split()) > _MOST_CAPITALS or _FURNITURE.search(text) or _PAGE.match(text):
        return None
    letters = len(_LETTER.findall(text))
    # Chinese has no case: capitals of a Latin word in it make no heading of the line
    if letters > sum(map(str.isupper, text)):
        return None
    if letters < _LEAST_LETTERS or letters * 10 < 6 * len(text.replace(" ", "")):
        return None
    return Heading("capitals", 2, text.rstrip(".:"))


class _Words(Struct, frozen=True):
    levels: dict[str, int]  # by word
    number: re.Pattern[str]  # a word and its number
    alone: frozenset[str]


@cache
def _words() -> _Words:
    path = resources.files(__package__).joinpath("heading_words.toml")
    data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    levels = {
        word: int(level) for level, words in data["numbered"].items() for word in words.split()
    }
    spelled = "|".join(sorted(data["numbers"]["words"].split(), key=len, reverse=True))
    number = re.compile(
        rf"(?:§{{1,2}}[ ]?|[^\W\d_]+[ ])"
        rf"(?P<number>\d{{1,4}}(?:\.\d{{1,3}})*[A-Za-z]?(?:\([a-z0-9]\))?|(?-i:{_ROMAN}|[A-Z])|"
        rf"(?:{spelled}))(?!\w)",
        re.I,
    )
    return _Words(levels, number, frozenset(data["alone"]["words"].split()))
