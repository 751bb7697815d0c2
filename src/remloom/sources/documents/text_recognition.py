"""The text that is to be seen in images, by RapidOCR (extra `ocr`); its models come inside the
package."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ...onnx import load_onnxruntime

if TYPE_CHECKING:
    from PIL.Image import Image


_LARGEST = 2_000  # pixels of a side; larger images are made smaller first
_SURE = 0.6  # least score of a line, 0..1


def is_installed() -> bool:
    """Whether text can be recognised."""
    return find_spec("rapidocr") is not None


def load() -> None:
    """Load the models, and use them once: what they take for that, they keep."""
    from PIL import Image

    recognise(Image.new("RGB", (_LARGEST, _LARGEST), "white"))


def recognise(image: Image) -> str:
    """Return the lines of text in an image, from the top."""
    from PIL import ImageOps

    upright = ImageOps.exif_transpose(image).convert("RGB")
    upright.thumbnail((_LARGEST, _LARGEST))
    found = _engine()(upright)
    lines = zip(found.txts or (), found.scores or (), strict=True)
    return "\n".join(text.strip() for text, score in lines if score >= _SURE and text.strip())


@cache
def _engine() -> Any:
    load_onnxruntime()
    from rapidocr import RapidOCR

    return RapidOCR(params={"Global.log_level": "critical"})
