"""Runs of capitalised words: where each begins and ends, and what its surroundings say about it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from msgspec import Struct

from .word_lists import english, split_words

_HIDDEN = re.compile(
    # fenced code
    r"^ {0,3}(?P<fence>`{3,}|~{3,}).*?(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)"
    # comments: to the first "-->", whatever is between
    r"|<!(?=--).*?-->"
    # code, tags, link targets
    r"|`+[^`\n]+`+|</?[A-Za-z][^<>]{0,300}>|(?<=\])\([^()\s]*\)"
    r"|\b(?:https?|ftp)://\S+|\bwww\.\S+",
    re.M | re.S,
)
# reStructuredText: what is indented below "Example::" or ".. code-block::", but not "..  note::"
_LITERAL = re.compile(
    r"^(?!\s*\.\. (?!code|literal|parsed|highlight|doctest|test|ipython|math|prompt))"
    r"(?P<kept>[^\n]*::[^\n:]*\n)"
    r"(?P<literal>(?:[ \t]*\n)*(?:[ \t]+\S[^\n]*(?:\n|\Z)(?:[ \t]*\n)*)+)",
    re.M,
)
_WRAP = re.compile(r"(?<=[^\n]{50})\n(?=[^\s#>|*+=\-~\d])")
_HEADING = re.compile(
    r"^ {0,3}#{1,6}[ \t].*$|^[^\n]+\n(?=(?:={3,}|-{3,}|~{3,}|\*{3,}|\^{3,})[ \t]*$)",
    re.M,
)
_BEFORE = re.compile(r"(\w[\w.'’]*)?([^\w]*)\Z")
_ABBREVIATIONS = split_words(
    """
    mr mrs ms dr prof gen col lt capt sen rep gov st mt ft jr sr vs no u.s u.k u.n e.g i.e cf rev
    hon messrs adm maj sgt
    """
)
_LOCATING = split_words("in at near toward towards across throughout outside into around within")
# before a title, and no part of a name
_QUALIFIERS = split_words(
    """
    former acting deputy assistant vice prime foreign chief special first lieutenant major brigadier
    rear attorney finance defense defence then crown high national security naval army war treasury
    principal under democratic republican permanent senior junior staff presidential associate
    executive managing general
    """
)
_MOST_WORDS = 12  # of a name
_LOOK_BACK = 40  # characters before a phrase that are looked at
# "Pennsylvanian", "Columnist": no given name ends so
_DESCRIBES = re.compile(r"(?:ian|ean|ese|ist|ish|can|crat)$")
_CONTRACTED = re.compile(r"[’'](?:ve|ll|re|d|m|t)$", re.I)
_SMALL = split_words("of the and for on &")
_JOINING = split_words("and & for on")
_LEADING = split_words("the a an i on in at and but of for i'm i’m if as so")
_MONTHS_AND_NAMES = split_words("April May June August")
# of a day, when a word of the calendar is next to them: "Christmas Eve", "New Year's Day"
_OF_DAYS = split_words("new year year's year’s eve day week good black holy great first second")


class NamePhrase(Struct, frozen=True):
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

    @property
    def small(self) -> str:
        return self.text.lower()


class _Titled(Struct, frozen=True):
    words: list[_Word]
    title: str = ""


def mask(text: str) -> str:
    """The text with code, link targets and addresses blanked and wrapped lines joined; offsets
    stay."""

    def blank_literal(match: re.Match[str]) -> str:
        return match["kept"] + _blank(match["literal"])

    if "::" in text:
        text = _LITERAL.sub(blank_literal, text)
    # what begins behind the last "-->" is not a comment; from each its end would be looked for
    before, end, behind = text.rpartition("-->")
    text = before + end + behind.replace("<!--", "   !")
    text = _HIDDEN.sub(lambda match: _blank(match[0]), text)
    return _WRAP.sub(" ", text)


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


def phrases(text: str) -> Iterator[NamePhrase]:
    """The phrases of a masked text, in order."""
    headings = [match.span() for match in _HEADING.finditer(text)]
    number = 0
    for match in _run_pattern().finditer(text):
        start = match.start()
        while number < len(headings) and headings[number][1] <= start:
            number += 1
        in_heading = number < len(headings) and headings[number][0] <= start
        begins, located = _surroundings(text, start)
        words = re.finditer(r"\S+", match[0])
        run = [_Word(word[0], start + word.start(), start + word.end()) for word in words]
        for titled in _names_in_run(run, begins, located):
            if titled.words and not _is_title_alone(titled):
                # what is true of the run is true of what it begins with
                is_first = titled.words[0] is run[0] and not titled.title
                yield _to_phrase(titled, begins and is_first, in_heading, located and is_first)


def _names_in_run(run: list[_Word], begins_sentence: bool, located: bool) -> Iterator[_Titled]:
    for part in _split(run):
        is_first = part[0] is run[0]
        # "in May Smith left"
        if not (located and is_first) and _is_called_by_month(part):
            yield _Titled(part)
        elif not _is_time(part):
            yield from _named(_trim(part, begins_sentence and is_first))


@cache
def _run_pattern() -> re.Pattern[str]:
    """Capitalised words with what may be between them; `re` knows no class of capitals."""
    # Latin, Greek and Cyrillic
    blocks = (range(0x41, 0x5B), range(0xC0, 0x590), range(0x1E00, 0x1F00))
    letters = [chr(code) for block in blocks for code in block]
    capitals = "".join(letter for letter in letters if letter.isupper())
    # "People's", "Women's"
    owner_words = {owner.partition("'")[0].capitalize() for owner in english().plural_owners}
    owners = "|".join(sorted(owner_words))
    abbreviated = "St|Mt|Ft|Dr|Mrs?|Ms|Prof|Gen|Col|Lt|Capt|Sen|Rep|Gov|Rev|Adm|Maj|Sgt|Jr|Sr"
    word = (
        rf"(?:(?:[{capitals}]\.){{2,}}(?:[{capitals}]\b)?"
        rf"|(?!I\.)[{capitals}]\.(?=[ ][{capitals}])"
        rf"|(?:{abbreviated})\."
        rf"|(?:{owners})[’']s?(?=[ ][{capitals}])"
        rf"|St\. [{capitals}]\w+[’']s"
        rf"|(?:[a-z]{{1,3}}(?=[{capitals}]{{2}}))?[{capitals}][\w&]*"
        rf"(?:-(?:(?:[{capitals}]\.){{2,}}|\w+)|[’'](?!s\b)\w+)*)"
    )
    small = "|".join(sorted(english().connectors))
    between = (
        rf"(?:(?:of|for|on|and|&|{small})[ ](?:the[ ]|(?:{small})[ ])?"
        rf"|the[ ](?=Great|Terrible|Conqueror|Magnificent))"
    )
    particle = r"(?:al-|el-|bin |ibn )?"
    following = rf"(?:[ ]{between}?{particle}{word}){{0,{_MOST_WORDS - 1}}}"
    return re.compile(rf"(?<![\w@#/$]){word}{following}")


def _surroundings(text: str, start: int) -> tuple[bool, bool]:
    """Whether a phrase at this offset begins a sentence, and whether it follows "in" or "at"."""
    before = _BEFORE.search(text, max(0, start - _LOOK_BACK), start)
    if before is None:
        return True, False
    word, gap = before[1] or "", before[2]
    if "\n" in gap or (not word and start - len(gap) <= 0):
        return True, False
    if any(mark in gap for mark in "!?:…•|"):
        return True, False
    if "." in gap or (word.endswith(".") and not gap.strip()):
        bare = word.rstrip(".").lower()
        is_initial = len(bare) == 1 and bare.isalpha()
        return not (bare in _ABBREVIATIONS or is_initial), False
    return False, word.lower() in _LOCATING and not gap.strip()


# -- cutting a run into names --------------------------------------------------------------------


def _split(run: list[_Word]) -> Iterator[list[_Word]]:
    """Cut at words that join no name: "Adams and Jefferson" is two, a "French and Indian War"
    one."""
    start = 0
    for position, word in enumerate(run):
        if word.text not in _JOINING or position == start:
            continue
        left = [part.text for part in run[start:position]]
        right = [part.text for part in run[position + 1 :]]
        stays = (
            _extends(left, right) if word.text in ("for", "on") else _joins(word.text, left, right)
        )
        if not stays:
            yield run[start:position]
            start = position + 1
    if start < len(run):
        yield run[start:]


def _extends(left: list[str], right: list[str]) -> bool:
    """Whether "for" or "on" goes on with a name, as in "Committee on Trade"."""
    if left[-1].lower() not in english().joining_heads:
        return False
    after = " ".join(right).removeprefix("the ")
    return " ".join(left) not in english().places and after not in english().places


def _joins(word: str, left: list[str], right: list[str]) -> bool:
    """Whether "and" or "&" is inside a name."""
    if word == "&":
        return True
    # "Department of Health and Human Services", "Treaty of Amity and Commerce"
    if "of" in left:
        before = left[left.index("of") - 1].lower()
        of_office = before in english().joining_heads or before == "secretary"
        return of_office and right[0].lower() in english().offices
    # "French and Indian War"
    upto = next((number for number, part in enumerate(right) if part in _SMALL), len(right))
    ends_in_head = upto > 1 and right[upto - 1].lower() in english().joining_heads
    return ends_in_head and len(left) == 1


def _trim(run: list[_Word], begins_sentence: bool) -> list[_Word]:
    """The run without small words, days and months around it, and the first word of a sentence."""
    while run:
        if _is_leading(run, begins_sentence):
            run, begins_sentence = run[1:], False
        elif _is_trailing(run):
            run = run[:-1]
        else:
            break
    return run


def _is_leading(run: list[_Word], begins_sentence: bool) -> bool:
    first = run[0].small
    if first in _SMALL or first in _LEADING or run[0].text in english().connectors:
        return True
    if len(run) == 1:
        return False
    if first in english().days:
        return not _is_called_by_day(run)
    return begins_sentence and first in english().stop_words and not _place_prefix(run)


def _is_time(run: list[_Word]) -> bool:
    """Whether a run is only a day, a month or a time: "Fridays", "Christmas Eve", "Good Friday"."""
    words = [word.small for word in run if word.small not in _SMALL and word.text != "I"]
    # the new year needs no other word
    is_dated = any(word in english().calendar for word in words) or words[:1] == ["new"]
    return is_dated and all(word in english().calendar or word in _OF_DAYS for word in words)


def _is_called_by_month(run: list[_Word]) -> bool:
    """Whether a run is a person whose first name is a month: "May Smith"."""
    if len(run) != 2 or run[0].text not in _MONTHS_AND_NAMES:
        return False
    last = run[1]
    is_word = last.small in english().stop_words or last.small in english().calendar
    known_as_other = (
        last.text in english().places or last.small in english().demonyms | english().heads
    )
    return last.text.isalpha() and not (is_word or known_as_other or _is_person_like(last.text))


def _is_called_by_day(run: list[_Word]) -> bool:
    """Whether a name goes on behind the day or month that it begins with: "Friday Night Lights",
    "Monday Club"; not what happened then: "Monday Anna came"."""
    *middle, last = run[1:]
    words = [word.small for word in middle]
    if last.small in english().heads:
        return all(word in english().ordinary for word in words)
    if _is_person_like(last.text) or last.text in english().places:
        return False
    return bool(words) and all(word in english().calendar for word in words)


def _is_trailing(run: list[_Word]) -> bool:
    last = run[-1]
    if last.small in _SMALL or last.small in english().days:
        return True
    return last.text in english().connectors or _ends_in_pronoun(run)


def _ends_in_pronoun(run: list[_Word]) -> bool:
    """Whether a run ends in "I" or "we'll" and means the writer: not in "World War I"."""
    last = run[-1].text
    if _CONTRACTED.search(last):
        return True
    if last != "I":
        return False
    before = run[-2].text if len(run) > 1 else ""
    return before != "War" and before not in english().given_names


# -- titles, places and people in a run ----------------------------------------------------------


def _named(run: list[_Word]) -> Iterator[_Titled]:
    """The names in a run, each with its title: "Georgia Senator Sam Nunn" is a place and a
    person."""
    if not run:
        return
    words = [word.small.rstrip(".") for word in run]
    at = _separating_of(run, words)
    if at:
        yield from _named(run[:at])
        yield from _named(_trim(run[at + 1 :], False))
        return
    end = _title_end(run, words)
    if end:
        yield from _named_after_title(run, words, end)
        return
    place = _place_prefix(run)
    if 0 < place < len(run) - 1 and _is_person_like(run[place].text):
        # "London Sherlock Holmes"
        yield _Titled(run[:place])
        yield _Titled(run[place:])
    else:
        yield _Titled(run[_describing_words(run, words) :])


def _separating_of(run: list[_Word], words: list[str]) -> int:
    """The position of an "of" between two names, as in "Clemenceau of France"; 0: none."""
    if "of" not in words or _text(run) in english().places:
        return 0
    at = words.index("of")
    right = _trim(run[at + 1 :], False)
    if not right:
        return 0
    if words[len(run) - len(right)] in english().all_titles:
        return at
    before = words[at - 1]
    is_headed = before in english().heads or before in english().all_titles
    return at if not is_headed and _text(right) in english().places else 0


def _named_after_title(run: list[_Word], words: list[str], end: int) -> Iterator[_Titled]:
    """The names around a title that ends before `end`."""
    begin = end
    while begin and words[begin - 1] in english().all_titles:
        begin -= 1
    rest = end
    if rest < len(run) and words[rest] == "of":
        offices = rest + 1
        while offices < len(run) and (
            words[offices] in english().offices or words[offices] in _SMALL
        ):
            offices += 1
        if offices == rest + 1:
            # "President of France": what follows is a place
            yield from _named(_trim(run[rest + 1 :], False))
            return
        rest = offices
    yield from _named(_without_qualifiers(run[:begin]))
    if rest < len(run):
        yield _Titled(run[rest:], _text(run[begin:end]))


def _describing_words(run: list[_Word], words: list[str]) -> int:
    """1 if the first word only describes ("Pennsylvanian Benjamin Franklin"), else 0."""
    if len(run) > 2:
        describes = words[0] in english().demonyms or _DESCRIBES.search(words[0])
        return int(bool(describes) and _is_person_like(run[1].text))
    if len(run) < 2 or words[0] not in english().demonyms or words[1] in english().heads:
        return 0
    return int(run[1].text not in english().places and not _place_prefix(run))


def _title_end(run: list[_Word], words: list[str]) -> int:
    """The position behind a person's title in a run; 0: there is none, or it is part of a name."""
    for position in range(len(run) - 1, -1, -1):
        word = words[position]
        is_noble = word in english().noble_titles
        if word not in english().titles and not (is_noble and run[position].text[0].isupper()):
            continue
        after = words[position + 1 :]
        if not after:
            if position:
                lists = (_QUALIFIERS, english().titles, english().demonyms)
                return len(run) if all(any(one in some for some in lists) for one in words) else 0
            return position + 1
        if after[0] == "of":
            # Duke of Wellington
            return 0 if is_noble else position + 1
        # General Assembly, Foreign Service
        is_name = after[-1] in english().heads or after[0] in english().stop_words
        return 0 if is_name else position + 1
    return 0


def _without_qualifiers(run: list[_Word]) -> list[_Word]:
    """What is before a title, if it is a name: not "British", "Former", "National Security"."""
    while run and (_qualifies(run[-1].small) or run[-1].small in _SMALL):
        run = run[:-1]
    return [] if all(_qualifies(word.small) for word in run) else run


def _qualifies(word: str) -> bool:
    return word in _QUALIFIERS or word in english().demonyms or word in english().stop_words


def _is_title_alone(titled: _Titled) -> bool:
    run = titled.words
    return not titled.title and len(run) == 1 and run[0].small.rstrip(".") in english().titles


def _to_phrase(
    titled: _Titled, begins_sentence: bool, in_heading: bool, located: bool
) -> NamePhrase:
    run, title = titled.words, titled.title
    text = _text(run)
    aliases: tuple[str, ...] = ()
    start = run[0].start
    noble = title.rpartition(" ")[2]
    if noble.lower() in english().noble_titles:
        if len(run) == 1 or run[0].text in english().connectors:
            # "Lord Grey", "Count von Moltke": the title is part of the name
            # nothing is left of "Chevalier de Saint" where all words behind the title connect
            alias = _text([word for word in run if word.text not in english().connectors])
            aliases = (alias,) if alias else ()
            text = f"{noble} {text}"
            start -= len(noble) + 1
        else:
            aliases = (f"{noble} {text}",)
    return NamePhrase(
        text, start, run[-1].end, begins_sentence, in_heading, located, title, aliases
    )


def _text(run: list[_Word]) -> str:
    return " ".join(word.text for word in run)


def _place_prefix(run: list[_Word]) -> int:
    """How many words at the start of a run are the name of a well-known place; 0: none."""
    counts = range(min(4, len(run)), 0, -1)
    return next((count for count in counts if _text(run[:count]) in english().places), 0)


def _is_person_like(word: str) -> bool:
    if word in english().given_names:
        return True
    is_initial = len(word) == 2 and word[1] == "."
    return is_initial or re.fullmatch(r"(?:\w\.){2,}", word) is not None
