"""Images become records by what they say of themselves in words."""

from __future__ import annotations

import io
import struct
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo

from remloom import Memory
from remloom.sources.documents import images


def photo(path: Path, *, described: str = "A red barn by the river", color: str = "red") -> Path:
    exif = Image.Exif()
    exif[0x010E] = described
    exif[0x010F], exif[0x0110] = "Canon", "Canon EOS 80D"
    exif[0x013B] = "Dana Ruiz"
    exif[0x9C9E] = "barn;harvest".encode("utf-16-le")
    exif.get_ifd(0x8769)[0x9003] = "2024:05:01 10:30:00"
    exif.get_ifd(0x8769)[0x9011] = "+02:00"
    gps = exif.get_ifd(0x8825)
    gps[1], gps[2], gps[3], gps[4] = "N", (56.0, 57.0, 0.0), "E", (24.0, 6.0, 36.0)
    Image.new("RGB", (32, 16), color).save(path, exif=exif)
    return path


@pytest.fixture
def memory(tmp_path: Path):
    with Memory.open(tmp_path / "home", embedder="none") as opened:
        yield opened


def test_a_photo_is_found_by_what_it_says(memory: Memory, tmp_path: Path) -> None:
    path = photo(tmp_path / "IMG_0042.jpg")
    report = memory.read(path)
    assert [item.status for item in report.items] == ["read"]
    (hit,) = memory.search_text("red barn", schema="resources").records
    assert hit.record.kind == "image"
    assert hit.record.starts_at == datetime(2024, 5, 1, 8, 30, tzinfo=UTC)
    assert hit.record.category == "image"
    for words in ("harvest", "Canon EOS 80D", "56.9500° N, 24.1100° E"):
        assert words in hit.content
    media = hit.record.metadata["media"]
    assert (media["path"], media["mime"]) == (str(path), "image/jpeg")
    assert (media["width"], media["height"], len(media["sha256"])) == (32, 16, 64)


def test_the_same_image_writes_nothing_and_another_replaces_it(
    memory: Memory, tmp_path: Path
) -> None:
    path = photo(tmp_path / "a.jpg")
    memory.read(path)
    assert [item.status for item in memory.read(path).items] == ["unchanged"]
    before = memory.search_text("barn", schema="resources").records[0].record
    # the same words of another picture
    photo(path, color="blue")
    assert [item.status for item in memory.read(path).items] == ["read"]
    (after,) = memory.search_text("barn", schema="resources").records
    assert after.record.metadata["media"]["sha256"] != before.metadata["media"]["sha256"]
    photo(path, described="A green field")
    memory.read(path)
    assert memory.search_text("river", schema="resources").records == []


def test_a_forgotten_image_is_forgotten(memory: Memory, tmp_path: Path) -> None:
    path = photo(tmp_path / "a.jpg")
    memory.read(path)
    memory.forget(str(path))
    assert memory.search_text("barn").records == []


def test_an_image_without_words_is_found_by_its_name(memory: Memory, tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "holiday_in_riga.png")
    memory.read(tmp_path / "holiday_in_riga.png")
    assert [hit.record.kind for hit in memory.search_text("Riga", schema="resources").records] == [
        "image"
    ]


def test_the_text_of_a_png_is_read(memory: Memory, tmp_path: Path) -> None:
    info = PngInfo()
    info.add_text("Title", "Quarterly chart")
    info.add_itxt("Description", "Umsatz je Quartal, größer als im Vorjahr")
    Image.new("L", (4, 4)).save(tmp_path / "x.png", pnginfo=info)
    memory.read(tmp_path / "x.png")
    (hit,) = memory.search_text("Umsatz", schema="resources").records
    assert hit.record.title == "Quarterly chart"


def test_a_folder_has_its_images_and_says_which_are_broken(memory: Memory, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    photo(folder / "good.jpg")
    whole = io.BytesIO()
    Image.effect_noise((64, 64), 50).save(whole, "PNG")
    (folder / "cut.png").write_bytes(whole.getvalue()[:-2_000])
    (folder / "text.gif").write_text("no image")
    (folder / "bomb.png").write_bytes(bomb())
    report = memory.read(folder)
    assert {Path(item.uri).name: item.status for item in report.items} == {
        "good.jpg": "read", "cut.png": "failed", "text.gif": "failed", "bomb.png": "failed"
    }  # fmt: skip
    reasons = {Path(item.uri).name: item.reason for item in report.items}
    assert "pixels" in reasons["bomb.png"]
    assert "no image" in reasons["text.gif"]
    assert "cannot be read" in reasons["cut.png"]


def test_without_pillow_a_folder_is_read_without_its_images(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    photo(folder / "a.jpg")
    monkeypatch.setattr(images, "is_installed", lambda: False)
    assert [item.status for item in memory.read(folder).items] == ["skipped"]


def test_what_stands_in_place_of_an_image_is_text_of_its_document(
    memory: Memory, tmp_path: Path
) -> None:
    (tmp_path / "a.md").write_text("# Site\n\n![The old lighthouse at dusk](x.png)\n")
    (tmp_path / "b.html").write_text('<p>Text.</p><img src="y.png" alt="A windmill in spring">')
    for path in ("a.md", "b.html"):
        memory.read(tmp_path / path)
    assert memory.search_text("lighthouse dusk", schema="resources").records
    assert memory.search_text("windmill spring", schema="resources").records


def bomb() -> bytes:
    """A PNG of a few hundred bytes that says that it has 10^10 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data)
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 0, 0, 0, 0)
    data = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + data


def test_the_text_in_an_image_is_found(memory: Memory, tmp_path: Path) -> None:
    pytest.importorskip("rapidocr", reason="needs remloom[ocr]")
    picture = Image.new("RGB", (640, 120), "white")
    font = ImageFont.load_default(32)
    ImageDraw.Draw(picture).text((20, 40), "Invoice for Harborlight", fill="black", font=font)
    picture.save(tmp_path / "scan.png")
    (item,) = memory.read(tmp_path / "scan.png").items
    assert (item.status, item.reason) == ("read", "")
    (hit,) = memory.search_text("Harborlight invoice", schema="resources").records
    assert hit.record.kind == "image"
    assert [item.status for item in memory.read(tmp_path / "scan.png").items] == ["unchanged"]
