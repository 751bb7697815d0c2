"""HTML, PDF and DOCX, turned into Markdown by markitdown (extra `documents`)."""

from __future__ import annotations

import html
import io
import re
import warnings
import zipfile
from typing import Any

from ..errors import MissingExtraError, SourceError
from . import dates, decode
from .document import Document

__all__ = ["MEDIA_TYPES", "convert"]

MEDIA_TYPES = {
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "text/html",
    ".pdf": "application/pdf",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
_CONVERTERS = {".pdf": "PdfConverter", ".docx": "DocxConverter"}  # else HtmlConverter
_META = re.compile(r"<meta\s[^>]*>", re.I)
_ATTRIBUTE = re.compile(r"""([\w:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.I | re.S)
_DATES = ("date", "article:published_time", "dc.date", "dcterms.created", "last-modified")
_HEAD = 100_000  # characters of an HTML file in which its head is looked for
_BLANK_LINES = re.compile(r"\n{3,}")


def convert(uri: str, data: bytes, suffix: str, title: str) -> Document:
    """The document as Markdown. Its lines are those of the conversion, so none are cited.

    Args:
        uri: where it was read.
        data: the file.
        suffix: of its name, lower case: a key of `MEDIA_TYPES`.
        title: what to call it when it does not say.

    Raises:
        MissingExtraError: markitdown is not installed.
        SourceError: the data are not what the suffix says, or cannot be read.
    """
    _check(uri, data, suffix)
    facts: dict[str, Any] = {}
    if MEDIA_TYPES[suffix] == "text/html":
        try:
            source, facts["encoding"] = decode.to_text(data)
        except decode.NotTextError as error:
            raise SourceError(f"named {suffix} but it is {error}", uri=uri) from error
        facts |= _head(source)
        data, facts["encoding"] = source.encode(), facts["encoding"]
    try:
        text, found_title = _markdown(data, suffix)
    except ImportError as error:
        raise MissingExtraError(f"reading {suffix} files", "documents") from error
    except Exception as error:  # markitdown hands on whatever its many parsers raise
        reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        raise SourceError(f"a {suffix[1:].upper()} file that cannot be read: {reason}", uri=uri) from error
    if not text.strip():
        hint = "; a scanned PDF needs text recognition first" if suffix == ".pdf" else ""
        raise SourceError(f"no text in it{hint}", uri=uri)
    if facts.get("encoding") == "utf-8":
        del facts["encoding"]
    author, at = facts.pop("author", ""), dates.parse(facts.pop("date", None))
    return Document(
        uri=uri,
        title=str(facts.pop("title", "") or found_title or title),
        text=_BLANK_LINES.sub("\n\n", text),
        lined=False,
        media_type="text/markdown",
        at=at,
        authors=(author,) if author else (),
        metadata={"converted_from": MEDIA_TYPES[suffix], **facts},
    )


def _check(uri: str, data: bytes, suffix: str) -> None:
    what = decode.sniff(data)
    if suffix == ".pdf" and b"%PDF-" not in data[:1024]:
        raise SourceError(f"named .pdf but it is {what or 'not a PDF'}", uri=uri)
    if suffix == ".docx":
        if what != "a ZIP archive":
            raise SourceError(f"named .docx but it is {what or 'not a DOCX'}", uri=uri)
        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                names = archive.namelist()
        except zipfile.BadZipFile as error:
            raise SourceError("a DOCX file that is damaged: its ZIP archive cannot be opened", uri=uri) from error
        if "word/document.xml" not in names:
            raise SourceError("named .docx but it is another ZIP archive", uri=uri)


def _markdown(data: bytes, suffix: str) -> tuple[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # other people's deprecations are no news to whoever reads a file
        from markitdown import StreamInfo, converters

        converter = getattr(converters, _CONVERTERS.get(suffix, "HtmlConverter"))()
        info = StreamInfo(mimetype=MEDIA_TYPES[suffix], extension=suffix, charset="utf-8")
        result = converter.convert(io.BytesIO(data), info)
    return str(result.markdown), str(result.title or "")


def _head(source: str) -> dict[str, str]:
    """Title, author and date that an HTML file states about itself."""
    head = source[:_HEAD]
    facts: dict[str, str] = {}
    for tag in _META.findall(head):
        attributes = {name.lower(): html.unescape(a or b) for name, a, b in _ATTRIBUTE.findall(tag)}
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
