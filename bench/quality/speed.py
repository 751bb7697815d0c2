"""How many questions a second does `recall` answer in a large memory? The vector is given:
embedding is apart.

    python -m bench.quality.speed [records …] [--questions N] [--home FOLDER] [--profile] [--page]

Half of the records are passages of documents, with edges to the names they mention; half are turns
of chats, with windows for their sentences. Of the questions one is plain, one has a name in it, one
a speaker of the chats, and one a month. Token vectors of texts are made up, those of questions are
the bundled encoder's, made anew each time. `--home` keeps the memory for the next run; `--profile`
shows where the time goes. CPU is that of all threads.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from remloom import Edge, Entity, Memory, Message, Resource
from remloom.embed import FunctionEmbedder
from remloom.embed.bundled.colbert import ColbertSmall

from ..data import names, questions, texts, vectors
from .tables import put_into_page

BATCH = 5_000
KNOWN = 5_000  # names
SPEAKERS = 40  # of the chats, two each
CHAT = 500  # turns
SESSION = 25  # turns
BEGAN = datetime(2023, 1, 2, 9, tzinfo=UTC)
HEAD = "| records | asked | questions/s | p50 ms | p99 ms | CPU ms a question |"
WAYS: dict[str, dict[str, Any]] = {
    "without late interaction": {"exclude": ["late"]},
    "the same, iterated, 2 hops": {"exclude": ["late"], "mode": "iterated"},
    "with late interaction": {},
}
WORD_TOKENS = 1.5  # vectors that are kept of a word
SHOWN = 30  # functions of a profile


class Numbered:
    """Vectors in clusters, for whatever text comes: as if an embedder had made them."""

    def __init__(self, total: int) -> None:
        self._total, self._next = total, 1_000_000

    def __call__(self, some: list[str]) -> Any:
        self._next += len(some)
        return vectors(len(some), start=self._next, total=self._total)


class NumberedTokens(ColbertSmall):
    """As many token vectors of a text as the model makes, and real ones of a question."""

    def __init__(self) -> None:
        super().__init__()
        self.name = "numbered"
        self._rng = np.random.default_rng(13)

    def encode_documents(self, texts: Sequence[str]) -> list[Any]:
        counts = [round(WORD_TOKENS * len(text.split())) for text in texts]
        return [
            np.clip(self._rng.normal(0, 16, (count, self.dims)), -127, 127).astype(np.int8)
            for count in counts
        ]


def passages(size: int) -> Iterator[Resource | Edge | Entity]:
    known, rng = names(KNOWN), np.random.default_rng(11)
    yield from (Entity(name=name, type="person") for name in known)
    for number, text in enumerate(texts(size)):
        if number % BATCH == 0:
            block = vectors(min(BATCH, size - number), start=number, total=size)
        named = [known[int(rng.integers(KNOWN))] for _ in range(2)]
        name = f"chunk {number}"
        yield Resource(
            name=name, content=text, embedding=block[number % BATCH], related_entities=tuple(named)
        )
        yield from (Edge(src=name, rel_type="mentions", dst=one, weight=0.3) for one in named)
        if number % 20:
            yield Edge(src=name, rel_type="next", dst=f"chunk {number + 1}")


def chats(size: int) -> Iterator[list[Message]]:
    speakers = names(SPEAKERS, seed=17)
    said = texts(size, words=25, seed=9)
    for number in range(0, size, CHAT):
        first = 2 * (number // CHAT) % SPEAKERS
        yield [
            Message(
                speaker=speakers[first + turn % 2],
                text=text,
                id=f"{number}-{turn}",
                at=BEGAN + timedelta(days=number // CHAT + turn // SESSION, minutes=turn % SESSION),
            )
            for turn, text in zip(range(min(CHAT, size - number)), said, strict=False)
        ]


def fill(memory: Memory, size: int) -> None:
    """Write `size` records, half of them passages and half turns."""
    waiting: list[Resource | Edge | Entity] = []
    for item in passages(size - size // 2):
        waiting.append(item)
        if len(waiting) >= BATCH:
            memory.write(waiting)
            waiting.clear()
    memory.write(waiting)
    for number, messages in enumerate(chats(size // 2)):
        memory.read_chat(messages, uri=f"chats/{number}.json")
    memory.embed_pending()
    memory.admin.optimize()


def asked_of(size: int, count: int) -> list[tuple[str, Any]]:
    """Questions, each with its vector."""
    corpus = list(texts(2_000))
    known, speakers = names(KNOWN), names(SPEAKERS, seed=17)
    asked = questions(count, corpus, words=5)
    forms = (
        lambda number, text: text,
        lambda number, text: f"{text} {known[number % KNOWN]}",
        lambda number, text: f"What did {speakers[number % SPEAKERS]} say about {text}?",
        lambda number, text: f"What about {text} in {1 + number % 9}/2023?",
    )
    near = vectors(count, start=7, total=size)
    return [
        (forms[number % len(forms)](number, text), vector)
        for number, (text, vector) in enumerate(zip(asked, near, strict=True))
    ]


def timed(memory: Memory, asked: Sequence[tuple[str, Any]], options: dict[str, Any]) -> str:
    """The cells of one row."""
    spent = []
    busy = time.process_time()
    for text, vector in asked:
        began = time.perf_counter()
        memory.recall(text, vector=vector, **options)
        spent.append(time.perf_counter() - began)
    busy = 1000 * (time.process_time() - busy) / len(spent)
    p50, p99 = (1000 * float(np.percentile(spent, share)) for share in (50, 99))
    return f"{len(spent) / sum(spent):.0f} | {p50:.1f} | {p99:.1f} | {busy:.1f}"


def show_profile(memory: Memory, asked: Sequence[tuple[str, Any]]) -> None:
    profile = cProfile.Profile()
    with profile:
        timed(memory, asked, WAYS["without late interaction"])
    pstats.Stats(profile).sort_stats("tottime").print_stats(SHOWN)


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("records", nargs="*", type=int)
    arguments.add_argument("--questions", type=int, default=1_000)
    arguments.add_argument("--home", type=Path, help="keeps the memories; default a scratch folder")
    for flag in ("--profile", "--page"):
        arguments.add_argument(flag, action="store_true")
    given = arguments.parse_args()
    lines = [HEAD, "|---" * (HEAD.count("|") - 1) + "|"]
    with ExitStack() as stack:
        home = given.home or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        for size in given.records or (1_000, 10_000, 100_000):
            embedder = FunctionEmbedder("numbered", Numbered(size), dims=384)
            memory = stack.enter_context(
                Memory.open(
                    home,
                    tenant=f"speed-{size}",
                    embedder=embedder,
                    token_encoder=NumberedTokens(),
                    key="5e" * 32,
                )
            )
            if not memory.admin.stats().keys:
                fill(memory, size)
            # none is asked twice: what is remembered of a question helps no other
            asked = iter(asked_of(size, given.questions * (1 + len(WAYS))))
            timed(memory, list(islice(asked, given.questions)), {})  # warm
            for way, options in WAYS.items():
                row = timed(memory, list(islice(asked, given.questions)), options)
                lines.append(f"| {size:,} | {way} | {row} |")
                print(lines[-1], flush=True)
            if given.profile:
                show_profile(memory, asked_of(size, given.questions))
    if given.page:
        put_into_page({"speed": "\n".join(lines)})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
