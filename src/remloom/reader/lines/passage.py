"""Passages: consecutive lines of a document that belong together."""

from __future__ import annotations

from msgspec import Struct

from ...model import cited


class Passage(Struct, frozen=True, gc=False, kw_only=True):
    """Lines of a document, as they were found.

    `find` returns passages in reading order: the first is the one to be read first.
    """

    uri: str
    document: str  # its name
    first: int  # lines, from 1, both included
    last: int
    text: str  # the lines, with their line ends between them
    words: int
    score: float = 0.0  # how well it fits; comparable within one call
    section: str = ""  # "Terms > Payment": the headings it stands under
    page: int = 0  # the first page it is on, from 1; 0 where there are no pages
    # false: the lines are not those of the source, but of the text that was taken from it
    lined: bool = True

    @property
    def source(self) -> str:
        """A citation: `uri:first-last`, or `uri#page=n` where the document has pages.

        The `uri` alone where the source has no lines.
        """
        return cite_lines(self.uri, (self.first, self.last), self.page, lined=self.lined)


def cite_lines(uri: str, lines: tuple[int, int], page: int = 0, *, lined: bool = True) -> str:
    """Cite lines of a document by what its source has: pages, lines, or neither."""
    if page:
        return cited(uri, {"pages": (page, page)})
    return cited(uri, {"lines": lines} if lined else {})
