"""The formats that libraries parse. HTML and DOCX are turned into Markdown by markitdown, of PDF
the text is taken by pdfminer (extra `documents`); feeds are read by `feeds`, images by `images`."""

from __future__ import annotations

import html
import io
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any

from msgspec import Struct

from ...errors import MissingExtraError, SourceError
from ...local_models import load_onnxruntime
from ...text import dates
from ...text.private import without_private
from .. import decode
from ..document import Document, File
from ..web import feeds
from . import images

_HTML = "text/html"
_MARKITDOWN = "markitdown"
LARGEST_UNPACKED = 300_000_000  # bytes of a DOCX; its converter would take twice as much memory
_UNPACKED = 1_000_000  # bytes of a DOCX that are unpacked at a time to count its elements
_META = re.compile(r"<meta\s[^>]*>", re.I)
_ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.I | re.S)
_DATES = ("date", "article:published_time", "dc.date", "dcterms.created", "last-modified")
_HEAD = 100_000  # characters of an HTML file in which its head is looked for
_BLANK_LINES = re.compile(r"\n{3,}")


class Format(Struct, frozen=True):
    """A format that a library parses.

    Attributes:
        library: the module that is imported for it.
        extra: that installs the library.
        convert: makes the document, in whatever process it is called.
    """

    media_type: str
    library: str
    extra: str
    convert: Callable[[File], Document]


def _convert(file: File) -> Document:
    """The document as Markdown or, of a PDF, as plain text. Its lines are those of the conversion,
    so none are cited; the pages of a PDF are."""
    uri, data, suffix = file.uri, file.data, file.suffix
    media_type = FORMATS[suffix].media_type
    facts: dict[str, Any] = {}
    if media_type == _HTML:
        try:
            source, facts["encoding"] = decode.to_text(data)
        except decode.NotTextError as error:
            raise SourceError(f"named {suffix} but it is {error}", uri=uri) from error
        # Markdown has no such elements
        source = without_private(source).text
        facts |= _head(source)
        data = source.encode()
    own_title = ""
    try:
        if suffix == ".pdf":
            text = _plain(data)
        else:
            text, own_title = _markdown(data, suffix)
    except ImportError as error:
        raise MissingExtraError(f"reading {suffix} files", "documents") from error
    except (MemoryError, RecursionError):
        raise
    except Exception as error:
        # the libraries hand on whatever their many parsers raise
        message = str(error).strip()
        reason = message.splitlines()[0][:200] if message else type(error).__name__
        raise SourceError(
            f"a {suffix[1:].upper()} file that cannot be read: {reason}", uri=uri
        ) from error
    if not text.strip():
        hint = "; a scanned PDF needs text recognition first" if suffix == ".pdf" else ""
        raise SourceError(f"no text in it{hint}", uri=uri)
    if facts.get("encoding") == "utf-8":
        del facts["encoding"]
    author = facts.pop("author", "")
    at = dates.parse(facts.pop("date", None))
    # a PDF may have halves of surrogate pairs
    text, pages = _paged(text.encode("utf-8", "replace").decode())
    return Document(
        uri=uri,
        title=str(facts.pop("title", "") or own_title or file.title),
        text=text,
        lined=False,
        pages=pages,
        media_type="text/plain" if suffix == ".pdf" else "text/markdown",
        at=at,
        authors=(author,) if author else (),
        metadata={"converted_from": media_type, **facts},
    )


def load(suffix: str) -> None:
    """Import what reads a suffix, if it is installed."""
    with suppress(ImportError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if suffix in images.MEDIA_TYPES:
            images.load()
        elif FORMATS[suffix].library == _MARKITDOWN:
            _markitdown()
        else:
            import_module(FORMATS[suffix].library)


def check(file: File) -> None:
    """Refuse data that are plainly not what their suffix says, or unpack to too much."""
    kind = decode.sniff(file.data)
    if file.suffix == ".pdf" and b"%PDF-" not in file.data[:1024]:
        raise SourceError(f"named .pdf but it is {kind or 'not a PDF'}", uri=file.uri)
    if file.suffix == ".docx":
        if kind != decode.ZIP:
            raise SourceError(f"named .docx but it is {kind or 'not a DOCX'}", uri=file.uri)
        _check_docx(file.uri, file.data)


def count_elements(data: bytes, suffix: str, most: int) -> int:
    """Count the tags or objects that conversion takes time for, up to just past `most`; in PDF
    unpacked ones."""
    if suffix in images.MEDIA_TYPES:
        return 0
    if suffix == ".pdf":
        return data.count(b" obj")
    if suffix != ".docx":
        return _count_tags(data)
    found = 0
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                # pictures are not parsed
                if not name.lower().endswith((".xml", ".rels")):
                    continue
                with archive.open(name) as part:
                    while found <= most and (piece := part.read(_UNPACKED)):
                        found += _count_tags(piece)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError):
        # it is damaged or encrypted: its conversion says so
        return found
    return found


def _count_tags(text: bytes) -> int:
    return text.count(b"<") - text.count(b"</")


def _check_docx(uri: str, data: bytes) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            # no more than this is ever unpacked
            unpacked = sum(part.file_size for part in archive.infolist())
    except zipfile.BadZipFile as error:
        raise SourceError(
            "a DOCX file that is damaged: its ZIP archive cannot be opened", uri=uri
        ) from error
    if "word/document.xml" not in names:
        raise SourceError("named .docx but it is another ZIP archive", uri=uri)
    if unpacked > LARGEST_UNPACKED:
        size = f"{unpacked / 1_000_000:,.0f} MB"
        raise SourceError(f"a DOCX file that unpacks to {size}: that is not a document", uri=uri)


def _markdown(data: bytes, suffix: str) -> tuple[str, str]:
    with warnings.catch_warnings():
        # the deprecations of others are not news to somebody who reads a file
        warnings.simplefilter("ignore")
        markitdown = _markitdown()
        converters = markitdown.converters
        converter = converters.DocxConverter() if suffix == ".docx" else converters.HtmlConverter()
        media_type = FORMATS[suffix].media_type
        info = markitdown.StreamInfo(mimetype=media_type, extension=suffix, charset="utf-8")
        result = converter.convert(io.BytesIO(data), info)
    return str(result.markdown), str(result.title or "")


def _markitdown() -> Any:
    # it imports magika, and so onnxruntime
    load_onnxruntime()
    import markitdown

    return markitdown


def _plain(data: bytes) -> str:
    """The text of a PDF, with a form feed behind each page; markitdown would take columns for a
    form."""
    from pdfminer.high_level import extract_text

    return str(extract_text(io.BytesIO(data)))


def _paged(text: str) -> tuple[str, tuple[int, ...]]:
    """Take out the form feeds; returns the text and where its pages begin, if it has some."""
    *pages, rest = text.split("\f")
    has_pages = bool(pages)
    if rest.strip() or not has_pages:
        pages.append(rest)
    whole = ""
    begins = []
    for page in pages:
        begins.append(len(whole))
        whole += _BLANK_LINES.sub("\n\n", page.rstrip() + "\n\n")
    return whole, tuple(begins) if has_pages else ()


def _head(source: str) -> dict[str, str]:
    """Read the title, author and date that an HTML file states about itself."""
    head = source[:_HEAD]
    facts: dict[str, str] = {}
    for tag in _META.findall(head):
        attributes = {
            name.lower(): html.unescape(double or single)
            for name, double, single in _ATTRIBUTE.findall(tag)
        }
        name = (attributes.get("name") or attributes.get("property") or "").lower()
        content = attributes.get("content", "").strip()
        if name == "author" and content:
            facts["author"] = content
        elif name in _DATES and content:
            facts.setdefault("date", content)
    title = _TITLE.search(head)
    if title and title[1].strip():
        facts["title"] = " ".join(html.unescape(title[1]).split())
    return facts


_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
FORMATS: dict[str, Format] = {
    **dict.fromkeys((".html", ".htm", ".xhtml"), Format(_HTML, _MARKITDOWN, "documents", _convert)),
    ".docx": Format(_DOCX, _MARKITDOWN, "documents", _convert),
    ".pdf": Format("application/pdf", "pdfminer.high_level", "documents", _convert),
    ".opml": Format(feeds.OPML, "listparser", "feeds", feeds.convert),
    ".rss": Format(feeds.RSS, "feedparser", "feeds", feeds.convert),
    ".atom": Format("application/atom+xml", "feedparser", "feeds", feeds.convert),
    **{
        suffix: Format(media_type, "PIL.Image", "images", images.convert)
        for suffix, media_type in images.MEDIA_TYPES.items()
    },
}
