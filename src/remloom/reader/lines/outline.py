"""The outline of a document: its sections as a tree, found without a model."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ...text.sentences import approximate_token_ends
from .headings import Heading

_BUDGET = 1_000  # tokens of an outline that is shown, unless another number is given
_LONGEST_TITLE = 100  # characters that are shown
_SIGNS = ("atx", "underlined")  # kinds of headings that Markdown marks


class Section(Struct, frozen=True, kw_only=True):
    """A section of a document: a heading, and all below it up to the next of its level."""

    title: str
    level: int  # 1 is highest; no level of a document is left out
    first: int  # lines, from 1, both included; the first is the heading's
    last: int
    words: int = 0  # its own and those of the sections in it
    page: int = 0  # on which it begins, from 1; 0 where there are no pages
    path: str = ""  # "Terms > Payment": the titles from the top down to its own
    document: str = ""  # its name


class Outline(Struct, frozen=True):
    """The sections of documents, in reading order. `str()` is what a person or a model is shown.

    >>> one = Section(title="Terms", level=1, first=1, last=9, words=70, document="contract")
    >>> print(Outline((one,)))
    Terms [Lines 1-9], 70 words
    """

    sections: tuple[Section, ...] = ()
    budget_tokens: int = _BUDGET  # of the text that is shown
    documents: tuple[str, ...] = ()  # the names of all that are outlined

    def __len__(self) -> int:
        return len(self.sections)

    def __str__(self) -> str:
        if len(self.documents) < 2:
            return _show(self.sections, self.budget_tokens)
        room = max(1, self.budget_tokens // len(self.documents))
        shown = []
        for name in self.documents:
            own = [section for section in self.sections if section.document == name]
            shown.append(f"# {name}\n{_show(own, room) or 'no headings'}")
        return "\n\n".join(shown)


def find_sections(
    headings: dict[int, Heading], count: int, document: str = ""
) -> tuple[Section, ...]:
    """Make a tree of the headings of a document; without words and pages.

    No level is left out below the one before it.

    Args:
        headings: by the position of their lines, from 0, in order.
    """
    own = {
        position: heading for position, heading in headings.items() if heading.kind != "subtitle"
    }
    signs = [heading.level for heading in own.values() if heading.kind in _SIGNS]
    deepest = max(signs, default=0)
    sections: list[Section] = []
    # those that the line at hand is in, each with its rank: what Markdown says counts, and where a
    # document has such headings, others stand below them
    around: list[tuple[int, int]] = []
    for position, heading in own.items():
        rank = heading.level if heading.kind in _SIGNS else deepest + heading.level
        while around and around[-1][0] >= rank:
            at = around.pop()[1]
            sections[at] = replace(sections[at], last=position)
        above = f"{sections[around[-1][1]].path} > " if around else ""
        around.append((rank, len(sections)))
        section = Section(
            title=heading.title,
            level=len(around),
            first=position + 1,
            last=count,
            path=above + heading.title,
            document=document,
        )
        sections.append(section)
    return tuple(sections)


def _show(sections: Sequence[Section], budget: int) -> str:
    """Sections as lines, the deepest left out until they fit; what is left out is counted."""
    depth = max((section.level for section in sections), default=0)
    while depth > 1 and not _fits(_lines(sections, depth), budget):
        depth -= 1
    lines = _lines(sections, depth)
    if _fits(lines, budget):
        return "\n".join(lines)
    low, high = 1, len(lines)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _fits(lines[:middle], budget) else (low, middle - 1)
    return "\n".join((*lines[:low], f"… and {len(lines) - low:,} more"))


def _fits(lines: Sequence[str], budget: int) -> bool:
    # a token has a character at least
    return len(lines) <= budget and len(approximate_token_ends("\n".join(lines))) <= budget


def _lines(sections: Sequence[Section], depth: int) -> list[str]:
    """A line for each section down to a level, which says how many are below it unseen."""
    lines: list[str] = []
    hidden = 0
    for section in reversed(sections):
        if section.level > depth:
            hidden += 1
            continue
        title = section.title
        if len(title) > _LONGEST_TITLE:
            title = title[: _LONGEST_TITLE - 1].rstrip() + "…"
        page = f", page {section.page}" if section.page else ""
        below = f" (+{hidden:,} below)" if hidden else ""
        indent = "  " * (section.level - 1)
        where = f"[Lines {section.first}-{section.last}]{page}, {section.words:,} words"
        lines.append(f"{indent}{title} {where}{below}")
        hidden = 0
    return lines[::-1]
