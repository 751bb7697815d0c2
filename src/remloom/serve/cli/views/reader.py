"""Passages, outlines, coverage and readings as rich renderables, and a reading while it goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from ....reader import EventType
from ....text.quoting import visible
from ..frame.terminal import console
from ..frame.text_formats import one_line, plural, short_source
from .tables import TableOrBlocks, draw_nested, draw_pairs, draw_table

if TYPE_CHECKING:
    from ....reader import Passage, ReadEvent, Reading, Rows
    from ....reader.lines.documents import DocumentStats
    from ....reader.lines.outline import Outline
    from ....reader.reader import Reader


_BAR = 60  # cells of a bar of coverage
_SHADES = " ░▒▓█"  # of a cell: how much of its lines was read
_FEW_WORDS = 8  # a passage of fewer, that is worth little, is a scrap
_LITTLE = 0.6  # of the score of the best passage


def draw_documents(documents: Sequence[DocumentStats]) -> RenderableType:
    lines = []
    for stats in documents:
        counts = [plural(stats.total_lines, "line"), plural(stats.total_words, "word")]
        counts += [plural(stats.sections, "section")] if stats.sections else []
        counts += [plural(stats.pages, "page")] if stats.pages else []
        lines.append(Text.assemble((one_line(stats.doc_name), "bold"), f"  {', '.join(counts)}"))
    return Group(*lines)


def draw_passages(passages: Sequence[Passage]) -> RenderableType:
    if not passages:
        return Text("nothing found", "yellow")
    parts: list[RenderableType] = []
    for passage in passages:
        head = Text(short_source(passage.source), "blue")
        if passage.section:
            head.append(f"  {one_line(passage.section)}", "dim")
        parts += [head, draw_pairs(_numbered(passage.text, passage.first)), Text("")]
    return Group(*parts[:-1])


def draw_found(passages: Sequence[Passage]) -> RenderableType:
    """Draw what is to be read: what stands side by side as one, and scraps by their places alone.

    A scrap is a few words, worth little, that filled the room that was left.
    """
    best = max((passage.score for passage in passages), default=0.0)
    whole: list[Passage] = []
    scraps: list[Passage] = []
    for passage in _join_neighbours(passages):
        is_scrap = passage.words < _FEW_WORDS and passage.score < _LITTLE * best
        (scraps if is_scrap else whole).append(passage)
    drawn = draw_passages(whole)
    if not scraps:
        return drawn
    return Group(drawn, Text(""), Text(f"and a few words in {_places(scraps)}", "dim"))


def _places(passages: Sequence[Passage]) -> str:
    """Cite passages, each document by its uri once: `lease.md:3, :7-9, notes.md:2`."""
    places = []
    before = ""
    for source, uri in dict.fromkeys((passage.source, passage.uri) for passage in passages):
        places.append(source.removeprefix(uri) if uri == before else short_source(source))
        before = uri
    return ", ".join(filter(None, places))


def _join_neighbours(passages: Iterable[Passage]) -> list[Passage]:
    """Join passages of which one begins where the other ends, at the place of the better one."""
    joined: list[Passage] = []
    for passage in passages:
        neighbours = [other for other in joined if _touch(other, passage)]
        if not neighbours:
            joined.append(passage)
            continue
        at = joined.index(neighbours[0])
        joined = [other for other in joined if other not in neighbours]
        joined.insert(at, _join([*neighbours, passage]))
    return joined


def _touch(one: Passage, other: Passage) -> bool:
    return one.uri == other.uri and (one.last + 1 == other.first or other.last + 1 == one.first)


def _join(passages: Sequence[Passage]) -> Passage:
    ordered = sorted(passages, key=lambda passage: passage.first)
    return msgspec.structs.replace(
        ordered[0],
        last=ordered[-1].last,
        text="\n".join(passage.text for passage in ordered),
        words=sum(passage.words for passage in ordered),
        score=max(passage.score for passage in ordered),
    )


def _numbered(text: str, first: int) -> Iterable[tuple[str, RenderableType]]:
    for number, line in enumerate(text.split("\n"), first):
        if line.strip():
            yield str(number), Text(visible(line))


def draw_outline(outline: Outline) -> RenderableType:
    return Text(visible(str(outline))) if len(outline) else Text("no headings", "yellow")


def draw_schema(schema: Mapping[str, Any]) -> RenderableType:
    rows = [(column["name"], column["type"], column["description"]) for column in schema["columns"]]
    return draw_table(("column", "type", "what"), rows)


def draw_rows(rows: Rows) -> RenderableType:
    parts: list[RenderableType] = [TableOrBlocks(rows.columns, rows.rows)]
    parts += [Text(one_line(fix), "dim") for fix in rows.fixes]
    if rows.truncated:
        parts.append(Text("… and more rows", "dim"))
    return Group(*parts)


def draw_stats(stats: Mapping[str, Any]) -> RenderableType:
    """Draw what was asked and read: averages with one decimal, shares of documents in percent."""
    shown = {name: f"{n:,.1f}" if isinstance(n, float) else n for name, n in stats.items()}
    shown["coverage"] = {name: f"{share:.0%}" for name, share in stats["coverage"].items()}
    return draw_nested(shown)


def draw_coverage(
    ranges: Mapping[str, Sequence[tuple[int, int]]], documents: Sequence[DocumentStats]
) -> RenderableType:
    """Draw which lines of each document were read, from its first line to its last."""
    rows = []
    for stats in documents:
        lines = stats.max_line
        read = sum(last - first + 1 for first, last in ranges.get(stats.doc_name, ()))
        share = read / lines if lines else 0.0
        bar = Text.assemble((_bar(ranges.get(stats.doc_name, ()), lines), "green"))
        rows.append((one_line(stats.doc_name), bar.append(f" {share:.0%} of {lines:,} lines")))
    return draw_pairs(rows)


def _bar(ranges: Sequence[tuple[int, int]], lines: int) -> str:
    """A cell for each part of a document, the darker the more of it was read."""
    size = max(lines / _BAR, 1.0)
    cells = []
    for cell in range(min(_BAR, lines)):
        start, end = cell * size, (cell + 1) * size
        read = sum(max(0.0, min(end, last) - max(start, first - 1)) for first, last in ranges)
        # what was read a little is not blank
        shade = min(len(_SHADES) - 1, int(read / size * (len(_SHADES) - 1) + 0.999))
        cells.append(_SHADES[shade])
    return f"▕{''.join(cells)}▏"


def draw_reading(reading: Reading) -> RenderableType:
    style = "" if reading.found else "yellow"
    parts: list[RenderableType] = [Text(visible(reading.answer), style), Text("")]
    for citation in reading.citations:
        line = Text.assemble((f"{citation.found:<9} ", _style(citation.found)))
        line.append(short_source(citation.source), "blue")
        if citation.quote:
            line.append(f"  “{one_line(citation.quote)}”", "dim")
        parts.append(line)
    parts += [Text(one_line(doubt), "yellow") for doubt in reading.doubts]
    turns = f" in {plural(reading.iterations, 'turn')}" if reading.iterations else ""
    cost = (
        f"{plural(reading.unique_lines, 'line')} read{turns}, "
        f"{plural(reading.calls, 'call')}, {plural(reading.tokens, 'token')}, "
        f"{reading.elapsed_time:.1f} s"
    )
    parts.append(Text(cost, "dim"))
    return Group(*parts)


def _style(found: str) -> str:
    return {"verbatim": "green", "close": "green", "moved": "yellow"}.get(found, "red")


@contextmanager
def reading_picture(reader: Reader) -> Iterator[Callable[[ReadEvent], None]]:
    """Draw a reading while it goes on: what is read now, and a bar of what has been."""
    doing = ""

    def draw() -> RenderableType:
        return Group(
            Text(one_line(doing), "dim", no_wrap=True, overflow="ellipsis"),
            draw_coverage(reader.ranges_read(), reader.documents),
        )

    with Live(console=console(stderr=True), transient=True, get_renderable=draw) as live:

        def show(event: ReadEvent) -> None:
            nonlocal doing
            doing = _doing(event) or doing
            live.refresh()

        yield show


def _doing(event: ReadEvent) -> str:
    """Say what an event begins; empty for those that begin nothing."""
    data = event.data
    if event.type == EventType.ITERATION_START:
        return f"turn {data['iteration'] + 1} of {data['max_iterations']}: thinking"
    if event.type == EventType.SQL_EXECUTE:
        return f"reading: {data['sql']}"
    if event.type == EventType.RESULTS:
        return f"read {plural(data['row_count'], 'line')}, {plural(data['word_count'], 'word')}"
    if event.type == EventType.SYNTHESIS_START:
        return "writing the answer, and checking what it cites"
    if event.type in (EventType.ERROR, EventType.WARNING):
        return str(data.get("error") or data.get("warning") or "")
    return ""
