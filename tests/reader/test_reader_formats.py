"""Documents of every format are lines, and are cited by what their source has."""

from __future__ import annotations

import csv
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from remloom import Memory, Message


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(tmp_path / "home", embedder="none") as opened:
        yield opened


def pdf(pages: list[list[str]]) -> bytes:
    """A PDF with these lines on its pages."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids = []
    font = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    for lines in pages:
        shown = " ".join(f"({line}) Tj 0 -16 Td" for line in lines)
        stream = f"BT /F1 12 Tf 50 780 Td {shown} ET"
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {len(objects)} 0 R "
            f"/Resources << /Font << /F1 {font} >> >> >>"
        )
        kids.append(f"{len(objects)} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    out = io.BytesIO(b"%PDF-1.4\n")
    out.seek(0, 2)
    places = []
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(f"{number} 0 obj\n{body}\nendobj\n".encode())
    start = out.tell()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}".encode())
    out.write(f"trailer << /Size {len(objects) + 1} /Root 1 0 R >>\n".encode())
    out.write(f"startxref\n{start}\n%%EOF\n".encode())
    return out.getvalue()


def test_a_pdf_is_cited_by_its_pages(memory: Memory, tmp_path: Path) -> None:
    pytest.importorskip("pdfminer")
    file = tmp_path / "report.pdf"
    file.write_bytes(
        pdf([["1. INTRODUCTION TO IT", "Ferries leave at noon."], ["Tickets are nine euros."]])
    )
    reader = memory.reader(file)
    (stats,) = reader.documents
    assert stats.pages == 2
    (found,) = reader.search("nine euros", limit=1)
    assert (found.page, found.source) == (2, f"{file}#page=2")
    (first,) = reader.search("noon", limit=1)
    assert first.page == 1


def test_html_and_word_have_no_lines_to_cite(memory: Memory, tmp_path: Path) -> None:
    pytest.importorskip("markitdown")
    page = tmp_path / "page.html"
    page.write_text("<h1>Ferries</h1><p>They leave.</p><h2>Prices</h2><ul><li>Nine</li></ul>")
    reader = memory.reader(page)
    assert [one.title for one in reader.outline().sections] == ["Ferries", "Prices"]
    (found,) = reader.search("nine")
    assert found.source == str(page)
    assert found.section == "Ferries > Prices"


def test_word_documents_are_lines(memory: Memory, tmp_path: Path) -> None:
    pytest.importorskip("mammoth")
    file = tmp_path / "note.docx"
    paragraphs = "".join(f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in ("One.", "Two."))
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="rels" ContentType='
            '"application/vnd.openxmlformats-package.relationships+xml"/>'
            '<Override PartName="/word/document.xml" ContentType="application/'
            'vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        )
        archive.writestr(
            "_rels/.rels",
            '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            '<Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/'
            'relationships/officeDocument" Target="word/document.xml"/></Relationships>',
        )
        archive.writestr(
            "word/document.xml",
            '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
            f"<w:body>{paragraphs}</w:body></w:document>",
        )
    assert memory.reader(file).lines(1, 3).text == "One.\n\nTwo."


def test_a_table_has_one_header_and_its_rows(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "prices.csv"
    with file.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["route", "price"], *([f"R{n}", n] for n in range(900))])
    reader = memory.reader(file)
    (stats,) = reader.documents
    assert (stats.total_lines, stats.strategic_lines, stats.sections) == (901, 1, 0)
    assert reader.lines(1, 2).text == "route,price\nR0,0"
    assert reader.lines(901).source == f"{file}:901"
    assert [one.first for one in reader.search("R777")] == [779]


def test_a_chat_is_lines_of_those_who_speak(memory: Memory) -> None:
    turns = [Message(speaker="Ann", text="When?\nAt noon?"), Message(speaker="Bob", text="Yes.")]
    memory.read_chat(turns, uri="chats/1", name="Talk")
    reader = memory.reader("Talk")
    assert reader.lines(1, 3).text == "Ann: When?\nAt noon?\nBob: Yes."
    memory.read_chat([Message(speaker="Ann", text="Good.")], uri="chats/1", append=True)
    assert reader.lines(4).text == "Ann: Good."


def test_a_text_without_blanks_between_words_is_counted_by_characters(memory: Memory) -> None:
    with memory.reader() as reader:
        stats = reader.open_text("# 船\n\n" + "東京へ行く船は正午に出る。\n" * 200, name="船")
        assert (stats.total_lines, stats.doc_name) == (202, "船")
        assert stats.total_words > 200 * 11
        assert reader.lines(202).text == "東京へ行く船は正午に出る。"


def test_an_export_of_several_chats_opens_them_all(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "chats.json"
    turns = [("user", "Hello\nthere"), ("assistant", "Hi")]
    messages = [{"role": role, "content": text} for role, text in turns]
    chats = [{"title": title, "messages": messages} for title in ("One", "Two")]
    file.write_text(json.dumps(chats), encoding="utf-8")
    reader = memory.reader(file)
    assert [one.doc_name for one in reader.documents] == ["One", "Two"]
    assert reader.lines(1, 3, "Two").text == "user: Hello\nthere\nassistant: Hi"
    assert ":" not in reader.lines(1, 3, "Two").source.rpartition("/")[2]
