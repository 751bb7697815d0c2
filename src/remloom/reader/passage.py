"""Passages: consecutive lines of a document that belong together."""

from __future__ import annotations

from msgspec import Struct

from ..model import cited

__all__ = ["Passage"]


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

    @property
    def source(self) -> str:
        """A citation: `uri:first-last`, or `uri#page=n` where the document has pages."""
        if self.page:
            return cited(self.uri, {"pages": (self.page, self.page)})
        return cited(self.uri, {"lines": (self.first, self.last)})
