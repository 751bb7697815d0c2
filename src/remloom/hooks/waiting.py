"""Transcripts that are to be read: words on disk, so that a resident that ends loses none.

A word says where a session is: client, transcript, folder. It has nothing of what was said.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from .events import Event


class Word(Struct, frozen=True):
    """What the hook left while there was no resident."""

    client: str
    event: str
    payload: dict[str, Any]


class Waiting:
    """The words of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "waiting"
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def put(self, event: Event) -> None:
        """Note an event that has a transcript; one of the same transcript takes its place."""
        noted = msgspec.structs.replace(event, prompt="")
        part = self._path(event).with_suffix(".part")
        try:
            part.write_bytes(msgspec.json.encode(noted))
            part.replace(self._path(event))
        except OSError:
            pass  # a full disk: it is read at the session's next event

    def done(self, event: Event) -> None:
        """Take the word of a transcript away, if it is the one that was read."""
        path = self._path(event)
        noted = msgspec.structs.replace(event, prompt="")
        if _decode(path, Event) == noted:
            path.unlink(missing_ok=True)

    def events(self) -> list[Event]:
        """The events that were noted and not done."""
        found = (_decode(path, Event) for path in self._folder.glob("read-*.json"))
        return [event for event in found if event]

    def words(self) -> Iterator[Word]:
        """Take what hooks have left, the oldest first."""
        for path in sorted(self._folder.iterdir(), key=lambda path: path.name):
            if path.name.startswith("read-"):
                continue
            word = _decode(path, Word)
            path.unlink(missing_ok=True)
            if word:
                yield word

    def _path(self, event: Event) -> Path:
        name = sha256(os.fsencode(f"{event.client}\0{event.transcript}")).hexdigest()[:32]
        return self._folder / f"read-{name}.json"


def _decode(path: Path, kind: Any) -> Any:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.MsgspecError):
        return None
