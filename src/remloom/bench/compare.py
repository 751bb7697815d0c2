"""Memories asked the same questions, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from .data import Dataset, Question
from .process import Answer, MemoryFailedError, MemoryProcess, command_of
from .scores import Group, QuestionScore, differences, group, groups, score


class Unanswered(Struct, frozen=True):
    """How often nothing was returned.

    Attributes:
        questions: that have no answer.
        nothing: the share of them to which nothing was returned.
        nothing_of_others: the share of the questions with an answer to which nothing was.
    """

    questions: int
    nothing: float
    nothing_of_others: float


class Spent(Struct, frozen=True):
    """Of one question, in seconds: the median, and what 95 of 100 stay below."""

    p50: float
    p95: float


class MemoryResult(Struct):
    """What was measured of a memory.

    Attributes:
        overall: None: it failed, for the reason in `problems`, and nothing more is known.
        kinds: by kind of question.
        evidence: by number of pieces of evidence: "1", "2", "3+".
        differences: by measure, the difference to the first memory and its 95 % interval.
        unanswered: None: there are no such questions, or it never returns nothing.
        cpu: None: a command does not tell.
        ingest_seconds: for the documents of all users.
        bytes: on disk; None: it keeps nothing in its folder.
        problems: what went wrong, in words.
    """

    memory: str
    overall: Group | None = None
    kinds: dict[str, Group] = {}
    evidence: dict[str, Group] = {}
    differences: dict[str, tuple[float, float, float]] = {}
    unanswered: Unanswered | None = None
    seconds: Spent | None = None
    cpu: Spent | None = None
    ingest_seconds: float = 0.0
    bytes: int | None = None
    problems: list[str] = []


class Comparison(Struct):
    """Memories on one set of questions.

    Attributes:
        left_out: questions whose evidence is of no document.
        k: ids asked for.
        budget: tokens of the measure "budget".
    """

    data: str
    documents: int
    questions: int
    left_out: int
    k: int
    budget: int
    memories: list[MemoryResult]

    @property
    def failed(self) -> bool:
        return any(one.problems for one in self.memories)


def compare(
    dataset: Dataset,
    memories: Sequence[str],
    *,
    k: int = 20,
    budget: int = 2000,
    deadline: float = 60.0,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Measure memories; one that fails leaves the others as they are.

    Args:
        memories: names, "package.module:Class", or "cmd: COMMAND"; the others are compared with the
            first.
        k: documents to ask for.
        budget: tokens of what was returned that are read.
        deadline: seconds for an answer.
        progress: called with how many of all questions were asked.

    Raises:
        InvalidInputError: no memory has such a name.
    """
    for memory in memories:
        command_of(memory)  # a misspelt name is told before the first is measured
    total = len(memories) * len(dataset.questions)
    results: list[MemoryResult] = []
    first: list[QuestionScore] = []
    for number, memory in enumerate(memories):

        def advance(done: int, before: int = number * len(dataset.questions)) -> None:
            if progress is not None:
                progress(before + done, total)

        advance(0)
        asked = _Asked(memory)
        asked.ask_all(dataset, k, deadline, advance)
        result, scores = asked.result(dataset, budget)
        if number and scores and first:
            result.differences = differences(scores, first)
        first = first if number else scores
        results.append(result)
    documents = sum(map(len, dataset.documents.values()))
    questions, left_out = len(dataset.questions), dataset.left_out
    return Comparison(dataset.name, documents, questions, left_out, k, budget, results)


class _Asked:
    """A memory, and its answers in the order of the questions by user."""

    def __init__(self, memory: str) -> None:
        self._memory = memory
        self._answers: list[tuple[Question, Answer]] = []
        self._ingest_seconds = 0.0
        self._bytes: int | None = None
        self._failure = ""

    def ask_all(
        self, dataset: Dataset, k: int, deadline: float, advance: Callable[[int], None]
    ) -> None:
        process = MemoryProcess(self._memory, deadline=deadline)
        try:
            for user, documents in dataset.documents.items():
                if questions := dataset.of(user):
                    self._ingest_seconds += process.ingest(user, documents)
                for question in questions:
                    self._answers.append((question, process.retrieve(question, k)))
                    advance(len(self._answers))
        except MemoryFailedError as error:
            done = len(self._answers)
            self._failure = f"{error} (after {done:,} of {len(dataset.questions):,} questions)"
        finally:
            self._bytes = process.close()

    def result(self, dataset: Dataset, budget: int) -> tuple[MemoryResult, list[QuestionScore]]:
        if self._failure:
            return MemoryResult(self._memory, problems=[self._failure]), []
        texts = {
            user: {one.id: one.content for one in documents}
            for user, documents in dataset.documents.items()
        }
        scores = [
            score(question, answer, texts[question.user_id], budget)
            for question, answer in self._answers
            if question.gold
        ]
        cpu = [answer.cpu for _, answer in self._answers if answer.cpu is not None]
        result = MemoryResult(
            self._memory,
            overall=group(scores),
            kinds=groups(scores, lambda one: one.kind),
            evidence=groups(scores, lambda one: one.pieces),
            unanswered=self._unanswered(),
            seconds=_spent([answer.seconds for _, answer in self._answers]),
            cpu=_spent(cpu) if cpu else None,
            ingest_seconds=self._ingest_seconds,
            bytes=self._bytes,
            problems=self._problems(texts),
        )
        return result, scores

    def _unanswered(self) -> Unanswered | None:
        # an error is no abstention
        nothing = {
            has_answer: [
                not answer.found and not answer.error
                for question, answer in self._answers
                if bool(question.gold) is has_answer
            ]
            for has_answer in (True, False)
        }
        if not nothing[False] or not any(nothing[True] + nothing[False]):
            return None
        shares = [float(np.mean(nothing[has_answer])) for has_answer in (False, True)]
        return Unanswered(len(nothing[False]), *shares)

    def _problems(self, texts: dict[str, dict[str, str]]) -> list[str]:
        problems = []
        errors = Counter(answer.error for _, answer in self._answers if answer.error)
        if errors:
            [(most, _)] = errors.most_common(1)
            problems.append(
                f"failed at {errors.total():,} of {len(self._answers):,} questions: {most}"
            )
        unknown = [
            id
            for question, answer in self._answers
            for id, _ in answer.found
            if id and id not in texts[question.user_id]
        ]
        if unknown:
            problems.append(
                f"returned {len(unknown):,} ids that none of the user's documents has, "
                f"such as {unknown[0]!r}"
            )
        return problems


def _spent(seconds: Sequence[float]) -> Spent:
    return Spent(*np.percentile(seconds, (50, 95)).tolist())
