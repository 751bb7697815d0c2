"""Feeds that a person subscribes to (OPML), and feeds saved as files (RSS, Atom): extra `feeds`.

A saved feed says only what there was to read, not that anybody read it. Nothing is fetched, and of
an address the site alone is kept: private feeds have keys.
"""

from __future__ import annotations

import io
import re
from calendar import timegm
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from ...errors import SourceError
from .. import decode
from ..document import Document, File
from .pages import from_html, informative_title, one_line, site_of

OPML, RSS = "text/x-opml", "application/rss+xml"
_ROOTS = {b"opml": ".opml", b"rss": ".rss", b"rdf": ".rss", b"feed": ".atom"}
# the first element, behind a declaration, comments and a document type without a subset
_ROOT = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:(?:<\?.*?\?>|<!--.*?-->|<!doctype[^\[>]*>)\s*)*<(\w+)", re.S | re.I
)
_HEAD = 4096  # bytes in which the first element is looked for
_DECLARED = re.compile(r"<\?xml[^>]*encoding\s*=\s*[\"']([\w.-]+)")
_DECLARATION = re.compile(r"^\s*<\?xml.*?\?>", re.S)
_ENTITIES = re.compile(rb"<!ENTITY", re.I)
_LONGEST_TITLE = 200  # characters
_LONGEST_TEXT = 20_000  # characters of an item


def sniff_suffix(data: bytes) -> str:
    """Tell which suffix a feed named `.xml` should have by its first element; empty for others."""
    root = _ROOT.match(data[:_HEAD])
    return _ROOTS.get(root[1].lower(), "") if root else ""


def convert(file: File) -> Document:
    """Convert a list of subscriptions or a feed to plain text."""
    suffix, found = file.suffix, sniff_suffix(file.data)
    if found != suffix and (suffix, found) != (".rss", ".atom"):
        kind = decode.sniff(file.data) or "something else"
        raise SourceError(f"named {suffix} but it is {kind}", uri=file.uri)
    # neither format has any; what declares them means to become larger than it is
    if _ENTITIES.search(file.data):
        raise SourceError("it declares entities of its own, which no feed does", uri=file.uri)
    return _subscriptions(file) if suffix == ".opml" else _feed(file)


def _subscriptions(file: File) -> Document:
    import listparser

    # Bytes, so that nothing is taken for an address to be fetched; of ASCII, which every parser
    # that the library uses takes for the same characters.
    text = _DECLARATION.sub("", _decoded(file), count=1)
    found = listparser.parse(text.encode("ascii", "xmlcharrefreplace"))
    lines = [line for feed in found.feeds for line in _feed_lines(feed)]
    if not lines:
        raise SourceError("a list of subscriptions without feeds", uri=file.uri)
    at = found.meta.get("modified_parsed") or found.meta.get("created_parsed")
    return Document(
        uri=file.uri,
        title=one_line(found.meta.get("title") or file.title, _LONGEST_TITLE) or file.title,
        text="\n".join(dict.fromkeys(lines)) + "\n",
        lined=False,
        media_type="text/markdown",
        category="news",
        at=at if isinstance(at, datetime) and at.utcoffset() is not None else None,
        metadata={"converted_from": OPML, "feeds": len(found.feeds)},
    )


def _feed_lines(feed: Any) -> Iterator[str]:
    """Write a line for each folder that a feed is in: `- Food > Bread: The Crumb
    (crumb.example)`."""
    name = informative_title(one_line(feed.title or "", _LONGEST_TITLE))
    site = site_of(feed.url or "")
    label = f"{name} ({site})" if name and site else name or site
    if not label:
        return
    if not feed.categories:
        yield f"- {label}"
    for path in feed.categories:
        folder = " > ".join(one_line(part, _LONGEST_TITLE) for part in path if part.strip())
        yield f"- {folder}: {label}" if folder else f"- {label}"


def _feed(file: File) -> Document:
    import feedparser

    found = feedparser.parse(io.BytesIO(file.data))
    items = [text for text in map(_item, found.entries) if text]
    if not items:
        problem = found.get("bozo_exception") if found.bozo else ""
        because = f": {one_line(str(problem), 200)}" if problem else ""
        raise SourceError(f"a feed without items that can be read{because}", uri=file.uri)
    return Document(
        uri=file.uri,
        title=one_line(found.feed.get("title", ""), _LONGEST_TITLE) or file.title,
        text="\n\n".join(items) + "\n",
        lined=False,
        media_type="text/markdown",
        category="feed",
        at=_time(found.feed.get("updated_parsed") or found.feed.get("published_parsed")),
        metadata={
            "converted_from": RSS,
            "items": len(items),
            "site": site_of(found.feed.get("link") or ""),
        },
    )


def _item(entry: Any) -> str:
    """Write an item of a feed: its title as a heading, its day, and its words."""
    contents = [part.get("value", "") for part in entry.get("content", ())]
    words = max([entry.get("summary", ""), *contents], key=len)
    text = one_line(from_html(words), _LONGEST_TEXT)
    title = one_line(from_html(entry.get("title", "")), _LONGEST_TITLE)
    if not title and not text:
        return ""
    at = _time(entry.get("published_parsed") or entry.get("updated_parsed"))
    body = f"{at:%Y-%m-%d}: {text}" if at else text
    return f"## {title or 'Untitled'}\n\n{body}".rstrip()


def _time(parts: Any) -> datetime | None:
    """The time of a feed or item, which its library gives in UTC."""
    try:
        return datetime.fromtimestamp(timegm(parts), UTC) if parts else None
    except (TypeError, ValueError, OverflowError):
        return None


def _decoded(file: File) -> str:
    """Decode XML by the encoding that it declares, else as any text."""
    declared = _DECLARED.match(file.data[:200].decode("ascii", "replace"))
    if declared:
        try:
            return file.data.decode(declared[1])
        except (LookupError, UnicodeDecodeError):
            pass
    try:
        return decode.to_text(file.data)[0]
    except decode.NotTextError as error:
        raise SourceError(f"it is {error}", uri=file.uri) from error
