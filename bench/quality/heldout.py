"""What would the options be, and what would they reach, had one conversation never been seen?

    python -m bench.quality.heldout [FILE or FOLDER] [--page]

For each conversation the options are chosen on the others, one after the other from plain values,
twice round, and what they reach on the one left out is reported beside what they reached where they
were chosen. Every option that was ever turned is in it: the weights, how many records each list
brings, how many turns a turn's context has, and the threshold of doubt. What cannot be undone that
way is that the parts themselves were thought of with these conversations in view.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from remloom.ingest import chats
from remloom.retrieve import abstention, recall

from .cached import CachedEmbedder, CachedTokens
from .locomo import (
    ADVERSARIAL,
    ANSWERABLE,
    FOLDER,
    Opened,
    QuestionScore,
    Run,
    ask_all,
    mean,
    opened,
    recalled,
)
from .tables import put_into_page

OPTIONS: dict[str, tuple[float, ...]] = {  # the first value of each is where the search begins
    "before": (1, 0, 2, 3),
    "after": (0, 1),
    "pool": (40, 60, 100),
    "vector": (1.0, 0.7, 1.3),
    "late": (1.0, 0.6, 1.5),
    "beside late": (0.5, 0.3, 0.75, 1.0),
    "speaker": (0.0, 0.3, 0.5, 0.7),
    "asks": (0.0, -0.15, -0.3),
    "answers": (0.0, 0.3, 0.5, 0.7),
    "time": (0.0, 0.3, 0.8),
}
THRESHOLDS = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9)
LOSS = 1.8  # points of frac@10 that abstaining may cost where the threshold is chosen
ROUNDS = 2

Choice = tuple[tuple[str, float], ...]


@contextmanager
def options(choice: Choice) -> Iterator[None]:
    """Recall with these options; those of reading are `Trials`' affair."""
    given = dict(choice)
    before = dict(recall.WEIGHTS), recall.POOL, recall.WITH_LATE_FACTOR
    recall.POOL = int(given["pool"])
    recall.WITH_LATE_FACTOR = given["beside late"]
    recall.WEIGHTS.update({name: value for name, value in given.items() if name in recall.WEIGHTS})
    try:
        yield
    finally:
        recall.WEIGHTS.update(before[0])
        recall.POOL, recall.WITH_LATE_FACTOR = before[1:]


class Trials:
    """Every choice is tried once, on all conversations; who chooses looks at some of them only."""

    def __init__(
        self, place: Path, embedder: CachedEmbedder, encoder: CachedTokens, stack: ExitStack
    ) -> None:
        self._place, self._stack = place, stack
        self._embedder, self._encoder = embedder, encoder
        self._read: dict[tuple[float, float], list[Opened]] = {}
        self._runs: dict[Choice, Run] = {}

    def conversations(self, choice: Choice) -> list[Opened]:
        given = dict(choice)
        context = given["before"], given["after"]
        if context not in self._read:
            shipped = chats.BEFORE, chats.AFTER
            chats.BEFORE, chats.AFTER = int(context[0]), int(context[1])
            try:
                self._read[context] = self._stack.enter_context(
                    opened(self._place, self._embedder, self._encoder)
                )
            finally:
                chats.BEFORE, chats.AFTER = shipped
            for one in self._read[context]:
                one.questions = [
                    question for question in one.questions if question.category in ANSWERABLE
                ]
        return self._read[context]

    def run(self, choice: Choice) -> Run:
        if choice not in self._runs:
            with options(choice):
                self._runs[choice] = ask_all("", self.conversations(choice), recalled())
            print(
                f"{len(self._runs):3} {_told(choice)}:"
                f" {worth(self._runs[choice].of(*ANSWERABLE)):.2f}",
                flush=True,
            )
        return self._runs[choice]

    def best(self, out: str) -> Choice:
        """The options chosen without the conversation `out`."""
        chosen = {name: values[0] for name, values in OPTIONS.items()}

        def there(choice: dict[str, float]) -> float:
            run = self.run(tuple(choice.items()))
            return worth([one for one in run.of(*ANSWERABLE) if one.conversation != out])

        for _ in range(ROUNDS):
            for name, values in OPTIONS.items():
                chosen[name] = max(values, key=lambda value: there({**chosen, name: value}))
        return tuple(chosen.items())


@dataclass
class Doubted:
    """The questions of all conversations, asked with one threshold of doubt."""

    threshold: float
    run: Run
    free: Run  # the same, never abstaining

    def f1_and_loss(self, ids: set[str]) -> tuple[float, float]:
        wrong, right = self._of(self.run, (ADVERSARIAL,), ids), self._of(self.run, ANSWERABLE, ids)
        said, missed = sum(one.abstained for one in wrong), sum(one.abstained for one in right)
        lost = mean(one.frac_at(10) for one in self._of(self.free, ANSWERABLE, ids)) - mean(
            one.frac_at(10) for one in right
        )
        return 2 * said / max(1, said + missed + len(wrong)), 100 * lost

    @staticmethod
    def _of(run: Run, categories: Sequence[int], ids: set[str]) -> list[QuestionScore]:
        return [one for one in run.of(*categories) if one.conversation in ids]


def doubted(conversations: Sequence[Opened]) -> list[Doubted]:
    def search(one: Opened, question: str, k: int) -> tuple[list[str], bool, int]:
        found = one.memory.recall(question, limit=k, now=one.now, neighbours=0)
        return [id for hit in found.hits for id in hit.message_ids], found.abstained, found.tokens

    free = ask_all("", conversations, recalled())
    shipped, tried = abstention.MISATTRIBUTED, []
    for threshold in THRESHOLDS:
        abstention.MISATTRIBUTED = threshold
        try:
            tried.append(Doubted(threshold, ask_all("", conversations, search), free))
        finally:
            abstention.MISATTRIBUTED = shipped
    return tried


def worth(some: Sequence[QuestionScore]) -> float:
    """What options are chosen by: the mean of frac@10, all@10 and frac@20, in points."""
    return sum(three(some)) / 3


def three(some: Sequence[QuestionScore]) -> tuple[float, float, float]:
    return (
        100 * mean(one.frac_at(10) for one in some),
        100 * mean(one.all_at(10) for one in some),
        100 * mean(one.frac_at(20) for one in some),
    )


def chosen_table(trials: Trials) -> str:
    first = tuple((name, values[0]) for name, values in OPTIONS.items())
    ids = [one.id for one in trials.conversations(first)]
    lines = ["| held out | frac@10 | all@10 | frac@20 |", "|---|---|---|---|"]
    gathered: list[QuestionScore] = []
    for out in ids:
        unseen = trials.run(trials.best(out)).of(*ANSWERABLE, conversation=out)
        gathered += unseen
        print(f"{out}: {_cells(unseen)}", flush=True)
    plain = trials.run(first)
    lines.append(f"| **all, each held out** | {_cells(gathered)} |")
    lines.append(f"| all, plain values | {_cells(plain.of(*ANSWERABLE))} |")
    return "\n".join(lines)


def doubt_table(tried: Sequence[Doubted], ids: Sequence[str]) -> str:
    said = missed = wrong = 0
    lost = count = 0.0
    for out in ids:
        others = set(ids) - {out}

        def fitness(one: Doubted, others: set[str] = others) -> tuple[bool, float]:
            f1, loss = one.f1_and_loss(others)
            return loss <= LOSS, f1

        best = max(tried, key=fitness)
        f1, loss = best.f1_and_loss({out})
        print(f"{out}: threshold {best.threshold}, F1 {f1:.2f}, {loss:.1f} lost", flush=True)
        adversarial, answerable = (
            best.run.of(ADVERSARIAL, conversation=out),
            best.run.of(*ANSWERABLE, conversation=out),
        )
        said += sum(one.abstained for one in adversarial)
        missed += sum(one.abstained for one in answerable)
        wrong += len(adversarial)
        lost += loss * len(answerable)
        count += len(answerable)
    f1 = 2 * said / max(1, said + missed + wrong)
    return f"| F1 | frac@10 lost |\n|---|---|\n| {f1:.2f} | {lost / count:.1f} |"


def _cells(some: Sequence[QuestionScore]) -> str:
    return " | ".join(f"{value:.1f}" for value in three(some))


def _told(choice: Choice) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in choice)


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("place", nargs="?", type=Path, default=FOLDER)
    arguments.add_argument("--page", action="store_true")
    given = arguments.parse_args()
    if not given.place.exists():
        print(f"skipped: there are no conversations in {given.place}")
        return 0
    embedder, encoder = CachedEmbedder(), CachedTokens()
    with ExitStack() as stack:
        trials = Trials(given.place, embedder, encoder, stack)
        sections = {"held-out": chosen_table(trials)}
        print(f"\n{sections['held-out']}", flush=True)
        conversations = stack.enter_context(opened(given.place, embedder, encoder))
        sections["held-out doubt"] = doubt_table(
            doubted(conversations), [one.id for one in conversations]
        )
        print(f"\n{sections['held-out doubt']}", flush=True)
    if given.page:
        put_into_page(sections)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
