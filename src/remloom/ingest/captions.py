"""Captions: what a model that sees says of images, beside what they say of themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from ..errors import ModelError, RemloomError
from ..sources import Document, Skipped
from ..store.contract import Reads

if TYPE_CHECKING:
    from ..llm import LLM


_TASK = "caption"


class Captions:
    """Has images described while documents are read, several at once.

    A caption is kept with its image: one that was described, and is as it was, is not described
    again, nor loses its caption when no model is set any more.

    Args:
        reads: where it is looked up what was read before.
        open_llm: opens the model when the first image wants one; None: none is asked.
        at_once: images that are described together.

    Attributes:
        error: why images have no caption; empty: all have that should.
    """

    def __init__(self, reads: Reads, open_llm: Callable[[], LLM] | None, at_once: int) -> None:
        self._reads = reads
        self._open_llm = open_llm
        self._at_once = at_once
        self.error = ""

    def add(self, source: Iterable[Document | Skipped]) -> Iterable[Document | Skipped]:
        """Give documents, those of images with their captions; as many as there are, if known."""
        captioned = self._captioned(source)
        return _Counted(captioned, len(source)) if isinstance(source, Sized) else captioned

    def _captioned(self, source: Iterable[Document | Skipped]) -> Iterator[Document | Skipped]:
        rest = iter(source)
        while piece := list(islice(rest, self._at_once)):
            images = [one for one in piece if isinstance(one, Document) and _sha256(one)]
            facts = {image.uri: self._stored(image) for image in images}
            new = [image for image in images if image.preview and not facts[image.uri]]
            facts |= self._ask(new)
            for one in piece:
                is_image = isinstance(one, Document) and one.uri in facts
                yield _with(one, facts[one.uri]) if is_image else one  # type: ignore[arg-type]

    def _stored(self, image: Document) -> dict[str, str]:
        """Give the caption that an image has, if it is the same."""
        for chunk in self._reads.records.chunks(image.uri):
            media = chunk.metadata.get("media", {})
            if media.get("sha256") == _sha256(image) and "caption" in media:
                return {name: media[name] for name in ("caption", "captioned_by")}
        return {}

    def _ask(self, images: Sequence[Document]) -> dict[str, dict[str, str]]:
        if not images or self._open_llm is None or self.error:
            # one refusal is that of all: a model that does not see, a key that is wrong
            return {}
        from ..llm import Call
        from ..llm.contract import Image

        try:
            llm = self._open_llm()
            calls = [
                Call(_TASK, {"facts": image.text}, images=(Image(image.preview),))
                for image in images
            ]
            replies = llm.ask_all(calls)
        except RemloomError as error:
            self.error = str(error)
            return {}
        found = {}
        for image, reply in zip(images, replies, strict=True):
            if isinstance(reply, ModelError):
                self.error = str(reply)
            elif caption := " ".join(reply.split()):
                found[image.uri] = {"caption": caption, "captioned_by": llm.name_of(_TASK)}
        return found


class _Counted:
    """What is iterated over once, and how many there are."""

    def __init__(self, items: Iterator[Any], count: int) -> None:
        self._items = items
        self._count = count

    def __iter__(self) -> Iterator[Any]:
        return self._items

    def __len__(self) -> int:
        return self._count


def _sha256(document: Document) -> str:
    """The digest of an image; empty: it is none."""
    return str(document.metadata.get("media", {}).get("sha256", ""))


def _with(image: Document, facts: dict[str, str]) -> Document:
    """Give an image with its caption, if there is one, and without the preview."""
    if not facts:
        return replace(image, preview=b"")
    return replace(
        image,
        preview=b"",
        text=f"{image.text}\n{facts['caption']}\n",
        metadata={**image.metadata, "media": {**image.metadata["media"], **facts}},
    )
