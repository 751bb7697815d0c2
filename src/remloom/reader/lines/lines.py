"""The lines of a document, rebuilt from the chunks that are stored of it.

There is no second copy: what encrypts, seals and forgets chunks does so for lines.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ...errors import InvalidInputError
from ...model import Resource, cited
from ...store.contract import Store
from ...store.specs import ChunkRange
from ...text.sentences import count_words
from .chunk_lines import ChunkSpan, rebuild
from .markers import Mark, Marked, mark_lines, mark_table
from .outline import Section, find_sections

if TYPE_CHECKING:
    import numpy as np

_AT_ONCE = 1_000  # chunks that are in memory beside the lines


class Lines:
    """The lines of one document. Line n is `texts[n - 1]`; blank lines and indentation are kept.

    What is counted and marked is made when it is first needed, as one column for all lines.

    Args:
        uri: where it was read.
        name: what it is called here.
        texts: the lines.
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
        self._header = header
        self._page_lines = [line for line, _ in pages]
        self._pages = [page for _, page in pages]

    def __repr__(self) -> str:
        return f"<{len(self):,} lines of {self.name!r}>"

    def __len__(self) -> int:
        return len(self.texts)

    # -- columns -------------------------------------------------------------------------------

    @cached_property
    def word_counts(self) -> np.ndarray[Any, np.dtype[np.int32]]:
        """How many words each line has."""
        import numpy as np

        return np.fromiter(map(count_words, self.texts), dtype=np.int32, count=len(self.texts))

    @property
    def marks(self) -> np.ndarray[Any, np.dtype[np.uint8]]:
        """What each line is, as `Mark` bits."""
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
        if self._header or self.columns:
            return mark_table(len(self), self._header)
        return mark_lines(self.texts, printed=bool(self._pages))

    @cached_property
    def _section_firsts(self) -> list[int]:
        return [section.first for section in self.sections]

    # -- lines ---------------------------------------------------------------------------------

    def text(self, first: int, last: int) -> str:
        """The lines from first to last, both included, with line ends between them."""
        return "\n".join(self.texts[first - 1 : last])

    def words(self, first: int, last: int) -> int:
        """Count the words of these lines."""
        return int(self.word_counts[first - 1 : last].sum())

    def section(self, line: int) -> str:
        """The path of titles that a line stands under; "" above the first."""
        at = bisect_right(self._section_firsts, line) - 1
        return self.sections[at].path if at >= 0 else ""

    def page(self, line: int) -> int:
        """The page that a line begins on, from 1; 0 where there are no pages."""
        at = bisect_right(self._page_lines, line) - 1
        return self._pages[at] if at >= 0 else 0

    @property
    def page_count(self) -> int:
        """How many pages there are; 0 where there are none."""
        return self._pages[-1] if self._pages else 0

    @property
    def strategic_lines(self) -> int:
        """How many lines are headings or begin a section."""
        return int((self.marks & Mark.SECTION_START > 0).sum())

    def passage(self, first: int, last: int, score: float = 0.0) -> Passage:
        """These lines, both included, as a passage that can be cited.

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


def read_lines(store: Store, uri: str, name: str = "") -> Lines:
    """Rebuild the lines of a document that was read into the memory; none where nothing was.

    Args:
        name: what to call it; default its title.
    """
    title = ""

    def chunks() -> Iterator[Resource]:
        nonlocal title
        for chunk in _chunks(store, uri):
            title = title or chunk.title
            yield chunk

    rebuilt = rebuild(chunks())
    return Lines(
        uri,
        name or title or uri,
        rebuilt.texts,
        rebuilt.chunks,
        lined=rebuilt.lined,
        header=rebuilt.header,
        pages=rebuilt.pages,
        columns=rebuilt.columns,
    )


def _chunks(store: Store, uri: str) -> Iterator[Resource]:
    """The chunks of a document in order, some at a time."""
    after, is_last = -1, False
    while not is_last:
        some = store.records.chunks(uri, ChunkRange(after=after, limit=_AT_ONCE))
        is_last = len(some) < _AT_ONCE
        if not is_last:
            # more may have the ordinal of the last one
            cut = some[-1].ordinal
            some = [chunk for chunk in some if chunk.ordinal < cut]
            if not some:
                some = store.records.chunks(uri, ChunkRange(after=after, before=cut + 1))
            after = some[-1].ordinal
        yield from (chunk for chunk in some if chunk.is_chunk)


def chunk_ids(
    documents: Mapping[str, Lines], ranges: Iterable[tuple[str, int, int]]
) -> tuple[str, ...]:
    """The ids of the chunks that these lines are from, each once.

    What quotes lines goes when one of these is forgotten.
    """
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
