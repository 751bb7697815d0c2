"""Learn which sessions decide a prompt, which of their turns tell it, and what amends it:
`python -m training.episodes`.

Linear models of the measures in `remloom.retrieve.episodes.measures`, on the tasks and chats that
were written for it (`bench/quality/coding_tasks/chosen.json`, `bench/quality/chats/chosen`). Each
domain counts the same, but developers' twice. Whether anything decides is learned from prompts that
are asked of the wrong memory, too. What helps where it is more can only
help: no weight of a session is below 0.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench.quality import coding_tasks, written
from bench.quality.cached import CachedEmbedder, CachedTokens
from bench.quality.domains import Reading
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from scipy.optimize import minimize

from remloom import Memory
from remloom.retrieve import recall
from remloom.retrieve.candidates import Candidates
from remloom.retrieve.episodes import measures
from remloom.retrieve.episodes.measures import AMENDS, DECIDES, ORDER, TURNS, Columns, Words
from remloom.retrieve.episodes.sessions import ChatSession, ChatSessions, gains_of
from remloom.retrieve.question import RecallQuestion
from remloom.store.contract import Store

FILE = Path(measures.__file__).with_name(measures.FILE)
DEVELOPERS = ("tasks", "developers")
FOLDS = 5
MOST = 50  # questions of a chat
CROSSED = 4  # questions of each other domain that a memory is asked, which has nothing of it
STRENGTH = {ORDER: 2.0, TURNS: 0.5, AMENDS: 0.005, DECIDES: 0.2}  # of the penalty of large weights

Floats = NDArray[np.float64]


class Row(NamedTuple):
    """A value for each measure, and what is right of it: of one group one row, or several, is."""

    domain: str
    columns: Columns
    right: Floats
    group: str = ""


class Asked(NamedTuple):
    """What there is to learn from a question: a row of each measure for each session."""

    domain: str
    text: str
    is_answered: bool
    columns: Columns
    firsts: Columns  # what would be measured of each, were it the first
    right: Floats  # 1 for a session with evidence
    turns: Sequence[Row]  # of sessions with evidence
    pairs: Sequence[Row]  # of what decides, and each later session


Ask = tuple[str, frozenset[str], frozenset[str], Any]  # text, gold, newest, now


def gather(half: str = "chosen") -> list[Asked]:
    """Ask every question of its memory, and some of other memories."""
    found: list[Asked] = []
    with ExitStack() as stack:
        reading = Reading(stack, CachedEmbedder(), CachedTokens())
        given = coding_tasks.tasks_of(half)
        memory = reading.memory(lambda memory: coding_tasks.read(memory, given.tasks))
        memories: list[tuple[str, Memory, list[Ask]]] = [
            (
                "tasks",
                memory,
                [
                    (one.prompt, one.deciding | one.amending, one.amending, coding_tasks.NOW)
                    for one in given.tasks
                ],
            )
        ]
        memories += [
            (
                domain,
                one.memory,
                [
                    (asked.text, asked.gold, asked.newest, one.now)
                    for asked in one.questions[:: max(1, len(one.questions) // MOST)]
                ],
            )
            for domain, some in written.read(reading, half).items()
            for one in some
        ]
        for domain, memory, asked in memories:
            others: list[Ask] = [
                (text, frozenset(), frozenset(), coding_tasks.NOW) for text in given.unrelated
            ]
            for other, _, some in memories:
                # the tasks' memory has the developers' and assistants' chats as well
                is_beside = {domain, other} <= {"tasks", "developers", "assistant"}
                if other != domain and not is_beside:
                    step = max(1, len(some) // CROSSED)
                    others += [(one[0], frozenset(), frozenset(), one[3]) for one in some[::step]]
            found += _ask(domain, memory, [one for one in asked if one[1]] + others)
        reading.save()
    return found


def _ask(domain: str, memory: Memory, some: Sequence[Ask]) -> Iterator[Asked]:
    seen: list[tuple[Store, Candidates, RecallQuestion]] = []
    # one that remembers all that it was asked takes gigabytes
    memory._recalling._recallers.clear()
    with _watched(seen):
        for text, gold, newest, now in some:
            seen.clear()
            memory.recall(text, now=now, unit="episode", abstain=False)
            for store, candidates, question in seen:
                gains = gains_of(candidates)
                sessions = ChatSessions(store, question.vector, None).of(gains, known=candidates)
                if not sessions:
                    continue
                words = Words(sessions)
                top = max(float(one.gains.max()) for one in sessions)
                firsts = [
                    measures.of_first(one, counts, words, text)
                    for one, counts in zip(sessions, words.counts, strict=True)
                ]
                is_work = domain in DEVELOPERS and bool(gold)
                yield Asked(
                    domain,
                    text,
                    bool(gold),
                    measures.of_sessions(sessions, words, text),
                    {name: np.concatenate([one[name] for one in firsts]) for name in firsts[0]},
                    np.array([bool(gold & _ids(one)) for one in sessions], float),
                    _turns(domain, text, sessions, gold, newest, top) if is_work else (),
                    _pairs(domain, text, sessions, words, gold, newest) if is_work else (),
                )


def _ids(session: ChatSession) -> set[str]:
    return {id for turn in session.turns for id in turn.message_ids}


@contextmanager
def _watched(seen: list[Any]) -> Iterator[None]:
    """Note of what sessions are made, and make none."""

    def watch(*asked: Any) -> tuple[list[Any], str]:
        seen.append(asked)
        return [], ""

    module: Any = recall
    shipped = module.find_episodes
    module.find_episodes = watch
    try:
        yield
    finally:
        module.find_episodes = shipped


# -- what is learned -------------------------------------------------------------------------------


def of_order(asked: Sequence[Asked]) -> list[Row]:
    return [Row(one.domain, one.columns, one.right, one.text) for one in asked if one.right.any()]


def of_decides(asked: Sequence[Asked], order: dict[str, float]) -> list[Row]:
    """The session that fits best, which decides or does not."""
    rows = []
    for one in asked:
        best = int(np.argmax(_sums(order, one.columns)))
        if not one.is_answered or one.right[best]:
            columns = {name: of[[best]] for name, of in one.firsts.items()}
            rows.append(Row(one.domain, columns, one.right[[best]], one.text))
    return rows


def _turns(
    domain: str,
    text: str,
    sessions: Sequence[ChatSession],
    gold: frozenset[str],
    amending: frozenset[str],
    top: float,
) -> list[Row]:
    """The turns of sessions with evidence, in chats about work."""
    decided = [one.rows[number] for one in sessions for number in _deciding(one, gold - amending)]
    rows = []
    for session in sessions:
        if not gold & _ids(session):
            continue
        earlier = np.array(decided) if decided and amending & _ids(session) else None
        told = np.zeros(len(session.turns))
        told[_deciding(session, gold)] = 1
        rows.append(Row(domain, measures.of_turns(session, top, earlier), told, text))
    return rows


def _deciding(session: ChatSession, gold: frozenset[str]) -> list[int]:
    return [n for n, turn in enumerate(session.turns) if gold & set(turn.message_ids)]


def _pairs(
    domain: str,
    text: str,
    sessions: Sequence[ChatSession],
    words: Words,
    gold: frozenset[str],
    amending: frozenset[str],
) -> list[Row]:
    """What decides, beside each later session."""
    rows = []
    for earlier in sessions:
        deciding = _deciding(earlier, gold - amending)
        for later in sessions if deciding else ():
            if earlier.is_before(later):
                columns = measures.of_pair(later, later.counts(), earlier, deciding, words)
                is_right = np.array([float(bool(amending & _ids(later)))])
                rows.append(Row(domain, columns, is_right, text))
    return rows


def learn(head: str, rows: Sequence[Row]) -> dict[str, float]:
    """Learn a head: of `ORDER` which row of a group is right, of the others whether one is."""
    names = sorted({name for row in rows for name in row.columns})
    is_order = head == ORDER
    biases = [] if is_order else sorted({f"bias{_suffix(row)}" for row in rows})
    sizes = {
        domain: sum(one.domain == domain for one in rows) for domain in {r.domain for r in rows}
    }
    tables = [_table(row, [*names, *biases]) for row in rows]
    weights = [
        100 * (2 if row.domain in DEVELOPERS and head == ORDER else 1) / sizes[row.domain]
        for row in rows
    ]
    penalty = np.array([STRENGTH[head]] * len(names) + [0.0] * len(biases))

    def loss(given: Floats) -> tuple[float, Floats]:
        value, slope = float(penalty @ given**2) / 2, penalty * given
        for row, table, weight in zip(rows, tables, weights, strict=True):
            sums = table @ given
            if is_order:
                shares = np.exp(sums - sums.max())
                shares /= shares.sum()
                right = row.right / row.right.sum()
                value -= weight * float(right @ np.log(shares + 1e-9))
            else:
                shares, right = 1 / (1 + np.exp(-sums)), row.right
                value += weight * float(np.logaddexp(0, sums).sum() - right @ sums)
            slope = slope + weight * table.T @ (shares - right)
        return value, slope

    bounds = [(0, None)] * len(names) if is_order else None
    found = minimize(loss, np.zeros(len(penalty)), jac=True, method="L-BFGS-B", bounds=bounds)
    return {
        name: round(float(value), 3)
        for name, value in zip([*names, *biases], found.x, strict=True)
        if abs(value) >= 0.0005
    }


def _suffix(row: Row) -> str:
    return ", long" if next(iter(row.columns)).endswith(", long") else ""


def _table(row: Row, names: Sequence[str]) -> Floats:
    number = len(row.right)
    bias = f"bias{_suffix(row)}"
    return np.stack(
        [
            np.ones(number) if name == bias else row.columns.get(name, np.zeros(number))
            for name in names
        ],
        axis=1,
    )


def _sums(weights: dict[str, float], columns: Columns) -> Floats:
    return np.asarray(sum(weights.get(name, 0.0) * of for name, of in columns.items()), np.float64)


# -- how well --------------------------------------------------------------------------------------


def crossed(
    head: str, rows: Sequence[Row], measure: Callable[[Row, Floats], float]
) -> dict[str, float]:
    """What is measured of each fifth of the questions, learned from the others, by domain."""
    texts = sorted({row.group for row in rows})
    found: dict[str, list[float]] = {}
    for fold in range(FOLDS):
        held = set(texts[fold::FOLDS])
        weights = learn(head, [row for row in rows if row.group not in held])
        for row in rows:
            if row.group in held:
                sums = _sums(weights, row.columns) + weights.get(f"bias{_suffix(row)}", 0.0)
                found.setdefault(row.domain, []).append(measure(row, sums))
    return {domain: float(np.nanmean(values)) for domain, values in found.items()}


def best_of(row: Row, sums: Floats) -> float:
    return float(row.right[int(np.argmax(sums))])


def baseline(row: Row, sums: Floats) -> float:
    name = f"best{_suffix(row)}"
    return float(row.right[int(np.argmax(row.columns[name]))])


def in_three(row: Row, sums: Floats) -> float:
    first = np.argsort(-sums, kind="stable")[:3]
    return float(row.right[first].sum() / row.right.sum())


def told_in_five(row: Row, sums: Floats) -> float:
    first = np.argsort(-sums, kind="stable")[:5]
    return float(row.right[first].sum() / row.right.sum())


def kept(row: Row, sums: Floats) -> float:
    """Of what is right the share that is taken for it."""
    return float(sums[0] > 0) if row.right[0] else float("nan")


def refused(row: Row, sums: Floats) -> float:
    return float(sums[0] <= 0) if not row.right[0] else float("nan")


def main() -> int:
    console = Console(width=110)
    asked = gather()
    rows = {
        ORDER: of_order(asked),
        TURNS: [row for one in asked for row in one.turns],
        AMENDS: [row for one in asked for row in one.pairs],
    }
    weights = {head: learn(head, some) for head, some in rows.items()}
    rows[DECIDES] = of_decides(asked, weights[ORDER])
    weights[DECIDES] = learn(DECIDES, rows[DECIDES])
    table = Table(title="learned from four fifths of the questions")
    for column in ("what", *(domains := sorted({one.domain for one in asked}))):
        table.add_column(column)
    for title, head, measure in (
        ("session of the best hit", ORDER, baseline),
        ("session first", ORDER, best_of),
        ("sessions in three", ORDER, in_three),
        ("turns in five", TURNS, told_in_five),
        ("amendments told", AMENDS, kept),
        ("others refused", AMENDS, refused),
        ("given", DECIDES, kept),
        ("silent", DECIDES, refused),
    ):
        found = crossed(head, rows[head], measure)
        table.add_row(title, *(f"{100 * found.get(domain, np.nan):.0f}" for domain in domains))
    console.print(table)
    save(weights)
    console.print(f"written: {FILE.name}", highlight=False)
    return 0


def save(weights: dict[str, dict[str, float]], file: Path = FILE) -> None:
    file.write_text(json.dumps(weights, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
