"""Images that are captioned by a model that sees, while they are read."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from remloom import Memory
from remloom.errors import ModelRefusedError
from remloom.model import ReadReport
from remloom.testing.models import ScriptedModel

Image = pytest.importorskip("PIL.Image")


@pytest.fixture
def folder(tmp_path: Path, real_calls: None) -> Path:
    """A folder with a large photograph that says where it was taken, a picture, and a note."""
    made = tmp_path / "pictures"
    made.mkdir()
    exif = Image.Exif()
    exif[0x010E] = "Holiday"
    exif[0x8825] = {1: "N", 2: (59.0, 55.0, 0.0), 3: "E", 4: (10.0, 45.0, 0.0)}
    Image.new("RGB", (3000, 2000), "red").save(made / "beach.jpg", exif=exif)
    Image.new("LA", (40, 30)).save(made / "logo.png")
    (made / "note.md").write_text("A heron stood by the weir.")
    return made


def _unchanged(report: ReadReport) -> int:
    return sum(item.status == "unchanged" for item in report.items)


def _seen(request: Any) -> str:
    return "A red kite over a beach" if "Holiday" in request.prompt else "An empty picture"


def test_what_a_model_sees_is_found_and_asked_once(folder: Path, tmp_path: Path) -> None:
    model = ScriptedModel(_seen)
    with Memory.open(tmp_path / "home", embedder="none", llm=model) as memory:
        report = memory.read(folder)
        assert (len(report.read), report.caption_error) == (3, "")
        (hit,) = memory.search_text("kite").records
        assert hit.record.uri.endswith("beach.jpg")
        media = hit.record.metadata["media"]
        assert (media["caption"], media["captioned_by"]) == (
            "A red kite over a beach", "scripted:model",
        )  # fmt: skip
        assert (hit.record.trust, hit.record.kind) == ("derived", "image")
        assert [request.task for request in model.requests] == ["caption"] * 2
        for request in model.requests:
            (image,) = request.images
            with Image.open(io.BytesIO(image.data)) as shown:
                assert max(shown.size) <= 1024
                assert not shown.getexif()
        assert _unchanged(memory.read(folder)) == 3
        assert len(model.requests) == 2
    # without a model it keeps the caption that it has
    with Memory.open(tmp_path / "home", embedder="none") as memory:
        assert _unchanged(memory.read(folder)) == 3


def test_nobody_is_shown_an_image_where_calls_are_switched_off(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REMLOOM_MODEL_CALLS", "never")
    model = ScriptedModel(_seen)
    with Memory.open(tmp_path / "home", embedder="none", llm=model) as memory:
        report = memory.read(folder)
        assert (len(report.read), report.caption_error) == (3, "")
    assert model.requests == []


def test_an_image_that_the_model_refuses_is_read_and_captioned_later(
    folder: Path, tmp_path: Path
) -> None:
    blind = ScriptedModel({"caption": ModelRefusedError("it sees no images", status=400)})
    with Memory.open(tmp_path / "home", embedder="none", llm=blind) as memory:
        report = memory.read(folder)
        assert len(report.read) == 3
        assert "sees no images" in report.caption_error
    with Memory.open(tmp_path / "home", embedder="none", llm=ScriptedModel(_seen)) as memory:
        report = memory.read(folder)
        assert (len(report.read), _unchanged(report)) == (2, 1)
        assert memory.search_text("kite").records
