"""Files that strangers wrote: bombs, nests, lies, noise. Each is reported, none ends the reading of
a folder."""

from __future__ import annotations

import io
import json
import os
import random
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from tried import Counted, Rounds

from remloom import Memory, Settings
from remloom.model import ReadReport
from remloom.sources.documents import convert

WORD = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>{}</w:body></w:document>'
PARAGRAPH = "<w:p><w:r><w:t>{}</w:t></w:r></w:p>"
KINDS = "http://schemas.openxmlformats.org/package/2006/content-types"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
MAIN = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"


def docx(body: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{KINDS}"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
            f'relationships+xml"/><Override PartName="/word/document.xml" ContentType="{MAIN}"/></Types>',
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{RELATIONS}"><Relationship Id="a" Type="{OFFICE}" Target="word/document.xml"/>'
            "</Relationships>",
        )
        archive.writestr("word/document.xml", WORD.format(body))
    return out.getvalue()


def pdf(content: bytes) -> bytes:
    stream = zlib.compress(content, 9)
    parts = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>",
        b"<</Length %d/Filter/FlateDecode>>stream\n%b\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(out))
        out += b"%d 0 obj%b endobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = (
        b"xref\n0 6\n0000000000 65535 f \n%btrailer<</Size 6/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF"
        % (table, len(out))
    )
    return out + end


def said(text: str) -> bytes:
    return b"BT /F 12 Tf 50 700 Td (%b) Tj ET " % text.encode()


GOOD: dict[str, Callable[[str], bytes]] = {
    ".md": lambda text: f"---\ntitle: A note\ndate: 2024-05-01\n---\n# A note\n\n{text}\n".encode(),
    ".txt": lambda text: f"{text}\n".encode(),
    ".html": lambda text: f"<html><title>A page</title><body><p>{text}</p></body></html>".encode(),
    ".pdf": lambda text: pdf(said(text)),
    ".docx": lambda text: docx(PARAGRAPH.format(text)),
    ".json": lambda text: json.dumps(
        [{"role": "user", "content": text}, {"role": "assistant", "content": "So."}]
    ).encode(),
    ".jsonl": lambda text: b"\n".join(
        json.dumps({"speaker": "Ann", "text": text}).encode() for _ in range(3)
    ),
    ".csv": lambda text: f"name,what\nAnn,{text}\n".encode(),
}


def read(tmp_path: Path, folder: Path, **settings: object) -> tuple[ReadReport, Memory]:
    chosen = Settings(home=str(tmp_path / "home"), embedder="none", **settings)  # type: ignore[arg-type]
    memory = Memory.open(settings=chosen)
    return memory.read(folder), memory


def test_bombs_are_reported_with_the_setting_that_allows_them_and_the_others_are_read(
    tmp_path: Path, rounds: Rounds, counted: Counted
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    size = rounds(500_000, 2_000_000)
    bombs = {
        "flate.pdf": pdf(said("boom") * size),
        "paragraphs.docx": docx(PARAGRAPH.format("boom") * (size * 3 // 10)),
        "nested.html": b"<div>" * (size // 16) + b"boom",
    }
    for name, data in bombs.items():
        assert len(data) < 5_000_000
        (folder / name).write_bytes(data)
        (folder / f"a-before-{name}.md").write_text(f"Before {name} was peace.")
        (folder / f"z-after-{name}").write_bytes(
            GOOD[Path(name).suffix](f"After {name} was peace.")
        )
    report, memory = read(tmp_path, folder, read_timeout=2.0, read_memory_mb=300)
    with memory:
        of = {Path(item.uri).name: item for item in report.items}
        for name in bombs:
            assert of[f"a-before-{name}.md"].status == of[f"z-after-{name}"].status == "read"
            if name == "nested.html" and of[name].status == "read":
                continue  # it is bounded, and that is enough
            assert of[name].status == "failed", of[name]
            assert (
                "read_timeout" in of[name].reason
                or "read_memory_mb" in of[name].reason
                or "read_elements" in of[name].reason
                or "deeply" in of[name].reason
            )
        assert len(memory.search_text("peace", limit=20).records) == 6
    counted("bombs among good files", len(bombs))


def test_a_document_that_needs_more_memory_than_it_may_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "large.html").write_bytes(b"<p>much</p>" * 120_000)
    (folder / "small.html").write_bytes(GOOD[".html"]("little"))
    # however slow the machine is, memory ends first
    report, memory = read(tmp_path, folder, read_memory_mb=60, read_timeout=3_600.0)
    memory.close()
    large, small = report.items
    assert (large.status, small.status) == ("failed", "read")
    assert "read_memory_mb" in large.reason


@pytest.mark.parametrize("suffix", [".docx", ".html", ".rss", ".pdf"])
def test_what_unpacks_to_too_many_elements_is_refused_before_it_is_converted(
    suffix: str, tmp_path: Path
) -> None:
    many = {
        ".docx": lambda: docx("<w:p/>" * 3_000_000),
        ".html": lambda: b"<p>" * 600_000,
        ".rss": lambda: b"<rss><channel>" + b"<item/>" * 600_000,
        ".pdf": lambda: b"%PDF-1.4\n" + b"1 0 obj endobj\n" * 600_000,
    }[suffix]()
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / f"bomb{suffix}").write_bytes(many)
    (folder / "small.md").write_text("All is well.")
    convert._child.end()
    report, memory = read(tmp_path, folder)
    memory.close()
    bomb, small = report.items
    assert (bomb.status, small.status) == ("failed", "read")
    assert "more than 500,000 elements" in bomb.reason
    assert "read_elements (REMLOOM_READ_ELEMENTS)" in bomb.reason
    # nothing was converted
    assert convert._child._process is None


def test_a_setting_allows_a_document_of_more_elements(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "page.html").write_bytes(b"<p>much</p>" * 50)
    report, memory = read(tmp_path, folder, read_elements=49)
    memory.close()
    assert "more than 49 elements" in report.items[0].reason
    report, memory = read(tmp_path, folder, read_elements=50)
    memory.close()
    assert report.items[0].status == "read"


def test_one_child_reads_many_documents_and_another_takes_the_place_of_one_that_died(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(60):
        (folder / f"{number:02}.html").write_bytes(GOOD[".html"](f"Page {number}."))
    used, report = set(), []
    for number, document in enumerate(converting_source(folder)):
        process = convert._child._process
        assert process is not None
        used.add(process.pid)
        report.append(document)
        if number == 30:
            process.kill()
            process.wait()
    assert len(used) == 2
    assert [type(document).__name__ for document in report] == ["Document"] * 60


def converting_source(folder: Path) -> object:
    from remloom.sources import open_source

    return open_source(folder)


def test_whatever_lies_in_a_folder_the_rest_is_read(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "inner").mkdir(parents=True)
    (folder / "loop.md").symlink_to("loop.md")
    (folder / "one.md").symlink_to("two.md")
    (folder / "two.md").symlink_to("one.md")
    (folder / "gone.md").symlink_to(folder / "nowhere.md")
    (folder / "zero.md").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe.md")
    (folder / "digits.json").write_text('{"n": ' + "7" * 5_000 + "}")
    (folder / "digits.jsonl").write_text('{"n": ' + "7" * 5_000 + "}\n")
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "deep.md").write_text("---\na: " + "[" * 20_000 + "\n---\ntext")
    (folder / "half.json").write_text('[{"role": "user", "content": "\\ud800 half of a pair"}]')
    (folder / "line\nbreak.md").write_text("A name of two lines.")
    Path(os.fsdecode(os.fsencode(folder) + b"/byte\xff.md")).write_text("A name that is not text.")
    Path(os.fsdecode(os.fsencode(folder) + b"/byte\xff.html")).write_bytes(
        GOOD[".html"]("A page that is not text.")
    )
    (folder / "inner" / "good.md").write_text("All is well.")
    report, memory = read(tmp_path, folder)
    with memory:
        of = {Path(item.uri).name: item.status for item in report.items}
        assert (
            of["good.md"]
            == of["line\nbreak.md"]
            == of["byte\\xff.md"]
            == of["byte\\xff.html"]
            == "read"
        )
        assert of["loop.md"] == of["one.md"] == of["two.md"] == of["gone.md"] == "failed"
        assert of["pipe.md"] == of["zero.md"] == "skipped"
        assert len(of) == len(list(folder.rglob("*"))) - 1
        # all but half a character of it
        (half,) = (item for item in report.skipped if item.uri.endswith("half.json"))
        assert "half a surrogate pair" in half.reason
        assert memory.admin.check() == []
        assert memory.search_text("well").records


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything"
)
def test_a_folder_that_may_not_be_read_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "closed").mkdir(parents=True)
    (folder / "closed").chmod(0)
    (folder / "good.md").write_text("All is well.")
    report, memory = read(tmp_path, folder)
    memory.close()
    (folder / "closed").chmod(0o700)
    assert {Path(item.uri).name: item.status for item in report.items} == {
        "good.md": "read",
        "closed": "failed",
    }


BYTES = [
    b"\0",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"[" * 3_000,
    b"<b>" * 3_000,
    b"9" * 5_000,
    b"\n" * 500,
]
WORDS = [
    b"\\ud800",
    b'"',
    b"{",
    b"---\n",
    b"&#x110000;",
    b"1e999999",
    b"\x1b[2J",
    b"endstream",
    b"</w:p>",
]


def spoilt(data: bytes, draw: random.Random) -> bytes:
    """What chance and malice make of a file."""
    out = bytearray(data)
    for _ in range(draw.choice([1, 1, 3, 10])):
        at, size = draw.randrange(len(out) + 1), draw.choice([1, 2, 8, 64])
        match draw.randrange(6):
            case 0:
                out[at : at + size] = draw.randbytes(size)
            case 1:
                del out[at : at + size]
            case 2:
                out[at:at] = out[at : at + size] * draw.choice([2, 50, 2_000])
            case 3:
                out[at:at] = draw.choice(
                    [
                        b"\0",
                        b"\xff\xfe",
                        b"\xed\xa0\x80",
                        b"[" * 3_000,
                        b"<b>" * 3_000,
                        b"9" * 5_000,
                    ]
                )
            case 4:
                out[at:at] = draw.choice(
                    [
                        b"\\ud800",
                        b'"',
                        b"{",
                        b"---\n",
                        b"&#x110000;",
                        b"1e999999",
                        b"\x1b[2J",
                        b"\n" * 500,
                    ]
                )
            case _:
                out = out[:at] or bytearray(b" ")
    return bytes(out)


@pytest.mark.parametrize("suffix", sorted(GOOD))
def test_no_spoilt_file_ends_a_reading(
    suffix: str, tmp_path: Path, rounds: Rounds, counted: Counted
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    times = rounds(30, 400)
    draw = random.Random(suffix)
    for number in range(times):
        good = GOOD[suffix](f"The heron {number} stands in the weir.")
        (folder / f"{number:03}-bad{suffix}").write_bytes(spoilt(good, draw))
    (folder / f"good{suffix}").write_bytes(GOOD[suffix]("All is well in the end."))
    report, memory = read(tmp_path, folder, read_timeout=5.0)
    with memory:
        names = {Path(item.uri.partition("#")[0]).name for item in report.items}
        assert names == {path.name for path in folder.iterdir()}
        assert memory.search_text("well", limit=5).records
        assert all(item.reason for item in report.items if item.status in ("failed", "skipped"))
        assert memory.admin.check() == []
    counted(f"spoilt files, {suffix}", times)
