"""The process in which a memory runs, if it is a class: python -m remloom.bench.worker NAME.

It speaks the protocol of commands, JSON lines on stdin and stdout (see `process`), and measures
each call itself. What the memory prints goes to stderr.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from .data import Document

_IDS, _TEXTS = ("source_ids", "id"), ("content", "text", "memory")


def main() -> None:
    # the memory may print: the answers have a descriptor of their own
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    worker = Worker(sys.argv[1])
    for line in sys.stdin.buffer:
        answer = worker.answer(msgspec.json.decode(line))
        answers.write(msgspec.json.encode(answer, enc_hook=str) + b"\n")
        answers.flush()
    worker.close()


class Worker:
    """The memory of one user at a time, made when its documents come."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._memory: Any = None

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Do what is asked; an error of the memory is an answer, too."""
        operation = asked.pop("op")
        started, cpu = time.perf_counter(), time.process_time()
        try:
            done = self._ingest(**asked) if operation == "ingest" else self._retrieve(**asked)
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}"}
        spent = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu}
        return {**done, **spent}

    def _ingest(
        self, documents: list[dict[str, Any]], user_id: str, folder: str
    ) -> dict[str, Any]:
        self.close()
        self._memory = call_with(class_of(self._name), folder=folder)
        # hooks of the open harness
        for hook in ("initialize", "prepare"):
            if hasattr(self._memory, hook):
                one = {"store_dir": Path(folder), "unit_ids": {user_id}, "reset": True}
                call_with(getattr(self._memory, hook), **one)
        self._memory.ingest(msgspec.convert(documents, list[Document]))
        return {}

    def _retrieve(self, query: str, **options: Any) -> dict[str, Any]:
        found = call_with(self._memory.retrieve, query, **options)
        # the open harness returns its documents, and what they were made of
        if isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], list):
            found = found[0]
        return {"results": [item for one in found or () for item in items_of(one)]}

    def close(self) -> None:
        for hook in ("cleanup", "close"):
            if hasattr(self._memory, hook):
                getattr(self._memory, hook)()
                return


def class_of(name: str) -> Callable[..., Any]:
    """Find the class of a name, or of "package.module:Class".

    Raises:
        ImportError, AttributeError: there is none; a known memory names the package it needs.
    """
    if ":" in name:
        module, _, attribute = name.partition(":")
        return getattr(importlib.import_module(module), attribute)  # type: ignore[no-any-return]
    from .memories import MEMORIES

    kind, package = MEMORIES[name]

    def make(folder: str) -> Any:
        try:
            return call_with(kind, folder=folder)
        except ModuleNotFoundError as error:
            raise ImportError(f"{name} is not installed: pip install {package}") from error

    return make


def call_with(function: Callable[..., Any], *values: Any, **options: Any) -> Any:
    """Call a function with those options that it takes."""
    taken = inspect.signature(function).parameters
    if not any(one.kind is one.VAR_KEYWORD for one in taken.values()):
        options = {name: value for name, value in options.items() if name in taken}
    return function(*values, **options)


def items_of(found: Any) -> Iterator[dict[str, Any]]:
    """Give what was returned as ids with their text: an id alone, an object or a dictionary.

    What has a text and no id, such as a summary, is of no document: its id is "".
    """
    if isinstance(found, str | int):
        yield {"id": str(found), "text": None}
        return
    ids, text = _first(found, _IDS), _first(found, _TEXTS)
    if ids is None and text is None:
        raise TypeError(f"retrieve returned {found!r:.100}, which has neither id nor text")
    # several sources of one text: it is read once
    for id in ids if isinstance(ids, list | tuple) else [ids]:
        yield {"id": "" if id is None else str(id), "text": text}
        text = ""


def _first(found: Any, names: Iterable[str]) -> Any:
    for name in names:
        value = found.get(name) if isinstance(found, dict) else getattr(found, name, None)
        if value not in (None, [], ()):
            return value
    return None


if __name__ == "__main__":
    main()
