"""Memories asked the same questions, one after the other."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from msgspec import Struct

from .._version import __version__
from ..retrieve.prompt_context import count_tokens
from .data import Dataset
from .process import MemoryFailedError, MemoryProcess, check
from .scores import MemoryAnswer, differences, means, score
from .worker import items_of

INGEST_FACTOR = 30  # times the deadline of an answer is that of taking a user's documents


_NAMED = 3  # questions that were left out, in a note


class QuestionResult(Struct):
    """What was returned to a question.

    Attributes:
        evidence: ids of the documents that hold it; none: it has no answer.
        found: ids, best first, at most k; "" is a text without one.
        error: why nothing was returned, if it failed.
    """

    question: str
    user_id: str
    kind: str
    evidence: list[str]
    found: list[str]
    error: str = ""


class MemoryResult(Struct):
    """What was measured of a memory; where it failed, only its `problems`.

    Attributes:
        overall, kinds, evidence: shares by measure, and `questions`: of all, by kind of question,
            by pieces of evidence ("1", "2", "3+").
        differences: by measure, to the memory that `BenchResult.compared_with` names: `mean`, and
            the ends `low` and `high` of its 95 % interval.
        nothing: the share of questions to which nothing was returned, of those without an answer
            and of the others; None: it always returns something.
        seconds, cpu: `p50` and `p95` of a question; a command tells no `cpu`.
        ingest_seconds: for the documents of all users.
        bytes: on disk; None: it keeps nothing in its folder.
        results: of each question.
    """

    memory: str
    problems: list[str] = []
    overall: dict[str, float] = {}
    kinds: dict[str, dict[str, float]] = {}
    evidence: dict[str, dict[str, float]] = {}
    differences: dict[str, dict[str, float]] = {}
    nothing: tuple[float, float] | None = None
    seconds: dict[str, float] = {}
    cpu: dict[str, float] = {}
    ingest_seconds: float = 0.0
    bytes: int | None = None
    results: list[QuestionResult] = []


class BenchResult(Struct):
    """Memories on one set of questions.

    Attributes:
        version: of Remloom.
        with_answer: how many of the questions have one.
        left_out: questions whose evidence is of no document.
        k: documents asked for.
        budget: tokens of the measure "budget".
        compared_with: the first memory that could be measured.
        notes: what a reader of the figures must know.
    """

    version: str
    data: str
    documents: int
    questions: int
    with_answer: int
    left_out: list[str]
    k: int
    budget: int
    compared_with: str | None
    notes: list[str]
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
        memories: names, "package.module:Class", or "cmd: COMMAND"; they are compared with the first
            that can be measured.
        k: documents to ask for.
        budget: tokens of what was returned that are read.
        deadline: seconds for an answer.
        progress: called with how many of all questions were asked.

    Raises:
        InvalidInputError: no memory has such a name.
    """
    for memory in memories:
        check(memory, INGEST_FACTOR * deadline)  # all, before the first is measured
    results: list[MemoryResult] = []
    first: tuple[str, list[list[float]]] | None = None
    asked = len(dataset.questions)
    sizes = {
        user: {one.id: count_tokens(one.content, None) for one in documents}
        for user, documents in dataset.documents.items()
    }
    notes = _notes(dataset, sizes, k, budget)
    for number, memory in enumerate(memories):
        result = MemoryResult(memory)
        answers: list[MemoryAnswer] = []
        try:
            for answer in _answers(result, dataset, k, deadline):
                answers.append(answer)
                if progress is not None:
                    progress(number * asked + len(answers), len(memories) * asked)
            scores = _measure(result, answers, sizes, budget)
            if first is not None:
                result.differences = differences(scores, first[1])
            elif number:
                notes.append(f"compared with {memory}: what is before it could not be measured")
            first = first or (memory, scores)
            if more := sum(one.more for one in answers):
                many = f"more than {k:,} results at {more:,} of {asked:,} questions"
                notes.append(f"{memory} returned {many}: the first {k:,} count")
        except MemoryFailedError as error:
            where = f"after {len(answers):,} of {asked:,} questions"
            result = MemoryResult(memory, problems=[f"{error} ({where})"])
        results.append(result)
    return BenchResult(
        version=__version__,
        data=dataset.name,
        documents=sum(map(len, dataset.documents.values())),
        questions=asked,
        with_answer=sum(bool(one.gold) for one in dataset.questions),
        left_out=dataset.left_out,
        k=k,
        budget=budget,
        compared_with=first and first[0],
        notes=notes,
        memories=results,
    )


def _notes(
    dataset: Dataset, sizes: Mapping[str, Mapping[str, int]], k: int, budget: int
) -> list[str]:
    """What the data leave out, and whether all documents can be returned within the bounds."""
    notes = []
    if left := dataset.left_out:
        named = ", ".join(map(repr, left[:_NAMED])) + " …" * (len(left) > _NAMED)
        count = f"{len(left):,} of {len(left) + len(dataset.questions):,} questions"
        notes.append(f"left out: {count}, whose evidence is of no document: {named}")
    users = [one.user_id for one in dataset.questions if one.gold]
    whole = sum(sum(sizes[user].values()) <= budget for user in users)
    every = sum(len(sizes[user]) <= k for user in users)
    if whole or every:
        fit = f"fit {budget:,} tokens at {whole:,}, and {k:,} results at {every:,}"
        why = f"of {len(users):,} questions with an answer, all documents {fit}"
        notes.append(f"`budget` says little: {why}; lower --budget or --k")
    return notes


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
            process = MemoryProcess(result.memory)
            try:
                given = {"op": "ingest", "user_id": user, "folder": kept, "documents": documents}
                done = process.ask(given, INGEST_FACTOR * deadline)
                if "error" in done:
                    raise MemoryFailedError(f"could not take the documents: {done['error']}")
                result.ingest_seconds += done["seconds"]
                for one in questions:
                    asked = {"op": "retrieve", "query": one.text, "k": k, "user_id": user}
                    try:
                        done = process.ask({**asked, "query_timestamp": one.asked_at}, deadline)
                    except MemoryFailedError as failure:
                        raise MemoryFailedError(f"{failure}; asked {one.text!r}") from failure
                    error, items = done.get("error", ""), []
                    try:
                        items = [] if error else list(items_of(done["results"]))
                    except (KeyError, TypeError) as problem:
                        error = f"an answer without results: {problem}"
                    found = [(item["id"], item["text"]) for item in items]
                    spent = done["seconds"], done.get("cpu")
                    yield MemoryAnswer(one, found[:k], *spent, str(error), len(found) > k)
            finally:
                process.close()
            size = sum(file.stat().st_size for file in kept.rglob("*") if file.is_file())
            result.bytes = (result.bytes or 0) + size or None


def _measure(
    result: MemoryResult,
    answers: Sequence[MemoryAnswer],
    sizes: Mapping[str, Mapping[str, int]],
    budget: int,
) -> list[list[float]]:
    """Fill in what the answers tell; gives the scores of those to questions that have an answer."""
    answered = [one for one in answers if one.question.gold]
    scores = [score(one, sizes[one.question.user_id], budget) for one in answered]
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
    result.cpu = _spread(cpu) if cpu else {}
    result.results = [
        QuestionResult(
            question=one.question.text,
            user_id=one.question.user_id,
            kind=one.question.kind,
            evidence=sorted(one.question.gold),
            found=[id for id, _ in one.found],
            error=one.error,
        )
        for one in answers
    ]
    result.problems = list(_problems(result.results, sizes))
    return scores


def _spread(seconds: Sequence[float]) -> dict[str, float]:
    p50, p95 = np.percentile(seconds, (50, 95)).tolist()
    return {"p50": p50, "p95": p95}


def _problems(
    results: Sequence[QuestionResult], sizes: Mapping[str, Mapping[str, int]]
) -> Iterator[str]:
    asked = f"{len(results):,} questions"
    if failed := [one for one in results if one.error]:
        error, _ = Counter(one.error for one in failed).most_common(1)[0]
        question = next(one.question for one in failed if one.error == error)
        yield f"failed at {len(failed):,} of {asked}: {error}; asked {question!r}"
    returned = [(id, id in sizes[one.user_id]) for one in results for id in one.found]
    if unknown := [id for id, known in returned if id and not known]:
        such = f"such as {unknown[0]!r:.80}"
        such += ", which looks like texts: return ids" * (len(unknown[0].split()) > 1)
        yield f"returned {len(unknown):,} ids of no document of the user, {such}"
    bare = [one.found.count("") for one in results if "" in one.found]
    if bare and not any(known for _, known in returned):  # beside ids, they may be summaries
        where = f"{sum(bare):,} texts without an id in {len(bare):,} of {asked}"
        yield f"returned {where}: return ids, or dicts with `id`"
