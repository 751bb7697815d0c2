"""Does `recall` find the turns that answer a question? LoCoMo, at turn level, without a language
model.

    python -m bench.quality.locomo [FILE or FOLDER] [--page] [--without-late]

Reads `../shared/bench/locomo` by default; any file of that JSON form (see `remloom.bench.locomo`)
will do. Shows all@k, frac@k and MRR by category, and tokens, beside BM25 and the bare embedder in
the same run, and how well it abstains from the questions that have no answer (category 5).
`--page` writes the tables into docs/recall-quality.md.
`bench.quality.heldout` chooses the options on some conversations and reports on the others.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from remloom import Memory, Resource
from remloom.embed.bundled.sentence_embedder import model_card_of
from remloom.retrieve import Recaller
from remloom.retrieve.options import for_context
from remloom.retrieve.prompt_context import count_tokens

from .cached import CachedEmbedder, CachedTokens, Remembered, RememberedLate
from .form import Question, load
from .tables import put_into_page

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "bench" / "locomo"
KS = (5, 10, 20)
ANSWERABLE = (1, 2, 3, 4)
ADVERSARIAL = 5


@dataclass
class QuestionScore:
    """A question as it went: where its evidence came, and whether an answer was given."""

    conversation: str
    category: int | str
    ranks: list[int]  # of the evidence found, from 0
    gold: int  # how much evidence there is
    abstained: bool = False
    tokens: int = 0

    def all_at(self, k: int) -> float:
        return float(sum(rank < k for rank in self.ranks) == self.gold)

    def frac_at(self, k: int) -> float:
        return sum(rank < k for rank in self.ranks) / self.gold

    @property
    def reciprocal(self) -> float:
        return 1 / (min(self.ranks) + 1) if self.ranks else 0.0


@dataclass
class Run:
    """The questions of all conversations, asked one way."""

    name: str
    asked: list[QuestionScore] = field(default_factory=list)

    def of(self, *categories: int | str, conversation: str = "") -> list[QuestionScore]:
        return [
            one
            for one in self.asked
            if one.category in categories and conversation in ("", one.conversation)
        ]


def mean(values: Iterator[float]) -> float:
    found = list(values)
    return sum(found) / len(found) if found else float("nan")


HEAD = "| system | frac@10 | all@10 | frac@20 | MRR |"
HEAD_OF_KINDS = f"{HEAD} multi-hop | temporal | open-domain | single-hop | tokens@10 |"
HEAD_OF_CONTEXT = "| tokens of a context | context, all | context, share |"
BUDGET = 2_000  # tokens of a context


def row(run: Run) -> str:
    some = run.of(*ANSWERABLE)
    cells = _cells(
        mean(one.frac_at(10) for one in some),
        mean(one.all_at(10) for one in some),
        mean(one.frac_at(20) for one in some),
        mean(one.reciprocal for one in some),
    )
    return f"| {run.name} | {cells}"


def row_of_kinds(run: Run) -> str:
    """The row of a run, then its frac@10 by kind of question and the tokens of ten hits."""
    kinds = [mean(one.frac_at(10) for one in run.of(category)) for category in ANSWERABLE]
    tokens = mean(float(one.tokens) for one in run.of(*ANSWERABLE))
    return f"{row(run)} {_cells(*kinds)} {tokens:.0f} |"


def _cells(*values: float) -> str:
    return " ".join("– |" if isnan(value) else f"{100 * value:.1f} |" for value in values)


def table(head: str, rows: Iterable[str]) -> str:
    return "\n".join([head, "|---" * (head.count("|") - 1) + "|", *rows])


@dataclass
class Opened:
    """A conversation that was read, and its questions."""

    id: str
    memory: Memory
    questions: list[Question]
    now: Any


Search = Callable[[Opened, str, int], tuple[list[str], bool, int]]


def ask_all(name: str, conversations: Sequence[Opened], search: Search) -> Run:
    run = Run(name)
    for opened in conversations:
        for question in opened.questions:
            if question.gold or question.category == ADVERSARIAL:
                found, abstained, tokens = search(opened, question.text, max(KS))
                ranks = [place for place, id in enumerate(found) if id in question.gold]
                run.asked.append(
                    QuestionScore(
                        opened.id, question.category, ranks, len(question.gold), abstained, tokens
                    )
                )
    return run


def recalled(**options: Any) -> Search:
    """`Memory.recall` with these options; abstentions are noted, and scored all the same."""

    def search(opened: Opened, question: str, k: int) -> tuple[list[str], bool, int]:
        asked = {"neighbours": 0, "abstain": False, **options}
        found = opened.memory.recall(question, limit=k, now=opened.now, **asked)
        written = sum(count_tokens(hit.content, None) for hit in found.hits[:10])
        return [id for hit in found.hits for id in hit.message_ids], False, written

    return search


def in_context(opened: Opened, question: str, **options: Any) -> set[str]:
    """The ids of the turns in a context, those beside a hit as well."""
    changes: Any = {"now": opened.now, "abstain": False, "budget_tokens": BUDGET, **options}
    hits = opened.memory.recall(question, for_context(None, changes)).hits
    records = [record for hit in hits for record in (*hit.before, hit.record, *hit.after)]
    return {id for one in records if isinstance(one, Resource) for id in one.message_ids}


def context_table(conversations: Sequence[Opened]) -> str:
    """How much of the evidence a context has."""
    shares = [
        len(question.gold & in_context(opened, question.text)) / len(question.gold)
        for opened in conversations
        for question in opened.questions
        if question.gold and question.category in ANSWERABLE
    ]
    cells = _cells(mean(float(share == 1) for share in shares), mean(iter(shares)))
    return table(HEAD_OF_CONTEXT, [f"| {BUDGET:,} | {cells}"])


def bm25(opened: Opened, question: str, k: int) -> tuple[list[str], bool, int]:
    """The words alone, of turns with what they are understood by."""
    hits = opened.memory.search_text(question, schema="resources", limit=k).records
    return [id for hit in hits for id in hit.message_ids], False, 0


def plain_bm25(opened: Opened, question: str, k: int) -> tuple[list[str], bool, int]:
    """BM25 over "speaker: text" of each turn, nothing else."""
    index = _plain(opened)
    return [index[1][number - 1] for number, _ in index[0].search(question, limit=k)], False, 0


def bare_embedder(opened: Opened, question: str, k: int) -> tuple[list[str], bool, int]:
    """The embedder over "speaker: text" of each turn, nothing else."""
    _, ids, matrix, embedder = _plain(opened)
    scores = matrix @ embedder.embed_query(question)
    return [ids[i] for i in np.argsort(-scores, kind="stable")[:k]], False, 0


_plains: dict[str, Any] = {}


def _plain(opened: Opened) -> Any:
    if opened.id not in _plains:
        from remloom.predicates import Query
        from remloom.store.indexes.bm25 import TermIndex

        turns = opened.memory.query_resources(Query().order_by("ordinal"))
        texts = [f"{turn.metadata['speaker']}: {turn.content}" for turn in turns]
        index = TermIndex()
        index.add(list(range(1, len(texts) + 1)), texts)  # ids begin at 1
        embedder = opened.memory.admin.embedder
        _plains[opened.id] = (
            index,
            [turn.metadata["message_ids"][0] for turn in turns],
            embedder.embed_documents(texts),
            embedder,
        )
    return _plains[opened.id]


@contextmanager
def opened(
    place: Path, embedder: CachedEmbedder, encoder: CachedTokens | None = None
) -> Iterator[list[Opened]]:
    """Every conversation read into a memory of its own; without an encoder there is no late
    interaction."""
    with tempfile.TemporaryDirectory() as home:
        found = []
        for number, conversation in enumerate(load(place)):
            memory = Memory.open(
                home, tenant=f"c{number}", embedder=embedder, token_encoder=encoder
            )
            memory.read_chat(conversation.messages, uri=f"{conversation.id}.json")
            memory.embed_pending()
            store: Any = Remembered(memory.admin.store)
            late = RememberedLate(store, encoder) if encoder is not None else None
            memory._recalling._recallers[embedder.name] = Recaller(
                store,
                lambda text, _=None: embedder.embed_query(text),
                model_card_of(embedder),
                late,
            )
            found.append(
                Opened(
                    conversation.id, memory, conversation.questions, conversation.messages[-1].at
                )
            )
        caches = [cache for cache in (embedder, encoder) if cache is not None]
        for cache in caches:
            cache.save()
        yield found
        for cache in caches:
            cache.save()
        for one in found:
            one.memory.close()


# -- abstention ------------------------------------------------------------------------------------


def abstention(conversations: Sequence[Opened]) -> str:
    """How well `recall` tells the questions that have no answer, and what that costs those that
    have."""

    def search(one: Opened, question: str, k: int) -> tuple[list[str], bool, int]:
        found = one.memory.recall(question, limit=k, now=one.now, neighbours=0)
        return [id for hit in found.hits for id in hit.message_ids], found.abstained, found.tokens

    strict = ask_all("abstaining", conversations, search)
    free = ask_all("answering", conversations, recalled())
    wrong, right = strict.of(ADVERSARIAL), strict.of(*ANSWERABLE)
    said, missed = sum(one.abstained for one in wrong), sum(one.abstained for one in right)
    precision, recall = said / max(1, said + missed), said / max(1, len(wrong))
    f1 = 2 * precision * recall / max(1e-9, precision + recall)
    kept = mean(one.frac_at(10) for one in free.of(*ANSWERABLE))
    lost = kept - mean(one.frac_at(10) for one in right)
    cells = f"{precision:.2f} | {recall:.2f} | {f1:.2f} | {100 * lost:.1f}"
    return f"| precision | recall | F1 | frac@10 lost |\n|---|---|---|---|\n| {cells} |"


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("place", nargs="?", type=Path, default=FOLDER)
    arguments.add_argument("--embedder", default="minilm")
    for flag in ("--page", "--without-late"):
        arguments.add_argument(flag, action="store_true")
    given = arguments.parse_args()
    if not given.place.exists():
        print(f"skipped: there are no conversations in {given.place}")
        return 0
    embedder = CachedEmbedder(given.embedder)
    encoder = None if given.without_late else CachedTokens()
    with opened(given.place, embedder, encoder) as conversations:
        runs = [
            ask_all("BM25, each turn alone", conversations, plain_bm25),
            ask_all("embedder, each turn alone", conversations, bare_embedder),
            ask_all("BM25, turns with context", conversations, bm25),
            ask_all("**recall**", conversations, recalled()),
        ]
        sections = {"locomo": table(HEAD_OF_KINDS, map(row_of_kinds, runs))}
        print(sections["locomo"], flush=True)
        sections["context"] = context_table(conversations)
        print(f"\n{sections['context']}", flush=True)
        sections["abstention"] = abstention(conversations)
        print(f"\n{sections['abstention']}", flush=True)
    if given.page:
        put_into_page(sections)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
