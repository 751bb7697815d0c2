"""The lines of a document, rebuilt from the chunks that are stored of it.

There is no second copy: what encrypts, seals and forgets chunks does so for lines.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ..model import Resource
from ..store.contract import Store
from ..text.sentences import count_words

__all__ = ["ChunkSpan", "Lines", "read_lines"]


class ChunkSpan(Struct, frozen=True, gc=False):
    """A stored chunk, and the lines that it has."""

    id: str
    first: int  # lines, from 1, both included
    last: int
    heading: str = ""
    page: int = 0  # from 1; 0 where there are no pages


class Lines(Struct, frozen=True):
    """The lines of one document. Line n is `texts[n - 1]`; blank lines and indentation are kept."""

    uri: str
    name: str  # its title
    texts: Sequence[str]
    chunks: tuple[ChunkSpan, ...]

    def __len__(self) -> int:
        return len(self.texts)

    def text(self, first: int, last: int) -> str:
        """The lines from first to last, both included, with line ends between them."""
        return "\n".join(self.texts[first - 1 : last])

    def words(self, first: int, last: int) -> int:
        """Count the words of these lines."""
        return sum(count_words(text) for text in self.texts[first - 1 : last])


def read_lines(store: Store, uri: str) -> Lines:
    """Rebuild the lines of a document that was read into the memory."""
    chunks = store.records.chunks(uri)
    texts: list[str] = []
    spans = []
    for chunk in chunks:
        first, last = chunk.lines or (len(texts) + 1, len(texts) + chunk.content.count("\n") + 1)
        texts.extend([""] * (first - 1 - len(texts)))
        parts = chunk.content.split("\n")
        if first <= len(texts):
            # a line that two chunks share
            texts[-1] = f"{texts[-1]} {parts[0]}"
            parts = parts[1:]
        texts.extend(parts)
        heading = chunk.metadata.get("heading", "")
        spans.append(
            ChunkSpan(chunk.id, first, last, heading, chunk.pages[0] if chunk.pages else 0)
        )
    return Lines(uri, _title(chunks) or uri, texts, tuple(spans))


def _title(chunks: Sequence[Resource]) -> str:
    return chunks[0].title if chunks else ""
