"""Records that answer a query, as lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import RenderableType
from rich.text import Text

from ....labels import key
from ....model import Hit, record_dict
from ..frame.text_formats import one_line, plural, short_source

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult


NAME_WIDTH = 44  # columns; longer names push their line's other columns to the right
SNIPPET = 400  # characters of a record's text looked at
STYLES = {"resources": "cyan", "entities": "magenta", "moments": "yellow"}  # by schema

_HEADINGS = re.compile(r"\A(?:\s*#+ [^\n]*(?:\n|\Z))+")  # of Markdown, above a text
_WINDOW = re.compile(r"(\d+):(\d+)")  # of a resource's content, in `Hit.matched`


def draw_hits(hits: Sequence[Hit]) -> RenderableType:
    """Draw records, two lines each: score, name, kind, source; then a snippet of the text."""
    return _Hits(hits)


class _Hits:
    """Hits in columns, drawn once the width of the console is known."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        self.hits = hits

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        scores = [f"{hit.score:.2f}  " for hit in self.hits]
        # exact matches: a column of ones would say nothing
        if all(hit.score == 1.0 for hit in self.hits):
            scores = [""] * len(self.hits)
        names = [_hit_name(hit) for hit in self.hits]
        kinds = [kind_of(hit.schema, hit.type) for hit in self.hits]
        score_width, kind_width = _widest(scores), _widest(kinds)
        name_width = min(NAME_WIDTH, _widest(names))
        for hit, score, name, kind in zip(self.hits, scores, names, kinds, strict=True):
            head = Text(no_wrap=True, overflow="ignore")
            head.append(score.rjust(score_width), "green")
            head.append(_pad(name, name_width), "bold").append("  ")
            head.append(_pad(kind, kind_width), STYLES.get(hit.schema, ""))
            if hit.uri:
                head.append("  ").append(short_source(hit.source), "blue")
            if hit.written_later:
                head.append("  written later", "yellow")
            head.rstrip()
            yield head
            text = snippet(hit)
            if text:
                body = Text(" " * (score_width or 2) + text, "dim", no_wrap=True)
                body.truncate(options.max_width, overflow="ellipsis")
                yield body


def _hit_name(hit: Hit) -> str:
    """Give the name, with the alias that matched where it was one."""
    # of a resource the matched window may stand there, as two offsets
    by_alias = hit.matched and hit.matched != key(hit.name) and not _WINDOW.fullmatch(hit.matched)
    return one_line(f"{hit.name} (as {hit.matched})" if by_alias else hit.name)


def snippet(hit: Hit) -> str:
    """Cut what a record says to one line.

    It is the passage that matched, or the text without the headings above it; of a record without
    text, its fields, its other names, its people, or its properties.
    """
    text = hit.content
    if text:
        window = _WINDOW.fullmatch(hit.matched) if hit.schema == "resources" else None
        passage = text[int(window[1]) : int(window[2])] if window else text
        # When nothing but a heading matched, the text under it says more; a text of headings
        # alone is shown as it is.
        onward = text[int(window[1]) :] if window else text
        body = _HEADINGS.sub("", passage).strip() or _HEADINGS.sub("", onward).strip()
        return one_line((body or passage)[:SNIPPET])
    shown = record_dict(hit.record)
    if shown.get("thin"):
        return "only mentioned so far"
    if shown.get("fields"):
        return one_line(_inline(shown["fields"])[:SNIPPET])
    if shown.get("aliases"):
        return one_line(f"also {', '.join(shown['aliases'])}")
    if shown.get("present_persons"):
        return one_line(f"with {', '.join(person['name'] for person in shown['present_persons'])}")
    properties = dict(shown.get("properties", {}))
    if properties.pop("extracted", False) and not properties:
        return "known only from reading"
    return one_line(_inline(properties))


def _inline(values: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in values.items())


def written_later_note(count: int) -> str:
    """Say of how many records of an AS OF the text is not that of the time."""
    return f'{plural(count, "record")} marked "written later": what was said then is not kept'


def kind_of(schema: str, type: str) -> str:
    return f"{schema}/{one_line(type)}" if type else schema


def _widest(texts: Iterable[str]) -> int:
    return max(map(cell_len, texts), default=0)


def _pad(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))
