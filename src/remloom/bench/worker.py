"""The process in which a memory runs, if it is a class; `main` is run with its name.

It speaks the protocol of commands (see `process`), and measures each call itself. What the memory
prints goes to stderr. With `--check` it answers null if there is such a class, else the names that
there are.
"""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from .data import BenchDocument

_IDS, _TEXTS = ("source_ids", "id"), ("content", "text", "memory")


def main() -> None:
    # the memory may print: the answers have a descriptor of their own
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    if "--check" in sys.argv:
        answers.write(msgspec.json.encode(_known_instead(sys.argv[1])))
        answers.close()
        return
    memory: Any = None
    for line in sys.stdin.buffer:
        asked = msgspec.json.decode(line)
        started, cpu = time.perf_counter(), time.process_time()
        try:
            if asked.pop("op") == "ingest":
                memory = _made(sys.argv[1], **asked)
                answer: dict[str, Any] = {}
            else:
                answer = {"results": list(items_of(call_with(memory.retrieve, **asked)))}
            spent = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu}
            answer |= spent
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}{_where(error)}"}
        answers.write(msgspec.json.encode(answer, enc_hook=str) + b"\n")
        answers.flush()
    for hook in ("close", "cleanup"):
        if hasattr(memory, hook):
            getattr(memory, hook)()


def _made(name: str, documents: list[dict[str, Any]], user_id: str, folder: str) -> Any:
    """Make a memory, and give it the documents."""
    kind = _class_of(name)
    try:
        memory = call_with(kind, folder=folder)
    except ModuleNotFoundError as error:
        needs = getattr(kind, "needs", "")
        raise ImportError(f"{error}: pip install {needs}" if needs else str(error)) from error
    for hook in ("initialize", "prepare"):  # of the open harness
        if hasattr(memory, hook):
            settings = {"store_dir": Path(folder), "unit_ids": {user_id}, "reset": True}
            call_with(getattr(memory, hook), **settings)
    memory.ingest(msgspec.convert(documents, list[BenchDocument]))
    return memory


def _class_of(name: str) -> Callable[..., Any]:
    if ":" not in name:
        from .memories import MEMORIES

        return MEMORIES[name]
    module, _, attribute = name.partition(":")
    return getattr(importlib.import_module(module), attribute)  # type: ignore[no-any-return]


def _known_instead(name: str) -> list[str] | None:
    module, _, attribute = name.partition(":")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not error.name or not f"{module}.".startswith(f"{error.name}."):
            return None  # it lacks another: measuring it says so
        return [f"{file.stem}:{attribute}" for file in Path.cwd().glob("*.py")]
    if hasattr(found, attribute):
        return None
    return [f"{module}:{name}" for name, one in vars(found).items() if inspect.isclass(one)]


def _where(error: Exception) -> str:
    """The last line of the memory's own module that was run."""
    module = sys.modules.get(sys.argv[1].partition(":")[0])
    own = (module and module.__file__) or ""
    frames = [one for one in traceback.extract_tb(error.__traceback__) if one.filename == own]
    return f" ({os.path.relpath(own)}:{frames[-1].lineno}, in {frames[-1].name})" if frames else ""


def call_with(function: Callable[..., Any], **options: Any) -> Any:
    """Call a function with those options that it takes; what it calls otherwise is the first."""
    taken = inspect.signature(function).parameters
    if any(one.kind is one.VAR_KEYWORD for one in taken.values()):
        return function(**options)
    first = [options.pop("query")] if "query" in options else []
    return function(*first, **{name: options[name] for name in taken if name in options})


def items_of(found: Any) -> Iterator[dict[str, Any]]:
    """Give what was returned as ids with their text.

    Each is an id, an object or a dictionary. What has a text and no id, such as a summary, is of no
    document: its id is "". The open harness returns a pair, of which this is the first.
    """
    if isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], list):
        found = found[0]
    if found is None or isinstance(found, str | dict):
        raise TypeError(f"retrieve returned {found!r:.100}: return a list, empty for nothing")
    for one in found:
        if isinstance(one, str | int):
            yield {"id": str(one), "text": None}
            continue
        ids, text = _first(one, _IDS), _first(one, _TEXTS)
        if ids is None and text is None:
            raise TypeError(f"retrieve returned {one!r:.100}, which has neither id nor text")
        # several sources of one text: it is read once
        for id in ids if isinstance(ids, list | tuple) else [ids]:
            yield {"id": "" if id is None else str(id), "text": text}
            text = ""


def _first(found: Any, names: Iterable[str]) -> Any:
    values = (
        found if isinstance(found, dict) else {name: getattr(found, name, None) for name in names}
    )
    return next((values[name] for name in names if values.get(name) not in (None, [], ())), None)
