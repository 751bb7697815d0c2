"""Which candidates are headings, by the lines around them and by what recurs in the document.

The head of each page is none, nor is what a table of contents lists.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from msgspec.structs import replace

from .headings import Heading, is_title

_MOST_REPEATED = 2  # times that a heading stands in a document; what does more often is furniture
_CONTENTS = 4  # headings in a row, with no text between them, that may be a table of contents
_CAPITAL_LINES = 3  # lines in capitals one after another that may be headings
_LEAST_NUMBER = 2  # headings with a number, of one level, in a document that has such headings
_DIGITS = re.compile(r"\d+")
_MARKED_BY_SIGNS = ("atx", "underlined")


class HeadingFilter:
    """Decides among the lines of a document that may be headings.

    Args:
        candidates: by the position of their lines, from 0.
    """

    def __init__(self, texts: Sequence[str], candidates: Mapping[int, Heading]) -> None:
        self._texts = texts
        self._candidates = candidates

    def keep(self) -> dict[int, Heading]:
        """The headings, and subtitles below them, in order."""
        candidates = self._candidates
        counts = Counter(
            _DIGITS.sub("#", heading.title) if heading.kind == "capitals" else heading.title
            for heading in candidates.values()
        )
        signs = sum(heading.kind in _MARKED_BY_SIGNS for heading in candidates.values())
        fitting = {
            position: heading
            for position, heading in candidates.items()
            if heading.kind in _MARKED_BY_SIGNS
            or self._fits(position, heading, has_signs=signs >= _CONTENTS)
        }
        fitting = dict(sorted(fitting.items()))
        _drop_lone_numbers(fitting)
        self._drop_furniture(fitting, counts)
        self._drop_contents(fitting)
        self._add_subtitles(fitting)
        return dict(sorted(fitting.items()))

    def _fits(self, position: int, heading: Heading, *, has_signs: bool) -> bool:
        """Whether the lines around a line let it be a heading of its kind."""
        before, after = self._is_blank(position - 1), self._is_blank(position + 1)
        if heading.runs_in:
            return before or bool(heading.number.count(".")) or heading.kind == "named"
        if heading.kind == "numbered" and "." not in heading.number:
            # else an item of a list
            is_item = not before or not after or self._begins_list(position, heading)
            return not is_item and not has_signs
        if heading.kind == "capitals":
            if self._capital_lines(position) > _CAPITAL_LINES:
                return False
            is_one_word = " " not in heading.title
            return before and after if is_one_word else before or after
        if heading.kind == "alone":
            return before
        return before or after or (position - 1) in self._candidates

    def _is_blank(self, position: int) -> bool:
        """Whether a line is blank; there are blank ones before the first and behind the last."""
        return not 0 <= position < len(self._texts) or not self._texts[position].strip()

    def _capital_lines(self, position: int) -> int:
        """How many lines in capitals stand together here."""
        first = last = position
        while first > 0 and self._texts[first - 1].isupper() and position - first < 9:
            first -= 1
        while last + 1 < len(self._texts) and self._texts[last + 1].isupper() and last < first + 9:
            last += 1
        return last - first + 1

    def _begins_list(self, position: int, heading: Heading) -> bool:
        """Whether the next line that is not blank has the next number."""
        following = next(self._filled_behind(position), "")
        return heading.number.isdigit() and following.startswith(f"{int(heading.number) + 1}.")

    def _filled_behind(self, position: int) -> Iterator[str]:
        for later in range(position + 1, min(position + 6, len(self._texts))):
            text = self._texts[later].strip()
            if text:
                yield text

    def _drop_furniture(self, fitting: dict[int, Heading], counts: Counter[str]) -> None:
        """Drop what stands at the head of each page: of named ones all but the first."""
        seen: set[str] = set()
        for position, heading in list(fitting.items()):
            if heading.kind in (*_MARKED_BY_SIGNS, "alone") or heading.runs_in:
                continue
            if heading.kind == "capitals":
                if counts[_DIGITS.sub("#", heading.title)] > _MOST_REPEATED:
                    del fitting[position]
            elif counts[heading.title] > _MOST_REPEATED:
                if heading.title in seen:
                    del fitting[position]
                seen.add(heading.title)

    def _drop_contents(self, fitting: dict[int, Heading]) -> None:
        """Drop the headings that a table of contents lists: most of them come again."""
        last: dict[str, int] = {}
        for position, heading in fitting.items():
            last[_folded(heading.title)] = position
        for run in self._runs(fitting):
            if len(run) < _CONTENTS:
                continue
            again = sum(last[_folded(fitting[position].title)] > run[-1] for position in run)
            if again * 2 >= len(run):
                for position in run:
                    del fitting[position]

    def _runs(self, fitting: dict[int, Heading]) -> list[list[int]]:
        """Headings with nothing but blank lines between them, run by run."""
        positions = [
            position
            for position, heading in fitting.items()
            if heading.kind not in _MARKED_BY_SIGNS and not heading.runs_in
        ]
        runs = [positions[:1]] if positions else []
        for before, position in pairwise(positions):
            is_close = position - before <= _CONTENTS
            if is_close and all(map(self._is_blank, range(before + 1, position))):
                runs[-1].append(position)
            else:
                runs.append([position])
        return runs

    def _add_subtitles(self, fitting: dict[int, Heading]) -> None:
        """Add to "CHAPTER XII" the title that stands below it."""
        for position, heading in list(fitting.items()):
            if heading.kind != "named" or not heading.title.endswith(heading.number):
                continue
            below = position + 1 if not self._is_blank(position + 1) else position + 2
            if below >= len(self._texts) or not self._is_blank(below + 1):
                continue
            title = self._texts[below].strip()
            known = fitting.get(below)
            if known is not None and known.kind not in ("capitals", "alone"):
                continue
            if title and title[-1] not in ".:" and is_title(title):
                fitting[below] = Heading("subtitle", heading.level, title)
                fitting[position] = replace(heading, title=f"{heading.title} {title}")


def _drop_lone_numbers(fitting: dict[int, Heading]) -> None:
    """Drop headings with one number, or one letter, whose neighbours in the row are not there."""
    numbers = {
        heading.number
        for heading in fitting.values()
        if heading.kind == "numbered" and "." not in heading.number
    }
    for position, heading in list(fitting.items()):
        number = heading.number
        if heading.kind != "numbered" or number not in numbers or heading.runs_in:
            continue
        title = heading.title.removeprefix(number).lstrip(". ")
        if title.isupper() and " " in title and number.isdigit():
            continue
        if len(numbers) < _LEAST_NUMBER or not numbers & set(_adjacent(number)):
            del fitting[position]


def _adjacent(number: str) -> tuple[str, ...]:
    """The numbers before and behind one."""
    if number.isdigit():
        return str(int(number) - 1), str(int(number) + 1)
    if number in _ROMANS:
        at = _ROMANS.index(number)
        return _ROMANS[max(0, at - 1)], _ROMANS[min(at + 1, len(_ROMANS) - 1)]
    return chr(ord(number[0]) - 1), chr(ord(number[0]) + 1)


_ROMANS = [
    *("I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII", "XIII", "XIV"),
    *("XV", "XVI", "XVII", "XVIII", "XIX", "XX", "XXI", "XXII", "XXIII", "XXIV", "XXV"),
]


def _folded(title: str) -> str:
    return " ".join(title.casefold().split())
