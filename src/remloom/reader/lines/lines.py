"""The lines of a document: what each is, and passages of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ...errors import InvalidInputError
from ...model import cited
from ...text.sentences import count_words
from .markers import LineMark, Marked, mark_lines, mark_table
from .outline import Section, find_sections

if TYPE_CHECKING:
    import numpy as np


class ChunkSpan(Struct, frozen=True, gc=False):
    """A stored chunk, and the lines that it has."""

    id: str
    first: int  # lines, from 1, both included
    last: int
    heading: str = ""
    page: int = 0  # on which it begins, from 1; 0 where there are no pages


class Lines:
    """The lines of one document. Line n is `texts[n - 1]`; blank lines and indentation are kept.

    Args:
        name: what it is called here.
        chunks: the stored chunks that they are from, in order.
        lined: whether the lines are those of the source; else of the text that was taken from it.
        header: the lines of a table's header, from 1.
        pages: where pages begin: a line and its page, both from 1, in order.
        columns: of rows that were opened, the values beside the lines, one a line.
    """

    def __init__(
        self,
        uri: str,
        name: str,
        texts: Sequence[str],
        chunks: Sequence[ChunkSpan] = (),
        *,
        lined: bool = True,
        header: Sequence[int] = (),
        pages: Sequence[tuple[int, int]] = (),
        columns: Mapping[str, Sequence[Any]] | None = None,
    ) -> None:
        self.uri = uri
        self.name = name
        self.texts = texts
        self.chunks = tuple(chunks)
        self.lined = lined
        self.columns = columns or {}
        self.header = tuple(header)
        self.pages = tuple(pages)

    def __repr__(self) -> str:
        return f"<{len(self):,} lines of {self.name!r}>"

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def word_counts(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        import numpy as np

        return np.fromiter(map(count_words, self.texts), dtype=np.int32, count=len(self.texts))

    @property
    def marks(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """What each line is, as `LineMark` bits."""
        return self._marked.marks

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The sections, in reading order; none where the document has no headings."""
        return tuple(
            replace(
                section,
                words=self.words(section.first, section.last),
                page=self.page(section.first),
            )
            for section in find_sections(self._marked.headings, len(self), self.name)
        )

    @cached_property
    def _marked(self) -> Marked:
        if self.header or self.columns:
            return mark_table(len(self), self.header)
        return mark_lines(self.texts, printed=bool(self.pages))

    def text(self, first: int, last: int) -> str:
        return "\n".join(self.texts[first - 1 : last])

    @cached_property
    def total_words(self) -> int:
        return int(self.word_counts.sum())

    def words(self, first: int, last: int) -> int:
        return int(self.word_counts[first - 1 : last].sum())

    def section(self, line: int) -> str:
        """The path of titles that a line stands under; "" above the first."""
        at = bisect_right(self.sections, line, key=attrgetter("first")) - 1
        return self.sections[at].path if at >= 0 else ""

    def page(self, line: int) -> int:
        """The page that a line begins on, from 1; 0 where there are no pages."""
        at = bisect_right(self.pages, line, key=itemgetter(0)) - 1
        return self.pages[at][1] if at >= 0 else 0

    @property
    def page_count(self) -> int:
        return self.pages[-1][1] if self.pages else 0

    @property
    def strategic_lines(self) -> int:
        """How many lines are headings or begin a section."""
        return int((self.marks & LineMark.SECTION_START > 0).sum())

    def passage(self, first: int, last: int, score: float = 0.0) -> Passage:
        """These lines, both included, as a passage.

        Raises:
            InvalidInputError: the document has no such lines.
        """
        if not 1 <= first <= last <= len(self):
            raise InvalidInputError(
                f"{self.name!r} has no lines {first}-{last}",
                remedy=f"it has lines 1-{len(self)}, and a range begins with the smaller number",
            )
        return Passage(
            uri=self.uri,
            document=self.name,
            first=first,
            last=last,
            text=self.text(first, last),
            words=self.words(first, last),
            score=score,
            section=self.section(first),
            page=self.page(first),
            lined=self.lined,
        )


def chunk_ids(
    documents: Mapping[str, Lines], ranges: Iterable[tuple[str, int, int]]
) -> tuple[str, ...]:
    """The ids of the chunks that these lines are from, each once: what quotes the lines goes with
    them."""
    ids: dict[str, None] = {}
    for name, first, last in ranges:
        chunks = documents[name].chunks
        at = bisect_left(chunks, first, key=lambda chunk: chunk.last)
        while at < len(chunks) and chunks[at].first <= last:
            ids[chunks[at].id] = None
            at += 1
    return tuple(ids)


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
