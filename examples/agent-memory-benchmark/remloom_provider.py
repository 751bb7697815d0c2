"""Remloom as a provider of agent-memory-benchmark (github.com/vectorize-io/agent-memory-benchmark).

Put this file into `src/memory_bench/memory/` of a checkout, add the class to the `REGISTRY` in
`__init__.py` there, and run `amb run --dataset locomo --split locomo10 --memory remloom`. The
harness answers and judges by a hosted model. `remloom bench` measures the same class without one.
"""

from __future__ import annotations

import json
import shutil
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any

from memory_bench.memory.base import MemoryProvider
from memory_bench.models import Document

from remloom import Memory, Message
from remloom.text.dates import parse


class RemloomMemoryProvider(MemoryProvider):
    """A tenant for each user; every hit comes back under the id of the document that it is from."""

    name = "remloom"
    description = "Embedded memory; hybrid recall without a language model."
    kind = "local"

    def prepare(
        self, store_dir: Path, unit_ids: set[str] | None = None, reset: bool = True
    ) -> None:
        self._home = store_dir / "remloom"
        self._memories: dict[str, Memory] = {}
        self._opening = Lock()
        if reset:
            shutil.rmtree(self._home, ignore_errors=True)

    def cleanup(self) -> None:
        for memory in self._memories.values():
            memory.close()

    def ingest(self, documents: list[Document]) -> None:
        for document in documents:
            memory, at = self._of(document.user_id), parse(document.timestamp)
            if turns := _turns(document):
                said = [Message(speaker=who, text=text, at=at) for who, text in turns]
                memory.read_chat(said, uri=document.id)
            else:
                memory.read_text(document.content, uri=document.id, at=at)

    def retrieve(
        self,
        query: str,
        k: int = 10,
        user_id: str | None = None,
        query_timestamp: str | None = None,
        **others: Any,
    ) -> tuple[list[Document], dict[str, Any] | None]:
        found = self._of(user_id).recall(query, limit=k, now=parse(query_timestamp))
        documents = [
            Document(id=hit.uri, content=hit.content or hit.name, user_id=user_id)
            for hit in found.hits
        ]
        return documents, {"reason": found.reason}

    def _of(self, user: str | None) -> Memory:
        # a tenant's name is narrower than a user's id
        name = f"u{sha256((user or '').encode()).hexdigest()[:16]}"
        with self._opening:
            if name not in self._memories:
                self._memories[name] = Memory.open(self._home, tenant=name)
            return self._memories[name]


def _turns(document: Document) -> list[tuple[str, str]]:
    """The turns of a chat: its messages, or, as of LoCoMo, JSON in its content."""
    turns: Any = document.messages
    if not turns and document.content.startswith("[{"):
        turns = json.loads(document.content)
    return [
        (one.get("name") or one.get("speaker") or one["role"], one.get("content") or one["text"])
        for one in turns or ()
        if one.get("content") or one.get("text")
    ]
