"""Files and folders as documents, whatever is in them."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from remloom.errors import SourceError
from remloom.sources import Document, Skipped, open_source, read_bytes
from remloom.sources.documents import convert

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


def read(path: Path, **options: object) -> dict[str, Document | Skipped]:
    """What is under a path, by the part of the uri below it."""
    found = {}
    for one in open_source(path, **options):  # type: ignore[arg-type]
        assert one.uri.startswith(str(path))
        found[one.uri[len(str(path)) :].lstrip("/")] = one
    return found


def document(path: Path) -> Document:
    (one,) = open_source(path)
    assert isinstance(one, Document), one
    return one


def skipped(path: Path) -> Skipped:
    (one,) = open_source(path)
    assert isinstance(one, Skipped), one
    return one


def docx(*paragraphs: str) -> bytes:
    """The smallest DOCX that word processors open."""
    body = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in paragraphs)
    space = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    relations = "http://schemas.openxmlformats.org/package/2006/relationships"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        archive.writestr(
            "[Content_Types].xml",
            '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/word/document.xml" ContentType="{kind}"/></Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<?xml version="1.0"?><Relationships xmlns="{relations}">'
            f'<Relationship Id="r1" Type="{office}" Target="word/document.xml"/></Relationships>',
        )
        archive.writestr(
            "word/document.xml",
            f'<?xml version="1.0"?><w:document xmlns:w="{space}"><w:body>{body}</w:body></w:document>',
        )
    return data.getvalue()


def pdf(*pages: str) -> bytes:
    """A PDF with one line of text on each page."""
    kids = b" ".join(b"%d 0 R" % (4 + 2 * number) for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(pages)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET".encode()
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (5 + 2 * number),
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream),
        ]
    data, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    return data + b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        start,
    )


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path: Path):
    for name in ("b.md", "a.txt", "sub/c.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("Some text.")
    source = open_source(tmp_path)
    assert len(source) == 3
    assert list(read(tmp_path)) == ["a.txt", "b.md", "sub/c.md"]


def test_hidden_files_version_control_and_packages_are_left_out(tmp_path: Path):
    for name in (".hidden.md", ".git/x.md", "node_modules/y.md", "env/lib/z.md", "kept.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("Some text.")
    (tmp_path / "env/pyvenv.cfg").write_text("home = /usr")
    assert list(read(tmp_path)) == ["kept.md"]


def test_folders_inside_are_left_out_when_not_recursive(tmp_path: Path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.md").write_text("a")
    (tmp_path / "b.md").write_text("b")
    assert list(read(tmp_path, recursive=False)) == ["b.md"]


def test_a_glob_chooses_by_name_or_path_and_reads_any_text(tmp_path: Path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/a.py").write_text("print('hello')")
    (tmp_path / "b.md").write_text("b")
    assert list(read(tmp_path, glob="*.py")) == ["sub/a.py"]
    assert isinstance(read(tmp_path, glob="sub/*")["sub/a.py"], Document)


def test_code_in_a_folder_is_skipped_with_a_reason_but_read_when_named(tmp_path: Path):
    (tmp_path / "a.py").write_text("print('hello')")
    found = read(tmp_path)["a.py"]
    assert isinstance(found, Skipped)
    assert not found.failed
    assert "name the file" in found.reason
    assert document(tmp_path / "a.py").text == "print('hello')"


def test_a_missing_path_is_an_error(tmp_path: Path):
    with pytest.raises(SourceError, match="there is no file or folder"):
        open_source(tmp_path / "nothing")


def test_front_matter_gives_title_date_and_author_and_is_no_content(tmp_path: Path):
    path = tmp_path / "a.md"
    path.write_text(
        '---\ntitle: "A: b"\ndate: 2025-01-14\nauthor: Sarah Chen, Bob Smith\ntags: [x, y]\n---\n\n# Other\n'
    )
    found = document(path)
    assert found.title == "A: b"
    assert found.at == datetime(2025, 1, 14, tzinfo=UTC)
    assert found.authors == ("Sarah Chen", "Bob Smith")
    assert found.text[found.body :].lstrip() == "# Other\n"
    assert found.metadata["front_matter"]["tags"] == ["x", "y"]


@pytest.mark.parametrize(
    ("line", "year"),
    [("year: 1754", 1754), ('period: "1750-1775"', 1750), ("date: January 5, 1803", 1803)],
)
def test_years_and_periods_date_a_document(tmp_path: Path, line: str, year: int):
    (tmp_path / "a.md").write_text(f"---\n{line}\n---\nText.")
    at = document(tmp_path / "a.md").at
    assert at is not None
    assert at.year == year


def test_a_rule_at_the_top_is_no_front_matter(tmp_path: Path):
    (tmp_path / "a.md").write_text("---\nOnce upon a time there was a line.\n---\nMore.")
    assert document(tmp_path / "a.md").body == 0


@pytest.mark.parametrize(
    ("name", "text", "title"),
    [
        ("a.md", "# The Title #\n\ntext", "The Title"),
        ("a.rst", "=====\nTitle\n=====\n\ntext", "Title"),
        ("a.rst", "Title\n-----\n\ntext", "Title"),
        ("my_first-note.txt", "just text", "my first note"),
    ],
)
def test_titles_come_from_the_first_heading_or_the_file_name(
    tmp_path: Path, name: str, text: str, title: str
):
    (tmp_path / name).write_text(text)
    assert document(tmp_path / name).title == title


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("Café\n".encode(), None),
        ("Café\n".encode("utf-8-sig"), "utf-8-sig"),
        ("Café\n".encode("utf-16"), "utf-16"),
        ("Café\n".encode("latin-1"), "latin-1 (guessed)"),
        (b"Caf\xc3\xa9\r\n", None),
    ],
)
def test_encodings_are_told_apart_and_a_guess_is_flagged(
    tmp_path: Path, data: bytes, encoding: str | None
):
    (tmp_path / "a.txt").write_bytes(data)
    found = document(tmp_path / "a.txt")
    assert found.text == "Café\n"
    assert found.metadata.get("encoding") == encoding


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("a.md", PNG, "named .md but it is a PNG image"),
        ("a.txt", bytes(range(256)) * 20, "named .txt but it is binary data"),
        ("a.txt", "text".encode("utf-16-le"), "named .txt but it is binary data"),
        ("a.pdf", b"<!DOCTYPE html><html><body>hi</body></html>", "named .pdf but it is HTML"),
        ("a.pdf", b"just text", "named .pdf but it is not a PDF"),
        ("a.pdf", b"%PDF-1.4\nbroken", "cannot be read"),
        ("a.docx", b"PK\x03\x04broken", "ZIP archive cannot be opened"),
        ("a.docx", PNG, "named .docx but it is a PNG image"),
        ("a.html", PNG, "named .html but it is a PNG image"),
        ("a.json", b"{not json", "named .json but it is not JSON"),
        (
            "a.jsonl",
            b'{"a": 1}\n{oops',
            "named .jsonl but line 2 of it is not JSON: Expecting property name enclosed in double quotes, column 2",
        ),
        ("a.json", b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_file_that_is_not_what_its_name_says_fails_with_the_reason(
    tmp_path: Path, name: str, data: bytes, reason: str
):
    (tmp_path / name).write_bytes(data)
    found = skipped(tmp_path / name)
    assert found.failed
    assert reason in found.reason


def test_another_zip_named_docx_fails(tmp_path: Path):
    with zipfile.ZipFile(tmp_path / "a.docx", "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "another ZIP archive" in skipped(tmp_path / "a.docx").reason


def test_empty_files_are_skipped_without_failing(tmp_path: Path):
    (tmp_path / "a.md").write_text("")
    (tmp_path / "b.md").write_text(" \n\n")
    found = read(tmp_path)
    assert found.keys() == {"a.md", "b.md"}
    for one in found.values():
        assert isinstance(one, Skipped)
        assert not one.failed
        assert one.reason == "it is empty"


def test_a_huge_file_is_passed_over_unread(tmp_path: Path):
    with (tmp_path / "huge.txt").open("wb") as file:
        file.truncate(1024**3)  # a hole: it takes no space
    found = skipped(tmp_path / "huge.txt")
    assert "1,024 MB: larger than 100 MB" in found.reason
    assert not found.failed


def test_a_pipe_in_a_folder_is_no_file(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe.md")
    assert skipped(tmp_path / "pipe.md").reason == "not a regular file"


def test_links_that_lead_out_of_the_folder_are_not_followed_and_say_so(tmp_path: Path):
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "keys.txt").write_text("the key")
    notes = tmp_path / "notes"
    (notes / "inner").mkdir(parents=True)
    (notes / "inner" / "a.md").write_text("alpha")
    (notes / "keys.md").symlink_to(tmp_path / "secrets" / "keys.txt")
    (notes / "all").symlink_to(tmp_path / "secrets")
    (notes / "again").symlink_to(notes / "inner")
    (notes / "b.md").symlink_to(notes / "inner" / "a.md")
    found = read(notes)
    assert {name for name, one in found.items() if isinstance(one, Document)} == {
        "inner/a.md",
        "b.md",
    }
    reasons = {name: one.reason for name, one in found.items() if isinstance(one, Skipped)}
    assert "out of the folder" in reasons["keys.md"]
    assert str(tmp_path / "secrets" / "keys.txt") in reasons["keys.md"]
    assert "out of the folder" in reasons["all"]
    assert "in its own place" in reasons["again"]


def test_a_file_named_itself_is_read_though_it_is_a_link(tmp_path: Path):
    (tmp_path / "a.md").write_text("alpha")
    (tmp_path / "link.md").symlink_to(tmp_path / "a.md")
    assert document(tmp_path / "link.md").text == "alpha"


def test_a_broken_link_fails_and_the_rest_is_read(tmp_path: Path):
    (tmp_path / "a.md").symlink_to(tmp_path / "gone.md")
    (tmp_path / "b.md").write_text("Text.")
    found = read(tmp_path)
    assert isinstance(found["a.md"], Skipped)
    assert found["a.md"].failed
    assert isinstance(found["b.md"], Document)


def test_nothing_is_opened_before_its_turn(tmp_path: Path):
    (tmp_path / "a.md").write_text("first")
    (tmp_path / "b.md").write_text("old")
    documents = iter(open_source(tmp_path))
    next(documents)
    (tmp_path / "b.md").write_text("new")
    second = next(documents)
    assert isinstance(second, Document)
    assert second.text == "new"


def test_html_becomes_markdown_with_its_title_author_and_date(tmp_path: Path):
    (tmp_path / "a.html").write_text(
        '<html><head><title>A &amp; B</title><meta name="author" content="Alice Jones">'
        '<meta name="date" content="2025-02-18"></head><body><h1>Head</h1><p>Some <b>text</b>.</p>'
        "<script>alert('never')</script></body></html>"
    )
    found = document(tmp_path / "a.html")
    assert (found.title, found.authors) == ("A & B", ("Alice Jones",))
    assert found.at == datetime(2025, 2, 18, tzinfo=UTC)
    assert found.text.strip() == "# Head\n\nSome **text**."
    assert not found.lined


def test_a_docx_that_unpacks_to_more_than_a_document_holds_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("remloom.sources.documents.formats.LARGEST_UNPACKED", 1_000_000)
    (tmp_path / "a.docx").write_bytes(docx("a" * 3_000_000))
    assert "unpacks to 3 MB" in skipped(tmp_path / "a.docx").reason


def test_docx_and_pdf_are_read(tmp_path: Path):
    (tmp_path / "a.docx").write_bytes(docx("Project Alpha begins.", "Sarah Chen leads it."))
    (tmp_path / "b.pdf").write_bytes(pdf("Harborlight charges per berth."))
    assert "Sarah Chen leads it." in document(tmp_path / "a.docx").text
    assert "Harborlight charges per berth." in document(tmp_path / "b.pdf").text


def test_the_pages_of_a_pdf_are_known(tmp_path: Path):
    (tmp_path / "b.pdf").write_bytes(
        pdf("It charges per berth.", "It opens in March.", "Sarah Chen leads it.")
    )
    found = document(tmp_path / "b.pdf")
    assert [found.text[begin:].split("\n", 1)[0] for begin in found.pages] == [
        "It charges per berth.",
        "It opens in March.",
        "Sarah Chen leads it.",
    ]
    assert "\f" not in found.text


def test_without_the_extra_a_pdf_is_skipped_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setitem(sys.modules, "pdfminer.high_level", None)  # as if it were not installed
    (tmp_path / "a.pdf").write_bytes(pdf("hello"))
    assert "pip install 'remloom[documents]'" in skipped(tmp_path / "a.pdf").reason


def test_standard_input_is_sniffed(monkeypatch: pytest.MonkeyPatch):
    class Piped:
        buffer = io.BytesIO(b'[{"speaker": "Ann", "text": "hello"}]')

    monkeypatch.setattr(sys, "stdin", Piped())
    (found,) = open_source("-")
    assert isinstance(found, Document)
    assert found.turns[0].message.speaker == "Ann"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["messages", "mapping", "text", "role", "author", "content", "ts", "user", "session_1", "at"]),
        inner,
        max_size=5,
    ),
    max_leaves=20,
)  # fmt: skip


def test_an_interrupted_conversion_leaves_no_answer_for_the_next_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name in ("one", "two", "three"):
        (tmp_path / f"{name}.html").write_text(f"<html><body><p>This is {name}.</p></body></html>")
    receive = convert.receive

    def interrupted(stream: IO[bytes]) -> bytes | None:
        if (receive(stream) or b"").isdigit():  # the child is at work, and says its limit
            raise KeyboardInterrupt
        raise AssertionError

    with monkeypatch.context() as patch:
        patch.setattr(convert, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            document(tmp_path / "one.html")
    assert document(tmp_path / "two.html").text.strip() == "This is two."
    assert document(tmp_path / "three.html").text.strip() == "This is three."


@settings(max_examples=150)
@given(
    st.sampled_from([".md", ".txt", ".csv", ".json", ".jsonl", ".html", ".rst", ""]),
    st.binary(max_size=200),
)
def test_no_bytes_break_a_reading(suffix: str, data: bytes):
    with contextlib.suppress(SourceError):
        assert read_bytes("place/name", data, suffix)


@settings(max_examples=200)
@given(JSON)
def test_no_json_breaks_the_search_for_chats(value: object):
    with contextlib.suppress(SourceError):
        for one in read_bytes("chat", json.dumps(value).encode(), ".json"):
            assert (
                isinstance(one, Skipped) or one.text or all(turn.message.text for turn in one.turns)
            )


def test_a_memory_inside_the_folder_is_not_read_into_itself(tmp_path: Path) -> None:
    tenant = tmp_path / "home" / "tenants" / "default"
    tenant.mkdir(parents=True)
    (tenant / "memory.db").write_bytes(b"SQLite format 3")
    (tenant / "tenant.json").write_text('{"wrapped_key": "00"}')
    (tmp_path / "note.md").write_text("A note.")
    assert [document.uri for document in open_source(tmp_path)] == [str(tmp_path / "note.md")]
