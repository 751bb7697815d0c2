"""How many turns and tokens until all evidence was shown? Questions over three to five records of a
made-up company: people, projects, papers, meetings. Then the same company as one long document.

    python -m bench.quality.dialect [--model local:/path/to/model.gguf] [--page]

The dialect is driven by a script, which reads what the answers show. It has the question as steps,
in the question's words. So have the ways "by step", which turn pages until what a step asks for was
shown, and know it when they see it; "question" asks the whole of it, and turns pages. Tokens are
those of what is asked and shown; a model's of all calls.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from msgspec.structs import replace

from remloom import Memory, Resource
from remloom.ask.transcript import Transcript
from remloom.model import Answer, Recall, TraverseReport
from remloom.reader.loop.calls import count_tokens
from remloom.reader.reader import Reader
from remloom.retrieve.prompt_context import text_of

from .cached import CachedEmbedder
from .dialect_plot import FAMILIES, Company, Step, Task
from .tables import put_into_page

TURNS, TOKENS, PAGES = 20, 8_000, 4  # of a task; pages of a step
NEAR, FEW = 0.3, 9  # cosine of a step and the type of edge that it asks for; edges to follow
HEAD = f"| | all seen | evidence | turns | tokens | {' | '.join(FAMILIES)} |\n|{'---|' * 10}"
# pages of what is asked and shown, for a question or step, and the name that it begins from
Find = Callable[[str, str], Iterator[tuple[str, str]]]


class Stop(Exception):
    """All was seen, or the budget is used up."""


class Seen:
    """What was shown of the evidence of a task, and what that took."""

    def __init__(self, task: Task) -> None:
        self.task, self.turns, self.tokens = task, 0, 0
        self.left = self.wanted = [step for step in task.steps if step.texts]

    def show(self, asked: str, text: str) -> None:
        self.turns += 1
        self.tokens += count_tokens(asked) + count_tokens(text)
        edges = re.sub(r" \[\d+\]", "", text).lower().replace(" ", "-")
        unseen = (one for one in self.left if not any(part in text for part in one.texts))
        self.left = [step for step in unseen if step.edge not in edges]
        if not self.left or self.turns >= TURNS or self.tokens >= TOKENS:
            raise Stop


class Script:
    """Sees which edges there are, follows those like what is asked, or else searches."""

    def __init__(self, memory: Memory, likeness: Any, mode: str, task: Task, seen: Seen) -> None:
        self._memory, self._likeness, self._mode, self._seen = memory, likeness, mode, seen
        self._transcript, at = Transcript(), task.start
        for step in task.steps:
            at = self._in_time(step, at, *step.order) if step.order else self._follow(step, at)

    def _run(self, statement: str) -> Answer:
        answer = self._memory.query(statement)
        self._seen.show(statement, self._transcript.quote_answer(answer))
        return answer

    def _follow(self, step: Step, at: str) -> str:
        phrase = step.phrase.format(at)
        plan = self._run(f"TRAVERSE PLAN * WITH LOOKUP '{at}' DIRECTION both")
        if not plan.nodes and plan.suggestions:
            names = ", ".join(f"'{hit.name}'" for hit in plan.suggestions)
            return _nearest(phrase, self._run(f"LOOKUP {names}").records, at)
        at = plan.nodes[0].name if plan.nodes else at
        if step.phrase.startswith("{}"):  # says which is meant
            return at
        assert isinstance(plan.report, TraverseReport)
        # an edge reads like a sentence: of both directions, that from here
        edges = [
            (self._likeness(step.phrase, edge.rel_type), edge.direction == "out", edge)
            for edge in plan.report.edge_counts or ()
        ]
        near, _, edge = max(edges, key=lambda one: one[:2], default=(0.0, False, None))
        if edge and near >= NEAR and edge.count <= FEW:
            follow = f"TRAVERSE {edge.rel_type} WITH LOOKUP '{at}' DIRECTION {edge.direction}"
            return _nearest(phrase, self._run(follow).nodes[1:], at)
        where = f"related_entities CONTAINS '{at}'{_when(step)} MODE {self._mode} LIMIT 5"
        found = self._run(f"SEARCH '{phrase}' WHERE {where}").records
        return found[0].name if found else at

    def _in_time(self, step: Step, at: str, table: str, order: str) -> str:
        is_moment = table == "moments"
        columns = "entity_refs, resource_refs" if is_moment else "content"
        named = "present_persons" if is_moment else "related_entities"
        where = f"contains({named}, '{at}'){_when(step)} ORDER BY starts_at {order} LIMIT 5"
        rows = self._run(f"SELECT name, starts_at, {columns} FROM {table} WHERE {where}").rows
        if not rows or not is_moment:
            return rows[0][0] if rows else at
        id = json.loads(rows[0][3])[0]
        self._run(f"SELECT name, content FROM resources WHERE id = '{id}'")
        return str(json.loads(rows[0][2])[0])


def _when(step: Step) -> str:
    since = f" AND starts_at >= '{step.since:%F}'" if step.since else ""
    return since + (f" AND starts_at < '{step.until:%F}'" if step.until else "")


def _nearest(phrase: str, found: Sequence[Any], at: str) -> str:
    """The name of the record with most words of a phrase; the first of equals."""
    words = {word for word in phrase.replace(",", " ").split() if len(word) > 3}
    named = [(one.name, str(one.as_dict())) for one in found]
    return max(named, key=lambda one: sum(word in one[1] for word in words), default=(at, ""))[0]


def likeness(embedder: CachedEmbedder, phrase: str, edge_type: str) -> float:
    asked, type = phrase.format("it"), edge_type.replace("-", " ")
    return float(np.dot(embedder.embed_query(asked), embedder.embed_query(type)))


def by_model(memory: Memory, task: Task, seen: Seen) -> None:
    transcript, asked = Transcript(), memory.ask(task.question, turns=6, budget_tokens=40_000)
    print(task.question, *((turn.statement, turn.error[:50]) for turn in asked.turns), sep="\n  ")
    with suppress(Stop):
        for turn in asked.turns:
            shown = transcript.quote_answer(turn.answer) if turn.answer else turn.error
            seen.show(turn.statement, shown)
    seen.tokens = asked.tokens


# -- the other ways --------------------------------------------------------------------------------


def by_question(find: Find, task: Task, seen: Seen) -> None:
    for asked, shown in find(task.question, task.start):
        seen.show(asked, shown)


def by_step(find: Find, task: Task, seen: Seen) -> None:
    at, before = task.start, set[str]()
    for step in task.steps:
        pages = (page for page in find(step.phrase.format(at), at) if page[1] not in before)
        for asked, shown in islice(pages, PAGES if step.texts else 0):
            before.add(shown)
            seen.show(asked, shown)
            if step not in seen.left:
                break
        at = at if step in seen.left else step.to


def paged(search: Any, size: int, asked: str, _: str) -> Iterator[tuple[str, str]]:
    found = search(asked, limit=60)
    for first in range(0, 60, size):
        some = slice(first, first + size)
        if isinstance(found, Recall):
            yield asked, text_of(replace(found, hits=found.hits[some]))
        else:
            yield asked, Transcript().quote_answer(replace(found, records=found.records[some]))


def by_sql(reader: Reader, asked: str, at: str) -> Iterator[tuple[str, str]]:
    """The lines with a name, by how they fit; then the lines that fit."""
    for where, first in (
        (f"WHERE text LIKE '%{at}%'", 0),
        (f"WHERE text LIKE '%{at}%'", 5),
        ("", 0),
    ):
        part = f"{where} ORDER BY rank LIMIT 5 OFFSET {first}"
        yield _lines(reader, f"SELECT line_num, text FROM search('{asked}', 500) {part}")


def as_in_seed_3(reader: Reader, asked: str, _: str) -> Iterator[tuple[str, str]]:
    """The first hundred lines, then forty with a word of the question, in document order."""
    words = [word for word in asked.lower().replace(",", "").split() if len(word) > 3]
    for where in ["line_num <= 100", *(f"LOWER(text) LIKE '%{word}%' LIMIT 40" for word in words)]:
        yield _lines(reader, f"SELECT line_num, text FROM documents WHERE {where}")


def _lines(reader: Reader, query: str) -> tuple[str, str]:
    return query, "\n".join(f"{row[0]}: {row[1]}" for row in reader.sql(query).rows)


def row(name: str, way: Callable[[Task, Seen], object], tasks: Sequence[Task]) -> str:
    """In percent; turns and tokens are medians of the tasks of which all was seen."""
    tried = [Seen(task) for task in tasks]
    for seen in tried:
        with suppress(Stop):
            way(seen.task, seen)
    done = [seen for seen in tried if not seen.left]
    shares = [1 - len(seen.left) / len(seen.wanted) for seen in tried]
    cells = [f"{len(done) / len(tried):.0%}", f"{statistics.mean(shares):.0%}"]
    for spent in ([seen.turns for seen in done], [seen.tokens for seen in done]):
        cells.append(f"{statistics.median(spent):,.0f}" if done else "")
    for family in FAMILIES:
        some = [not seen.left for seen in tried if seen.task.family == family]
        cells.append(f"{statistics.mean(some):.0%}")
    print(line := f"| {name} | {' | '.join(cells)} |", flush=True)
    return line


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="that drives the dialect")
    parser.add_argument("--page", action="store_true")
    given = parser.parse_args()
    company, embedder = Company(), CachedEmbedder()
    tasks, lines, read = company.tasks, [HEAD], [HEAD]
    with tempfile.TemporaryDirectory() as home:
        with Memory.open(home, embedder=embedder, llm=given.model) as memory:
            memory.write(company.items)
            memory.embed_pending()
            if given.model:
                row(given.model, partial(by_model, memory), tasks[::20])
                return 0
            for mode in ("vector", "words"):
                way = partial(Script, memory, partial(likeness, embedder), mode)
                lines.append(row(f"**dialect**, script, `MODE {mode}`", way, tasks))
            options = {"mode": "iterated", "hops": 2, "neighbours": 0, "abstain": False}
            finds: dict[str, Find] = {
                "`recall`, 2 hops": partial(paged, partial(memory.recall, **options), 5),
                "BM25": partial(paged, memory.search_text, 5),
                "vectors": partial(paged, memory.search, 5),
            }
            for name, find in finds.items():
                lines.append(row(f"{name}, question", partial(by_question, find), tasks))
                lines.append(row(f"{name}, by step", partial(by_step, find), tasks))
        with Memory.open(home, tenant="document", embedder="none") as memory:
            notes = [one for one in company.items if isinstance(one, Resource)]
            text = "\n".join(f"{one.starts_at:%d %B %Y}: {one.content}" for one in notes)
            memory.read_text(text, uri="company.txt")
            chunks = partial(memory.recall, neighbours=0, abstain=False)
            with memory.reader("company.txt") as reader:
                finds = {
                    "**SQL over lines**": partial(by_sql, reader),
                    "chunks, by `recall`": partial(paged, chunks, 1),
                    "as seed 3": partial(as_in_seed_3, reader),
                }
                for name, find in finds.items():
                    read.append(row(name, partial(by_step, find), tasks))
    embedder.save()
    if given.page:
        put_into_page({"dialect": "\n".join(lines), "dialect reader": "\n".join(read)})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
