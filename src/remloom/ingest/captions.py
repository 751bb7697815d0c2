"""Captions: what a model that sees says of images, besides what they say of themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ..errors import ModelError, RemloomError
from ..sources import Document, Skipped
from ..store.contract import Reads

if TYPE_CHECKING:
    from ..llm import LLM


_TASK = "caption"


class Captions:
    """Has images described while documents are read, `at_once` together.

    An image that was described, and is as it was, keeps its caption, even when no model is set any
    more. `open_llm` is called when the first image wants one; None: none is asked. `error` says why
    images have no caption.
    """

    def __init__(self, reads: Reads, open_llm: Callable[[], LLM] | None, at_once: int) -> None:
        self._reads = reads
        self._open_llm = open_llm
        self._at_once = at_once
        self.error = ""

    def add(self, source: Iterable[Document | Skipped]) -> Iterator[Document | Skipped]:
        """Give documents, those of images with their captions."""
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


def _sha256(document: Document) -> str:
    """The digest of an image; empty: it is none."""
    return str(document.metadata.get("media", {}).get("sha256", ""))


def _with(image: Document, facts: dict[str, str]) -> Document:
    """An image without its preview, and with its caption if there is one."""
    if not facts:
        return replace(image, preview=b"")
    return replace(
        image,
        preview=b"",
        text=f"{image.text}\n{facts['caption']}\n",
        metadata={**image.metadata, "media": {**image.metadata["media"], **facts}},
    )
