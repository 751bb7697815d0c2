"""Runs of capitalised words: where each begins and ends, and what its surroundings say about it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct
from msgspec.structs import replace

from . import lists

__all__ = ["Phrase", "masked", "phrases"]

_HIDDEN = re.compile(
    r"^ {0,3}(?P<fence>`{3,}|~{3,}).*?(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)"  # fenced code
    r"|`+[^`\n]+`+|</?[A-Za-z][^<>]{0,300}>|(?<=\])\([^()\s]*\)"  # code, tags, link targets
    r"|\b(?:https?|ftp)://\S+|\bwww\.\S+",
    re.M | re.S,
)
_LITERAL = (
    # reStructuredText: what is indented below "Example::" or ".. code-block::", but not below "..
    # note::"
    re.compile(
        r"^(?!\s*\.\. (?!code|literal|parsed|highlight|doctest|test|ipython|math|prompt))(?P<kept>[^\n]*::[^\n:]*\n)"
        r"(?P<literal>(?:[ \t]*\n)*(?:[ \t]+\S[^\n]*(?:\n|\Z)(?:[ \t]*\n)*)+)",
        re.M,
    )
)
_WRAP = re.compile(r"(?<=[^\n]{50})\n(?=[^\s#>|*+=\-~\d])")
_HEADING = re.compile(
    r"^ {0,3}#{1,6}[ \t].*$|^[^\n]+\n(?=(?:={3,}|-{3,}|~{3,}|\*{3,}|\^{3,})[ \t]*$)", re.M
)
_BEFORE = re.compile(r"(\w[\w.'’]*)?([^\w]*)\Z")
_ABBREVIATIONS = lists.split(
    """
    mr mrs ms dr prof gen col lt capt sen rep gov st mt ft jr sr vs no u.s u.k u.n e.g i.e cf rev hon messrs adm maj sgt
    """
)
_LOCATING = lists.split("in at near toward towards across throughout outside into around within")
_QUALIFIERS = lists.split(
    """
    former acting deputy assistant vice prime foreign chief special first lieutenant major brigadier rear attorney
    finance defense defence then crown high national security naval army war treasury principal under democratic
    republican permanent senior junior staff presidential associate executive managing general
    """
)
_MOST_WORDS = 12  # of a name
_HEADS = lists.ORGANIZATION_HEADS | lists.EVENT_HEADS | lists.PLACE_HEADS
_AND_HEADS = lists.ORGANIZATION_HEADS | lists.EVENT_HEADS
# "Pennsylvanian", "Columnist": no given name ends so
_DESCRIBES = re.compile(r"(?:ian|ean|ese|ist|ish|can|crat)$")
_CONTRACTED = re.compile(r"[’'](?:ve|ll|re|d|m|t)$", re.I)
_SMALL = lists.split("of the and for on &")
_LEADING = lists.split("the a an i on in at and but of for i'm i’m if as so")
_CALENDAR = lists.split(
    """
    january february march april may june july august september october november december
    monday tuesday wednesday thursday friday saturday sunday
    """
)


class Phrase(Struct, frozen=True, kw_only=True):
    """A mention of what may be a name, freed of titles and of words that only begin a sentence."""

    name: str
    start: int
    end: int
    begins_sentence: bool = False
    in_heading: bool = False
    located: bool = False  # after "in", "at", "near"
    title: str = ""  # the person's title before it, or in it
    aliases: tuple[str, ...] = ()


class _Word(Struct, frozen=True):
    text: str
    start: int
    end: int


def masked(text: str) -> str:
    """The text with code, link targets and addresses blanked and wrapped lines joined; offsets
    stay."""

    def blank(found: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", found[0])

    def blank_literal(found: re.Match[str]) -> str:
        return found["kept"] + re.sub(r"[^\n]", " ", found["literal"])

    text = _without_comments(text)
    if "::" in text:
        text = _LITERAL.sub(blank_literal, text)
    return _WRAP.sub(" ", _HIDDEN.sub(blank, text))


def _without_comments(text: str) -> str:
    """The text with HTML comments blanked. By hand: a pattern would look for the end of each
    unclosed one."""
    pieces, position = [], 0
    while (start := text.find("<!--", position)) >= 0 and (end := text.find("-->", start)) >= 0:
        pieces += [text[position:start], re.sub(r"[^\n]", " ", text[start : end + 3])]
        position = end + 3
    return "".join([*pieces, text[position:]])


def phrases(text: str) -> Iterator[Phrase]:
    """The phrases of a masked text, in order."""
    headings = [found.span() for found in _HEADING.finditer(text)]
    number = 0
    for found in _run().finditer(text):
        while number < len(headings) and headings[number][1] <= found.start():
            number += 1
        in_heading = number < len(headings) and headings[number][0] <= found.start()
        begins, located = _surroundings(text, found.start())
        run = [
            _Word(word[0], found.start() + word.start(), found.start() + word.end())
            for word in re.finditer(r"\S+", found[0])
        ]
        for part in _split(run):
            for names, title in _named(_trimmed(part, begins and part[0] is run[0])):
                first = names[0] is run[0] and not title
                phrase = _phrase(names, title)
                if phrase:
                    yield replace(
                        phrase,
                        begins_sentence=begins and first,
                        in_heading=in_heading,
                        located=located and first,
                    )


@cache
def _run() -> re.Pattern[str]:
    """Capitalised words with what may stand between them. `re` knows no class of capitals: list
    them."""
    capitals = "".join(chr(code) for span in ((0x41, 0x5B), (0xC0, 0x590), (0x1E00, 0x1F00)) for code in range(*span)
                       if chr(code).isupper())  # fmt: skip
    owners = "|".join(
        sorted({owner.partition("'")[0].capitalize() for owner in lists.PLURAL_OWNERS})
    )
    abbreviated = "St|Mt|Ft|Dr|Mrs?|Ms|Prof|Gen|Col|Lt|Capt|Sen|Rep|Gov|Rev|Adm|Maj|Sgt|Jr|Sr"
    word = (
        rf"(?:(?:[{capitals}]\.){{2,}}(?:[{capitals}]\b)?|(?!I\.)[{capitals}]\.(?=[ ][{capitals}])|(?:{abbreviated})\."
        rf"|(?:{owners})[’']s?(?=[ ][{capitals}])|St\. [{capitals}]\w+[’']s"
        rf"|(?:[a-z]{{1,3}}(?=[{capitals}]{{2}}))?[{capitals}][\w&]*(?:-(?:(?:[{capitals}]\.){{2,}}|\w+)|[’'](?!s\b)\w+)*)"
    )
    small = "|".join(sorted(lists.CONNECTORS))
    between = rf"(?:(?:of|for|on|and|&|{small})[ ](?:the[ ]|(?:{small})[ ])?|the[ ](?=Great|Terrible|Conqueror|Magnificent))"
    particle = r"(?:al-|el-|bin |ibn )?"
    return re.compile(
        rf"(?<![\w@#/$]){word}(?:[ ]{between}?{particle}{word}){{0,{_MOST_WORDS - 1}}}"
    )


def _surroundings(text: str, start: int) -> tuple[bool, bool]:
    """Whether a phrase at this offset begins a sentence, and whether the word before it tells a
    place."""
    before = _BEFORE.search(text, max(0, start - 40), start)
    if before is None:
        return True, False
    word, gap = before[1] or "", before[2]
    if "\n" in gap or (not word and start - len(gap) <= 0):
        return True, False
    if any(mark in gap for mark in "!?:…•|"):
        return True, False
    if "." in gap or (word.endswith(".") and not gap.strip()):
        bare = word.rstrip(".").lower()
        return not (bare in _ABBREVIATIONS or (len(bare) == 1 and bare.isalpha())), False
    low = word.lower()
    return False, low in _LOCATING and not gap.strip()


def _split(run: list[_Word]) -> Iterator[list[_Word]]:
    """Cuts a run at the small words that join no name: "Adams and Jefferson" is two, a "French and
    Indian War" one."""
    start = 0
    number = 0
    while number < len(run):
        word = run[number].text
        left = [part.text for part in run[start:number]]
        if word in ("and", "&") and left:
            rest = [part.text for part in run[number + 1 :]]
            if not _joins(word, left, rest):
                yield run[start:number]
                start = number + 1
        elif (
            word in ("for", "on")
            and left
            and not _extends(left, [part.text for part in run[number + 1 :]])
        ):
            yield run[start:number]
            start = number + 1
        number += 1
    if start < len(run):
        yield run[start:]


def _extends(left: list[str], rest: list[str]) -> bool:
    """Whether "for" or "on" goes on with a name: "Committee on Trade", not "Soviet Union on the
    United States"."""
    right = " ".join(rest).removeprefix("the ")
    return (
        left[-1].lower() in _AND_HEADS
        and " ".join(left) not in lists.PLACES
        and right not in lists.PLACES
    )


def _joins(word: str, left: list[str], rest: list[str]) -> bool:
    if word == "&":
        return True
    upto = next((number for number, part in enumerate(rest) if part in _SMALL), len(rest))
    # "Department of Health and Human Services", "Treaty of Amity and Commerce"
    if "of" in left:
        before = left[left.index("of") - 1].lower()
        return (before in _AND_HEADS or before == "secretary") and rest[0].lower() in lists.OFFICES
    return upto > 1 and rest[upto - 1].lower() in _AND_HEADS and len(left) == 1


def _trimmed(run: list[_Word], begins: bool) -> list[_Word]:
    """The run without what only stands around a name: small words, the first word of a sentence,
    days and months."""
    while run:
        first, last = run[0].text.lower(), run[-1].text.lower()
        small = first in _SMALL | _LEADING or run[0].text in lists.CONNECTORS
        more = len(run) > 1
        if small or (
            more
            and (
                first in _CALENDAR
                or (begins and first in lists.STOP_WORDS and not _place_prefix(run))
            )
        ):
            run, begins = run[1:], False
        elif (
            last in _SMALL
            or run[-1].text in lists.CONNECTORS
            or last in _CALENDAR
            or _is_pronoun(run)
        ):
            run = run[:-1]
        else:
            break
    return run


def _is_pronoun(run: list[_Word]) -> bool:
    """Whether the run ends in "I" or "we'll" and means the writer: not in "World War I" or
    "Elizabeth I"."""
    last = run[-1].text
    if _CONTRACTED.search(last):
        return True
    return last == "I" and (
        len(run) == 1 or (run[-2].text != "War" and run[-2].text not in lists.GIVEN_NAMES)
    )


def _named(run: list[_Word]) -> Iterator[tuple[list[_Word], str]]:
    """The names in a run, each with the title before it: "Georgia Senator Sam Nunn" is a place and
    a person."""
    if not run:
        return
    lows = [word.text.lower().rstrip(".") for word in run]
    # "Clemenceau of France", "the Government of Lord Grey"
    if "of" in lows and _text(run) not in lists.PLACES:
        at = lows.index("of")
        right = _trimmed(run[at + 1 :], False)
        person = right and lows[len(run) - len(right)] in lists.TITLES | lists.NOBLE_TITLES
        headed = (
            lows[at - 1] in _HEADS
            or lows[at - 1] in lists.TITLES
            or lows[at - 1] in lists.NOBLE_TITLES
        )
        if right and (person or (not headed and _text(right) in lists.PLACES)):
            yield from _named(run[:at])
            yield from _named(right)
            return
    end = _title_end(run, lows)
    if end:
        begin = end
        while begin and (lows[begin - 1] in lists.TITLES or lows[begin - 1] in lists.NOBLE_TITLES):
            begin -= 1
        rest = end
        if rest < len(run) and lows[rest] == "of":
            rest += 1
            offices = rest
            while offices < len(run) and lows[offices] in lists.OFFICES | _SMALL:
                offices += 1
            # "President of France": what follows is a place
            if offices == rest:
                begin = 0
                end = rest
                yield from _named(_trimmed(run[rest:], False))
                return
            rest = offices
        yield from _named(_unqualified(run[:begin]))
        if rest < len(run):
            title = " ".join(word.text for word in run[begin:end])
            yield run[rest:], title
        return
    place = _place_prefix(run)
    if 0 < place < len(run) - 1 and _person_like(run[place].text):
        yield run[:place], ""
        yield run[place:], ""
    else:
        yield run[_describing(run, lows) :], ""


def _describing(run: list[_Word], lows: list[str]) -> int:
    """1 where the first word only describes: "Pennsylvanian Benjamin Franklin", "Soviet MiG"."""
    if len(run) > 2:
        return int(
            _person_like(run[1].text)
            and bool(lows[0] in lists.DEMONYMS or _DESCRIBES.search(lows[0]))
        )
    if len(run) < 2 or lows[0] not in lists.DEMONYMS or lows[1] in _HEADS:
        return 0
    return int(run[1].text not in lists.PLACES and not _place_prefix(run))


def _title_end(run: list[_Word], lows: list[str]) -> int:
    """The position behind a person's title in the run; 0 when there is none, or it is part of
    another name."""
    for number in range(len(run) - 1, -1, -1):
        if lows[number] in lists.TITLES or (
            lows[number] in lists.NOBLE_TITLES and run[number].text[0].isupper()
        ):
            after = lows[number + 1 :]
            if not after and number:
                return (
                    0
                    if not all(low in _QUALIFIERS | lists.TITLES | lists.DEMONYMS for low in lows)
                    else len(run)
                )
            if after and after[0] != "of" and (after[-1] in _HEADS or after[0] in lists.STOP_WORDS):
                return 0  # General Assembly, Foreign Service
            if after and after[0] == "of" and lows[number] in lists.NOBLE_TITLES:
                return 0  # Duke of Wellington
            return number + 1
    return 0


def _unqualified(run: list[_Word]) -> list[_Word]:
    """What stands before a title, if it is a name: not "British", "Former", "National Security"."""
    while run and run[-1].text.lower() in _QUALIFIERS | lists.DEMONYMS | lists.STOP_WORDS | _SMALL:
        run = run[:-1]
    return (
        []
        if all(word.text.lower() in _QUALIFIERS | lists.DEMONYMS | lists.STOP_WORDS for word in run)
        else run
    )


def _phrase(run: list[_Word], title: str) -> Phrase | None:
    if not run or (not title and run[0].text.lower().rstrip(".") in lists.TITLES and len(run) == 1):
        return None
    text = _text(run)
    aliases: tuple[str, ...] = ()
    start = run[0].start
    noble = title.rpartition(" ")[2]
    if noble.lower() in lists.NOBLE_TITLES:
        if len(run) == 1 or run[0].text in lists.CONNECTORS:
            aliases = (" ".join(word.text for word in run if word.text not in lists.CONNECTORS),)
            text = f"{noble} {text}"
            start -= len(noble) + 1
        else:
            aliases = (f"{noble} {text}",)
    return Phrase(name=text, start=start, end=run[-1].end, title=title, aliases=aliases)


def _text(run: list[_Word]) -> str:
    return " ".join(word.text for word in run)


def _place_prefix(run: list[_Word]) -> int:
    """How many words at the start of a run are the name of a well-known place; 0: none."""
    for count in range(min(4, len(run)), 0, -1):
        if _text(run[:count]) in lists.PLACES:
            return count
    return 0


def _person_like(word: str) -> bool:
    return (
        word in lists.GIVEN_NAMES
        or (len(word) == 2 and word[1] == ".")
        or bool(re.fullmatch(r"(?:\w\.){2,}", word))
    )
