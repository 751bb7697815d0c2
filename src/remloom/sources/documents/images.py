"""Images as documents: what they say of themselves in words (extra `images`).

That is their description, title, keywords, place, time and camera, as EXIF, IPTC and the text of
PNG have them; and, where the extra `ocr` is installed, the text that is to be seen in them.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ...errors import SourceError
from ...local_models import load_onnxruntime
from ...text import dates
from ..document import Document, File

if TYPE_CHECKING:
    from PIL.Image import Exif, Image
    from PIL.ImageFile import ImageFile

MEDIA_TYPES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".tif": "image/tiff",
    ".tiff": "image/tiff",
    ".bmp": "image/bmp",
}
# no other parser of Pillow's sees the file of a stranger
_FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP")

_PREVIEW = 1_024  # pixels of its longer side
_LONGEST = 20_000  # characters of one statement
_EXIF_IFD, _GPS_IFD = 0x8769, 0x8825
_DESCRIPTION, _MAKE, _MODEL, _DATE, _ARTIST = 0x010E, 0x010F, 0x0110, 0x0132, 0x013B
_XP_TITLE, _XP_COMMENT, _XP_KEYWORDS = 0x9C9B, 0x9C9C, 0x9C9E
_TAKEN, _OFFSET, _COMMENT = 0x9003, 0x9011, 0x9286
_LATITUDE, _LONGITUDE, _AREA = 2, 4, 28
_IPTC_TITLE, _IPTC_HEADLINE, _IPTC_CAPTION, _IPTC_KEYWORDS = (2, 5), (2, 105), (2, 120), (2, 25)
_IPTC_PLACES = ((2, 92), (2, 90), (2, 95), (2, 101))  # from the nearest to the country
_ENCODED = 8  # bytes that name the encoding of a comment


_LARGEST = 2_000  # pixels of a side; larger images are made smaller first
_SURE = 0.6  # least score of a line, 0..1


def is_installed() -> bool:
    """Whether images can be read."""
    return find_spec("PIL") is not None


def load() -> None:
    """Import what reads images, if it is installed."""
    from PIL import Image

    Image.preinit()
    if _can_recognise_text():
        # what the models take when they are first used, they keep
        _recognise_text(Image.new("RGB", (_LARGEST, _LARGEST), "white"))


def convert(file: File) -> Document:
    """Make a document of an image, which is decoded so that a broken one is not taken for whole."""
    from PIL import Image, UnidentifiedImageError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # of a file that unpacks to gigabytes
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(io.BytesIO(file.data), formats=_FORMATS) as image:
                image.load()
                facts = _facts(image)
                seen = _recognise_text(image) if _can_recognise_text() else ""
                media: dict[str, Any] = {
                    "path": file.uri,
                    "sha256": sha256(file.data).hexdigest(),
                    "mime": image.get_format_mimetype() or MEDIA_TYPES[file.suffix],
                    "width": image.width,
                    "height": image.height,
                }
        except UnidentifiedImageError as error:
            raise SourceError(f"named {file.suffix} but it is no image", uri=file.uri) from error
        except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
            limit = f"{Image.MAX_IMAGE_PIXELS or 0:,}"
            raise SourceError(f"an image of more than {limit} pixels", uri=file.uri) from error
        except (OSError, SyntaxError, ValueError) as error:
            reason = str(error).partition("\n")[0][:200] or type(error).__name__
            raise SourceError(f"an image that cannot be read: {reason}", uri=file.uri) from error
    at = dates.parse(facts.pop("at", None))
    author = facts.pop("author", "")
    title = facts.pop("title", "") or file.title
    return Document(
        uri=file.uri,
        title=title,
        text=_text(title, facts, seen),
        lined=False,
        media_type=media["mime"],
        category="image",
        at=at,
        authors=(author,) if author else (),
        metadata={"media": media},
    )


def preview(data: bytes) -> bytes:
    """Make a JPEG of an image that can be read: upright, 1,024 pixels long at most, and without
    what the file says of itself, such as the place."""
    from PIL import Image, ImageOps

    with Image.open(io.BytesIO(data), formats=_FORMATS) as image:
        image.draft("RGB", (_PREVIEW, _PREVIEW))
        image.thumbnail((_PREVIEW, _PREVIEW))
        seen = ImageOps.exif_transpose(image).convert("RGBA")
    # what is transparent is seen on white
    ground = Image.new("RGBA", seen.size, "white")
    ground.alpha_composite(seen)
    written = io.BytesIO()
    ground.convert("RGB").save(written, "JPEG", quality=85)
    return written.getvalue()


def _text(title: str, facts: Mapping[str, str], seen: str) -> str:
    """Write what an image says: its title, a line for each fact, then the text to be seen."""
    named = [name for name in ("keywords", "place", "camera") if facts.get(name)]
    lines = [title, facts.get("description", "")]
    lines += [f"{name.capitalize()}: {facts[name]}" for name in named]
    lines.append(seen)
    return "\n\n".join(dict.fromkeys(line for line in lines if line)) + "\n"


def _facts(image: ImageFile) -> dict[str, str]:
    """Read what an image says of itself; of two that say the same thing the first counts."""
    facts: dict[str, str] = {}
    for name, value in (*_exif_facts(image.getexif()), *_iptc_facts(image), *_png_facts(image)):
        text = " ".join(value.replace("\0", " ").split())[:_LONGEST]
        if text:
            facts.setdefault(name, text)
    return facts


def _exif_facts(exif: Exif) -> Iterator[tuple[str, str]]:
    details = exif.get_ifd(_EXIF_IFD)
    yield "title", _wide(exif.get(_XP_TITLE))
    yield "description", _plain(exif.get(_DESCRIPTION))
    yield "description", _wide(exif.get(_XP_COMMENT))
    yield "description", _comment(details.get(_COMMENT))
    yield "keywords", _wide(exif.get(_XP_KEYWORDS)).replace(";", ", ")
    yield "author", _plain(exif.get(_ARTIST))
    make, model = _plain(exif.get(_MAKE)), _plain(exif.get(_MODEL))
    yield "camera", model if model.startswith(make) else f"{make} {model}"
    yield "at", _time(_plain(details.get(_TAKEN)), _plain(details.get(_OFFSET)))
    yield "at", _time(_plain(exif.get(_DATE)), "")
    yield "place", _place(exif.get_ifd(_GPS_IFD))


def _iptc_facts(image: ImageFile) -> Iterator[tuple[str, str]]:
    from PIL import IptcImagePlugin

    found: Mapping[tuple[int, int], Any] = {}
    # what is broken there says nothing; the image itself is whole
    with suppress(Exception):
        found = IptcImagePlugin.getiptcinfo(image) or {}
    yield "title", _plain(found.get(_IPTC_HEADLINE)) or _plain(found.get(_IPTC_TITLE))
    yield "description", _plain(found.get(_IPTC_CAPTION))
    yield "keywords", _plain(found.get(_IPTC_KEYWORDS))
    places = [_plain(found.get(tag)) for tag in _IPTC_PLACES]
    yield "place", ", ".join(filter(None, places))


def _png_facts(image: ImageFile) -> Iterator[tuple[str, str]]:
    names = {
        "Title": "title",
        "Description": "description",
        "Comment": "description",
        "comment": "description",
        "Author": "author",
        "Creation Time": "at",
    }
    for name, fact in names.items():
        yield fact, _plain(image.info.get(name))


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(filter(None, map(_plain, value)))
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return value.strip("\0 \n") if isinstance(value, str) else ""


def _wide(value: Any) -> str:
    """Read a statement of Windows, in UTF-16."""
    if isinstance(value, tuple):
        value = bytes(value)
    return _plain(value.decode("utf-16-le", "replace")) if isinstance(value, bytes) else ""


def _comment(value: Any) -> str:
    """Read the comment of EXIF: its encoding, then the text."""
    if not isinstance(value, bytes):
        return _plain(value)
    encoding = "utf-16-be" if value.startswith(b"UNICODE") else "utf-8"
    return _plain(value[_ENCODED:].decode(encoding, "replace"))


def _time(text: str, offset: str) -> str:
    """Write a time of EXIF ("2024:05:01 10:00:00") as ISO 8601."""
    day, _, clock = text.partition(" ")
    return f"{day.replace(':', '-')}T{clock}{offset}" if clock and day[:4].strip("0") else ""


def _place(gps: Mapping[int, Any]) -> str:
    """Name the place, where it is named, and its coordinates."""
    parts = [_comment(gps.get(_AREA))]
    with suppress(TypeError, ValueError, ZeroDivisionError, IndexError):
        ways = (_plain(gps.get(_LATITUDE - 1)) or "N", _plain(gps.get(_LONGITUDE - 1)) or "E")
        places = [_degrees(gps[tag]) for tag in (_LATITUDE, _LONGITUDE) if tag in gps]
        if len(places) == 2:
            parts.append(f"{places[0]:.4f}° {ways[0]}, {places[1]:.4f}° {ways[1]}")
    return ", ".join(filter(None, parts))


def _degrees(parts: Any) -> float:
    degrees, minutes, seconds = (float(part) for part in parts)
    return degrees + minutes / 60 + seconds / 3600


def _can_recognise_text() -> bool:
    return find_spec("rapidocr") is not None


def _recognise_text(image: Image) -> str:
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
