"""How much of the evidence is among the lines that are read? CUAD and XQuAD, without a language
model.

    python -m bench.quality.reader [contracts.jsonl] [folder with xquad.LANGUAGE.json]
        [--embedder minilm] [--changes] [--page]

CUAD: contracts, and for each question the lines that hold the clause. XQuAD: the paragraphs of a
language as one book, wrapped at 78 characters; the line where the answer begins. Shows the share of
those lines among the ones read within a number of words: by the reader's `find`, with words alone
and with an embedder; by `recall`, whose chunks are read whole; by BM25 over lines with the lines
before and after; and as seed 3's first implementation read: the first hundred lines, then forty
with each word of the question, in document order.

What `find` weighs was chosen on every other contract; the figures of the "held out" ones were seen
while it was made, but nothing was chosen by them. The length of a paragraph, and what those beside
it count, were chosen by a twelfth of the XQuAD questions too, so those tables are not held out.
`--changes` shows what each of the weights brings on the chosen half.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from remloom import Memory
from remloom.reader.find import search, term_scorer
from remloom.reader.reader import Reader
from remloom.store.indexes.bm25 import TermIndex
from remloom.text.sentences import count_words

from .cached import CachedEmbedder
from .tables import put_into_page

SHARED = Path(__file__).resolve().parents[3] / "shared" / "bench"
XQUAD = SHARED / "xquad"
CONTRACTS = Path(os.environ.get("REMLOOM_CUAD", SHARED / "cuad" / "contracts-1-60.jsonl"))
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reader.md"
LANGUAGES = ("en", "de", "es", "zh")
SHOWN = ("en", "zh")  # on the page: the others are like the first
BUDGETS = (500, 1_000, 2_000, 4_000)  # words, of contracts
SHORT = (100, 250, 500, 1_000)  # words, of books of paragraphs

# a constant of `find`, and what it is without what it stands for
CHANGES = (
    ("quoted and labelled words weigh as others", term_scorer, "_EMPHASIS", 1.0),
    ("no variants of words", term_scorer, "_VARIANT", 0.0),
    ("no pairs of words", term_scorer, "_PAIR", 0.0),
    ("no paragraphs beside", search, "_BESIDE", 0.0),
    ("no wider passages", search, "_WIDE", 0.0),
    ("no headings", search, "_TITLES", 0.0),
    ("no meaning", search, "_MEANING", 0.0),
)

# gives lines, from 1, in reading order, for a question and a number of words
Reading = Callable[[str, int], Iterable[int]]


@dataclass(frozen=True)
class Book:
    """A document, and questions with the numbers of the lines that hold what is asked."""

    name: str
    text: str
    questions: tuple[tuple[str, frozenset[int]], ...]

    @property
    def lines(self) -> list[str]:
        return self.text.split("\n")


def contracts(file: Path) -> list[Book]:
    """The contracts, with the questions that have an answer."""
    books = []
    for row in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
        asked = ((one["question"], frozenset(one["lines"])) for one in row["questions"])
        books.append(Book(row["name"], row["text"], tuple(one for one in asked if one[1])))
    return books


def book_of_paragraphs(file: Path, *, share: int = 3) -> Book:
    """XQuAD of a language as one book, with each `share`-th question."""
    lines: list[str] = []
    questions = []
    for article in json.loads(file.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            text = " ".join(paragraph["context"].split())
            starts = {}
            at = 0
            for line in textwrap.wrap(text, 78, break_on_hyphens=False):
                at = text.index(line, at)
                lines.append(line)
                starts[len(lines)] = at
            for asked in paragraph["qas"]:
                place = text.find(" ".join(asked["answers"][0]["text"].split()))
                holding = [line for line, start in starts.items() if start <= place]
                if holding:
                    questions.append((asked["question"], frozenset(holding[-1:])))
            lines.append("")
    return Book(file.name, "\n".join(lines), tuple(questions[::share]))


# -- ways of reading -------------------------------------------------------------------------------


def as_in_seed_3(book: Book) -> Reading:
    """The first hundred lines, then forty with each word of the question, in document order."""
    lines = book.lines
    filled = [number for number, line in enumerate(lines, 1) if line.strip()]
    lowered = {number: lines[number - 1].lower() for number in filled}

    def read(question: str, _: int) -> Iterator[int]:
        yield from (number for number in filled if number <= 100)
        for word in dict.fromkeys(question.lower().replace("?", " ").split()):
            if len(word) > 3:
                yield from [number for number in filled if word in lowered[number]][:40]

    return read


def by_bm25(book: Book) -> Reading:
    """The lines with the highest BM25, each with the line before and after."""
    index = TermIndex()
    lines = book.lines
    index.add(range(1, len(lines) + 1), lines)

    def read(question: str, _: int) -> Iterator[int]:
        for line, _score in index.search(question, limit=len(lines)):
            yield from (line, line - 1, line + 1)

    return read


def by_recall(memory: Memory) -> Reading:
    """The chunks that `recall` finds, whole."""

    def read(question: str, _: int) -> Iterator[int]:
        for hit in memory.recall(question, limit=40, abstain=False, neighbours=0).hits:
            first, last = hit.record.metadata["lines"]
            yield from range(first, last + 1)

    return read


def by_find(reader: Reader) -> Reading:
    """The passages of `find`."""

    def read(question: str, words: int) -> Iterator[int]:
        for passage in reader.find(question, words=words):
            yield from range(passage.first, passage.last + 1)

    return read


# -- measuring -------------------------------------------------------------------------------------


def measure(
    books: Sequence[Book], read: Callable[[Book], Reading], budgets: Sequence[int]
) -> list[float]:
    """The mean share of a question's lines that were read, in percent, by the number of words."""
    shares: list[list[float]] = []
    for book in books:
        words = [0, *map(count_words, book.lines)]
        reading = read(book)
        for question, wanted in book.questions:
            seen = [_read_within(reading(question, budget), words, budget) for budget in budgets]
            shares.append([len(wanted & lines) / len(wanted) for lines in seen])
    return [100 * sum(column) / len(column) for column in zip(*shares, strict=True)]


def _read_within(lines: Iterable[int], words: Sequence[int], budget: int) -> set[int]:
    """The lines that are read before one would go beyond the number of words."""
    seen: set[int] = set()
    for line in lines:
        if line in seen or not 1 <= line < len(words):
            continue
        if words[line] > budget:
            break
        budget -= words[line]
        seen.add(line)
    return seen


class Readers:
    """A memory for each book, with the book in it, and a reader of it."""

    def __init__(self, home: str, embedder: CachedEmbedder | None) -> None:
        self._home = home
        self._embedder = embedder
        self._open: dict[str, tuple[Memory, Reader]] = {}

    def memory(self, book: Book) -> Memory:
        return self._opened(book)[0]

    def reader(self, book: Book) -> Reader:
        return self._opened(book)[1]

    def _opened(self, book: Book) -> tuple[Memory, Reader]:
        if book.name not in self._open:
            memory = Memory.open(
                self._home,
                tenant=f"{'vectors' if self._embedder else 'words'}-{len(self._open)}",
                embedder=self._embedder or "none",
            )
            memory.read_text(book.text, uri=book.name)
            if self._embedder:
                memory.embed_pending()
                self._embedder.save()
            self._open[book.name] = memory, memory.reader(book.name)
        return self._open[book.name]

    def close(self) -> None:
        for memory, reader in self._open.values():
            reader.close()
            memory.close()


def compare(
    title: str, books: Sequence[Book], budgets: Sequence[int], words: Readers, vectors: Readers
) -> str:
    """A table of all ways of reading."""
    ways: dict[str, Callable[[Book], Reading]] = {
        "as seed 3's first implementation": as_in_seed_3,
        "BM25, the lines before and after": by_bm25,
        "`recall`, chunks read whole": lambda book: by_recall(vectors.memory(book)),
        "**`find`**, words alone": lambda book: by_find(words.reader(book)),
        "**`find`**": lambda book: by_find(vectors.reader(book)),
    }
    rows = [_head(title, budgets)]
    print(rows[0], flush=True)
    for name, read in ways.items():
        rows.append(_row(name, measure(books, read, budgets)))
        print(rows[-1], flush=True)
    return "\n".join(rows)


def compare_changes(books: Sequence[Book], vectors: Readers) -> None:
    """Print a table of `find` without each of what it weighs."""
    rows = [_head("CUAD, chosen half", BUDGETS)]
    rows.append(_row("all", measure(books, lambda book: by_find(vectors.reader(book)), BUDGETS)))
    for name, module, constant, without in CHANGES:
        kept = getattr(module, constant)
        setattr(module, constant, without)
        shown = measure(books, lambda book: by_find(vectors.reader(book)), BUDGETS)
        setattr(module, constant, kept)
        rows.append(_row(name, shown))
    print("\n".join(rows), flush=True)


def _head(title: str, budgets: Sequence[int]) -> str:
    columns = " | ".join(f"{budget:,} words" for budget in budgets)
    return f"| {title} | {columns} |\n|---|{'---|' * len(budgets)}"


def _row(name: str, shares: Sequence[float]) -> str:
    return f"| {name} | {' | '.join(f'{share:.1f}' for share in shares)} |"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("contracts", nargs="?", type=Path, default=CONTRACTS)
    parser.add_argument("xquad", nargs="?", type=Path, default=XQUAD)
    parser.add_argument("--embedder", default="minilm")
    parser.add_argument("--changes", action="store_true")
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    embedder = CachedEmbedder(given.embedder)
    sections: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as home:
        words, vectors = Readers(home, None), Readers(home, embedder)
        if given.contracts.exists():
            books = contracts(given.contracts)
            held_out = books[1::2]
            count = sum(len(book.questions) for book in held_out)
            title = f"CUAD, {len(held_out)} contracts held out, {count} questions"
            sections["contracts"] = compare(title, held_out, BUDGETS, words, vectors)
            if given.changes:
                compare_changes(books[0::2], vectors)
        tables = []
        for language in LANGUAGES:
            file = given.xquad / f"xquad.{language}.json"
            if file.exists():
                book = book_of_paragraphs(file)
                title = f"XQuAD, {language}, {len(book.questions)} questions"
                table = compare(title, [book], SHORT, words, vectors)
                if language in SHOWN:
                    tables.append(table)
        if tables:
            sections["books"] = "\n\n".join(tables)
        words.close()
        vectors.close()
    embedder.save()
    if given.page:
        put_into_page(sections, PAGE)
    elif not sections:
        print(f"skipped: there is no {given.contracts}, and no {given.xquad}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
