"""Does `recall` find the evidence in every domain? One table, of each domain in two halves.

    python -m bench.quality.domains [--domain NAME …] [--page] [--without-late]

* people: LoCoMo, a conversation of two each (`locomo` and `heldout` ask all five);
* assistant: made-up chats of a user with an assistant (see `assistant_chats`), in further sets;
* documents: essays with titles, asked for by title, and by three words of a sentence;
* contracts: CUAD, the clauses that a lawyer looks for;
* passages, foreign: XQuAD, the paragraph with the answer, in English and in German.

Options are chosen by the halves called "chosen" and reported on those called "reported": other
conversations, topics, phrases, essays, contracts and paragraphs. Vectors are kept (see `cached`),
so that the second run takes a minute or two.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from json import loads
from pathlib import Path
from typing import Any

from remloom import Memory, Resource
from remloom.embed.bundled.sentence_embedder import model_card_of
from remloom.predicates import Query
from remloom.retrieve import Recaller
from remloom.text.analysis import STOP_WORDS

from . import assistant_chats, locomo, xquad
from .cached import CachedEmbedder, CachedTokens, Remembered, RememberedLate
from .form import Conversation, Question
from .locomo import ANSWERABLE, Opened, QuestionScore, Run, mean
from .tables import put_into_page

BENCH = Path(__file__).resolve().parents[3] / "shared" / "bench"
CONVERSATIONS = {"chosen": "conv-26", "reported": "conv-30"}  # of LoCoMo
NOW = datetime(2024, 8, 1, tzinfo=UTC)
SEED = 17
ESSAYS = 40
CONTRACTS = 8
LONGEST_CONTRACT = 6_000  # words
ASKED_EVERY = 4  # of the questions of XQuAD
LEAST_WORDS = 16  # of a sentence that is asked for
DEPTH = 20
HEAD = "| domain | half | questions | frac@10 | frac@20 | MRR |\n|" + "---|" * 6
SHOWN = ("BM25", "recall")  # systems of the page, on all halves but those called "chosen"

Search = Callable[[Opened, str], list[str]]


@dataclass
class Domain:
    """The memories of one half of a domain, with their questions."""

    name: str
    half: str
    memories: list[Opened]


class Reading:
    """Memories that are read in for a while; vectors come from the embedder's store."""

    def __init__(
        self, stack: ExitStack, embedder: CachedEmbedder, encoder: CachedTokens | None
    ) -> None:
        self._stack, self._embedder, self._encoder = stack, embedder, encoder
        self._home = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self._count = 0

    def file(self, name: str, text: str) -> Path:
        path = self._home / "files" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def memory(self, read: Callable[[Memory], Any]) -> Memory:
        """A new memory, read in by `read`, that recalls from what it found before."""
        self._count += 1
        memory = Memory.open(
            self._home / "memories",
            tenant=f"d{self._count}",
            embedder=self._embedder,
            token_encoder=self._encoder,
        )
        self._stack.callback(memory.close)
        read(memory)
        memory.embed_pending()
        self.save()
        store: Any = Remembered(memory.admin.store)
        memory._recalling._recallers[self._embedder.name] = Recaller(
            store,
            lambda text, _=None: self._embedder.embed_query(text),
            model_card_of(self._embedder),
            RememberedLate(store, self._encoder) if self._encoder is not None else None,
        )
        return memory

    def save(self) -> None:
        """Keep the vectors for the next run."""
        self._embedder.save()
        if self._encoder is not None:
            self._encoder.save()


# -- domains ---------------------------------------------------------------------------------------


def people(reading: Reading) -> Iterator[Domain]:
    given = {one.id: one for one in locomo.load(locomo.FOLDER)}
    for half, id in CONVERSATIONS.items():
        questions = [asked for asked in given[id].questions if asked.category in ANSWERABLE]
        yield Domain("people", half, [_chat(reading, given[id], questions)])


def assistant(reading: Reading) -> Iterator[Domain]:
    for half in assistant_chats.HALVES:
        chats = assistant_chats.conversations(half)
        yield Domain("assistant", half, [_chat(reading, one, one.questions) for one in chats])


def _chat(reading: Reading, one: Conversation, questions: list[Question]) -> Opened:
    memory = reading.memory(lambda memory: memory.read_chat(one.messages, uri=f"{one.id}.json"))
    return Opened(one.id, memory, questions, one.messages[-1].at)


def documents(reading: Reading) -> Iterator[Domain]:
    files = sorted((BENCH / "milestones").glob("[12]*.md"))
    chance = random.Random(SEED)
    chance.shuffle(files)
    for half, some in (("chosen", files[: ESSAYS // 2]), ("reported", files[ESSAYS // 2 : ESSAYS])):

        def read(memory: Memory, some: Sequence[Path] = some) -> None:
            for file in some:
                memory.read(file, uri=file.name)

        memory = reading.memory(read)
        questions = [asked for file in some for asked in _asked_of_essay(memory, file, chance)]
        yield Domain("documents", half, [Opened(half, memory, questions, NOW)])


def _asked_of_essay(memory: Memory, file: Path, chance: random.Random) -> Iterator[Question]:
    lines = file.read_text(encoding="utf-8").split("\n")
    chunks = _chunks(memory, file.name)
    title = next(line[2:] for line in lines if line.startswith("# "))
    yield Question(f"What was {title}?", "title", frozenset(map(_id, chunks)))
    paragraphs = [(n, line) for n, line in enumerate(lines, 1) if len(line.split()) > LEAST_WORDS]
    for number, paragraph in chance.sample(paragraphs, min(4, len(paragraphs))):
        sentences = re.split(r"(?<=[.!?])\s", paragraph)
        sentence = chance.choice(sentences)
        words = [
            word
            for word in re.findall(r"[^\W\d_]+", sentence)
            if word.casefold() not in STOP_WORDS and not word[0].isupper()
        ]
        if len(sentence.split()) < LEAST_WORDS or len(words) < 6:
            continue
        kept = sorted(chance.sample(range(len(words)), 3))
        gold = _holding(chunks, [number])
        yield Question(
            f"Where does it say something of {' '.join(words[n] for n in kept)}?", "sentence", gold
        )


def contracts(reading: Reading) -> Iterator[Domain]:
    file = BENCH / "cuad" / "contracts-1-60.jsonl"
    given = [loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    fitting = [one for one in given if 1_000 < len(one["text"].split()) < LONGEST_CONTRACT]
    halves = fitting[: CONTRACTS // 2], fitting[CONTRACTS // 2 : CONTRACTS]
    for half, some in zip(("chosen", "reported"), halves, strict=True):
        yield Domain("contracts", half, [_contract(reading, one) for one in some])


def _contract(reading: Reading, given: dict[str, Any]) -> Opened:
    name = f"{re.sub(r'[^A-Za-z0-9]+', '-', given['name'])}.txt"
    path = reading.file(name, given["text"])
    memory = reading.memory(lambda memory: memory.read(path, uri=name))
    chunks = _chunks(memory, name)
    questions = [
        Question(asked["question"], "clause", _holding(chunks, asked["lines"]))
        for asked in given["questions"]
        if asked["lines"]
    ]
    return Opened(name, memory, questions, NOW)


def passages(reading: Reading, language: str = "en", name: str = "passages") -> Iterator[Domain]:
    paragraphs, asked = xquad.load(BENCH / "xquad" / f"xquad.{language}.json")
    middle = len(paragraphs) // 2
    for half, numbers in (
        ("chosen", range(middle)),
        ("reported", range(middle, len(paragraphs))),
    ):
        uri = f"xquad.{half}"
        resources = [Resource(uri=uri, ordinal=n, content=paragraphs[n]) for n in numbers]
        memory = reading.memory(lambda memory, some=resources: memory.write(some))
        questions = [
            Question(text, "passage", frozenset([f"{uri}#{number}"]))
            for text, number in asked[::ASKED_EVERY]
            if number in numbers
        ]
        yield Domain(name, half, [Opened(uri, memory, questions, NOW)])


def foreign(reading: Reading) -> Iterator[Domain]:
    yield from passages(reading, "de", "foreign")


DOMAINS: dict[str, tuple[Path, Callable[[Reading], Iterator[Domain]]]] = {
    "people": (locomo.FOLDER, people),
    "assistant": (assistant_chats.FOLDER, assistant),
    "documents": (BENCH / "milestones", documents),
    "contracts": (BENCH / "cuad", contracts),
    "passages": (BENCH / "xquad", passages),
    "foreign": (BENCH / "xquad", foreign),
}


def read_domains(reading: Reading, names: Sequence[str] = tuple(DOMAINS)) -> Iterator[Domain]:
    """Read the domains whose data are here."""
    for name in names:
        folder, read = DOMAINS[name]
        if folder.exists():
            yield from read(reading)
        else:
            print(f"skipped {name}: there is no {folder}")


def _chunks(memory: Memory, uri: str) -> list[Resource]:
    found = memory.query_resources(Query().order_by("ordinal").limit(10_000))
    return [one for one in found if one.uri == uri]


def _holding(chunks: Sequence[Resource], lines: Sequence[int]) -> frozenset[str]:
    """The chunks with any of these lines."""
    held = []
    for chunk in chunks:
        first, last = chunk.metadata["lines"]
        if any(first <= line <= last for line in lines):
            held.append(_id(chunk))
    return frozenset(held)


def _id(record: Resource) -> str:
    return f"{record.uri}#{record.ordinal}"


# -- measuring -------------------------------------------------------------------------------------


def recalled(**options: Any) -> Search:
    def search(one: Opened, question: str) -> list[str]:
        asked = {"neighbours": 0, "abstain": False, **options}
        hits = one.memory.recall(question, limit=DEPTH, now=one.now, **asked).hits
        return [id for hit in hits for id in _ids(hit.record)]

    return search


def bm25(one: Opened, question: str) -> list[str]:
    hits = one.memory.search_text(question, schema="resources", limit=DEPTH).records
    return [id for hit in hits for id in _ids(hit.record)]


def _ids(record: Any) -> list[str]:
    if not isinstance(record, Resource):
        return []
    return record.metadata.get("message_ids") or [_id(record)]


def ask_all(name: str, domain: Domain, search: Search) -> Run:
    run = Run(name)
    for one in domain.memories:
        for question in one.questions:
            if not question.gold:
                continue
            places = enumerate(search(one, question.text))
            ranks = [place for place, id in places if id in question.gold]
            run.asked.append(QuestionScore(one.id, question.category, ranks, len(question.gold)))
    return run


def measures(some: Sequence[QuestionScore]) -> tuple[float, ...]:
    """frac@10, frac@20 and MRR."""
    return (
        mean(one.frac_at(10) for one in some),
        mean(one.frac_at(20) for one in some),
        mean(one.reciprocal for one in some),
    )


def row(domain: Domain, runs: Sequence[Run]) -> str:
    """What each run measures, side by side: "80.5/85.2"."""
    cells = zip(*(measures(run.asked) for run in runs), strict=True)
    shown = " | ".join(_beside(*values) for values in cells)
    return f"| {domain.name} | {domain.half} | {len(runs[0].asked)} | {shown} |"


def kinds_table(runs: dict[str, list[Run]]) -> str:
    """frac@10 of the chats with an assistant, by kind of question."""
    lines = [f"| | {' | '.join(runs)} |", f"|---|{'---|' * len(runs)}"]
    for kind in assistant_chats.KINDS:
        cells = [
            _beside(*(mean(one.frac_at(10) for one in run.of(kind)) for run in some))
            for some in runs.values()
        ]
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _beside(*values: float) -> str:
    return "/".join(f"{100 * value:.1f}" for value in values)


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--domain", action="append", choices=DOMAINS)
    arguments.add_argument("--embedder", default="minilm")
    for flag in ("--page", "--without-late"):
        arguments.add_argument(flag, action="store_true")
    given = arguments.parse_args()
    systems = {
        "BM25": bm25,
        "recall, fusion rrf": recalled(fusion="rrf"),
        "without late": recalled(exclude=("late",)),
        "without role and guidance": recalled(exclude=("role", "guidance")),
        "recall": recalled(),
    }
    lines = [HEAD]
    kinds: dict[str, list[Run]] = {}
    with ExitStack() as stack:
        encoder = None if given.without_late else CachedTokens()
        reading = Reading(stack, CachedEmbedder(given.embedder), encoder)
        for domain in read_domains(reading, given.domain or tuple(DOMAINS)):
            runs = [ask_all(name, domain, search) for name, search in systems.items()]
            for run in runs:
                print(f"{run.name}: {row(domain, [run])}", flush=True)
            if "chosen" in domain.half:
                continue
            shown = [run for run in runs if run.name in SHOWN]
            lines.append(row(domain, shown))
            if domain.name == "assistant":
                kinds[domain.half] = shown
        reading.save()
    sections = {"domains": "\n".join(lines)}
    if kinds:
        sections["assistant"] = kinds_table(kinds)
        print(f"\n{sections['assistant']}")
    if given.page:
        put_into_page(sections)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
