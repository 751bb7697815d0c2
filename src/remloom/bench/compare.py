"""Memories asked the same questions, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from msgspec import Struct

from .data import Dataset
from .process import MemoryFailedError, MemoryProcess, command_of
from .scores import MemoryAnswer, differences, means, score
from .worker import items_of

INGEST_FACTOR = 30  # times the deadline of an answer is that of taking a user's documents


class MemoryResult(Struct):
    """What was measured of a memory; where it failed, only its `problems`.

    Attributes:
        overall, kinds, evidence: shares by measure, and `questions`: of all, by kind of question,
            by pieces of evidence ("1", "2", "3+").
        differences: by measure, the difference to the first memory and its 95 % interval.
        nothing: the share of questions to which nothing was returned, of those without an answer
            and of the others; None: it always returns something.
        seconds, cpu: p50 and p95 of a question; a command tells no `cpu`.
        ingest_seconds: for the documents of all users.
        bytes: on disk; None: it keeps nothing in its folder.
    """

    memory: str
    problems: list[str] = []
    overall: dict[str, float] = {}
    kinds: dict[str, dict[str, float]] = {}
    evidence: dict[str, dict[str, float]] = {}
    differences: dict[str, tuple[float, float, float]] = {}
    nothing: tuple[float, float] | None = None
    seconds: tuple[float, float] | None = None
    cpu: tuple[float, float] | None = None
    ingest_seconds: float = 0.0
    bytes: int | None = None


class BenchResult(Struct):
    """Memories on one set of questions.

    Attributes:
        left_out: questions whose evidence is of no document.
        k: documents asked for.
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
    k: int = 50,
    budget: int = 2000,
    deadline: float = 60.0,
    progress: Callable[[int, int], None] | None = None,
) -> BenchResult:
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
    results: list[MemoryResult] = []
    all_scores: list[list[list[float]]] = []
    asked = len(dataset.questions)
    for number, memory in enumerate(memories):
        result = MemoryResult(memory)
        answers: list[MemoryAnswer] = []
        try:
            for answer in _answers(result, dataset, k, deadline):
                answers.append(answer)
                if progress is not None:
                    progress(number * asked + len(answers), len(memories) * asked)
            all_scores.append(_measure(result, answers, dataset, budget))
            if number and all_scores[0]:
                result.differences = differences(all_scores[-1], all_scores[0])
        except MemoryFailedError as error:
            where = f"after {len(answers):,} of {asked:,} questions"
            result = MemoryResult(memory, problems=[f"{error} ({where})"])
            all_scores.append([])
        results.append(result)
    documents = sum(map(len, dataset.documents.values()))
    return BenchResult(dataset.name, documents, asked, dataset.left_out, k, budget, results)


def _answers(
    result: MemoryResult, dataset: Dataset, k: int, deadline: float
) -> Iterator[MemoryAnswer]:
    """Ask all questions, those of each user of a process with that user's documents."""
    for user, documents in dataset.documents.items():
        questions = [one for one in dataset.questions if one.user_id == user]
        if not questions:
            continue
        with TemporaryDirectory(prefix="remloom-bench-") as folder:
            kept = Path(folder, "kept")
            kept.mkdir()
            process = MemoryProcess(result.memory, Path(folder, "stderr"))
            try:
                given = {"op": "ingest", "user_id": user, "folder": kept, "documents": documents}
                done = process.ask(given, INGEST_FACTOR * deadline)
                if "error" in done:
                    raise MemoryFailedError(f"could not take the documents: {done['error']}")
                result.ingest_seconds += done["seconds"]
                for one in questions:
                    asked = {"op": "retrieve", "query": one.text, "k": k, "user_id": user}
                    done = process.ask({**asked, "query_timestamp": one.asked_at}, deadline)
                    error, items = done.get("error", ""), []
                    try:
                        items = [] if error else list(items_of(done["results"]))
                    except (KeyError, TypeError) as problem:
                        error = f"an answer without results: {problem}"
                    found = [(item["id"], item["text"]) for item in items]
                    yield MemoryAnswer(one, found, done["seconds"], done.get("cpu"), str(error))
            finally:
                process.close()
            size = sum(file.stat().st_size for file in kept.rglob("*") if file.is_file())
            result.bytes = (result.bytes or 0) + size or None


def _measure(
    result: MemoryResult, answers: Sequence[MemoryAnswer], dataset: Dataset, budget: int
) -> list[list[float]]:
    """Fill in what the answers tell; gives the scores of those to questions that have an answer."""
    texts = {
        user: {one.id: one.content for one in documents}
        for user, documents in dataset.documents.items()
    }
    answered = [one for one in answers if one.question.gold]
    scores = [score(one, texts[one.question.user_id], budget) for one in answered]
    result.overall = means(scores)
    for groups, names in (
        (result.kinds, [one.question.kind for one in answered]),
        (result.evidence, [one.pieces for one in answered]),
    ):
        for name in sorted(set(names)):
            pairs = zip(scores, names, strict=True)
            groups[name] = means([values for values, own in pairs if own == name])
    empty = {
        has_answer: [
            # an error is no abstention
            not one.found and not one.error
            for one in answers
            if bool(one.question.gold) is has_answer
        ]
        for has_answer in (False, True)
    }
    if empty[False] and any(empty[False] + empty[True]):
        result.nothing = (float(np.mean(empty[False])), float(np.mean(empty[True])))
    result.seconds = _spread([one.seconds for one in answers])
    cpu = [one.cpu for one in answers if one.cpu is not None]
    result.cpu = _spread(cpu) if cpu else None
    errors = Counter(one.error for one in answers if one.error)
    for error, _ in errors.most_common(1):
        count = f"{errors.total():,} of {len(answers):,} questions"
        result.problems.append(f"failed at {count}: {error}")
    returned = ((one.question.user_id, id) for one in answers for id, _ in one.found)
    if unknown := [id for user, id in returned if id and id not in texts[user]]:
        such = f"such as {unknown[0]!r}"
        result.problems.append(f"returned {len(unknown):,} ids of no document of the user, {such}")
    return scores


def _spread(seconds: Sequence[float]) -> tuple[float, float]:
    p50, p95 = np.percentile(seconds, (50, 95)).tolist()
    return p50, p95
