"""Learn what corrects the order of turns in recall: `python -m training.order [--judge]`.

Boosted trees on the questions of chats that were written for it (`bench/quality/chats/chosen`, and
the made-up chats with an assistant). Each domain counts the same, and each question is asked with
and without late interaction and vectors. Each domain is left out once to see whether what was
learned holds elsewhere; if one falls so, nothing is written.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import lightgbm
import numpy as np
from bench.quality import assistant_chats, written
from bench.quality.cached import CachedEmbedder, CachedTokens
from bench.quality.domains import Reading
from bench.quality.locomo import Opened
from bench.quality.tables import put_into_page
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

import remloom.retrieve.learned_order as learned_order
from remloom.retrieve import recall
from remloom.retrieve.learned_order import LEAVES, Features, Trees, corrections, features_of

FILE = Path(learned_order.__file__).with_name(learned_order.WEIGHTS)
MADE_UP = ("chosen", "months_chosen")  # of the chats with an assistant that rules made
WAYS: tuple[tuple[str, ...], ...] = ((), ("late",), ("late", "vector"))  # what is left out
SCALE = 2.0  # what a score of 1 is in log odds
TREES = 100
KEPT = 0.7  # of what was learned: less of it holds in other chats
# kinds of questions in the chat's own words: a domain of its own, of the chats that have some
PLAIN = ("single", "when", "multi")
DEPTH = 10  # hits that are judged
DRAWS = 2_000  # of the bootstrap
# what measures how well a turn fits can only raise it
_RISING = (
    "share of ",
    "score by ",
    "turn ",
    "like question",
    "like f",
    "session's best",
    "speaker's best",
)
_RISING_TOO = ("session's total", "best other in session", "gap to tenth")
_FALLING = ("rank by ", "place", "gap to first")
_FREE = ("share of role", "share of asks")
OPTIONS: dict[str, Any] = {
    "objective": "lambdarank",
    "lambdarank_truncation_level": 15,
    "num_leaves": LEAVES,
    "learning_rate": 0.08,
    "min_data_in_leaf": 80,
    "lambda_l2": 5.0,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "max_bin": 63,
    "use_missing": False,
    "deterministic": True,
    "force_row_wise": True,
    "num_threads": 1,
    "seed": 1,
    "verbose": -1,
}

Floats = NDArray[np.float32]


class Asked(NamedTuple):
    """A question as the trees see it."""

    table: Floats  # shape (turns, features)
    names: tuple[str, ...]
    scores: Floats  # before the correction
    right: Floats  # 1 for a turn that is evidence
    pieces: int  # of evidence there are
    kind: str  # of question

    def frac(self, corrections: Floats | float = 0.0) -> float:
        """The share of the evidence among the first ten."""
        first = np.argsort(-(self.scores + corrections), kind="stable")[:DEPTH]
        return float(self.right[first].sum() / self.pieces)


def gather(half: str = "chosen") -> dict[str, list[list[Asked]]]:
    """Ask every question of one half, by domain, in each of `WAYS`."""
    found: dict[str, list[list[Asked]]] = {}
    of_plain: dict[tuple[str, ...], list[Asked]] = {}
    with ExitStack() as stack:
        reading = Reading(stack, CachedEmbedder(), CachedTokens())
        domains = written.read(reading, half)
        if half == "chosen":
            chats = [chat for name in MADE_UP for chat in assistant_chats.conversations(name)]
            domains["made up"] = [written.opened(reading, chat) for chat in chats]
        for domain, memories in domains.items():
            for excluded in WAYS:
                some = [asked for one in memories for asked in _ask(one, excluded)]
                plain = [asked for asked in some if asked.kind in PLAIN]
                found.setdefault(domain, []).append([one for one in some if one.kind not in PLAIN])
                if plain:
                    of_plain.setdefault(excluded, []).extend(plain)
        reading.save()
    return found | ({"plain": list(of_plain.values())} if of_plain else {})


def _ask(memory: Opened, excluded: Sequence[str]) -> Iterator[Asked]:
    seen: list[Features] = []
    with _watched(seen):
        for question in memory.questions:
            if not question.gold:
                continue
            seen.clear()
            options = {"exclude": (*excluded, "newer"), "neighbours": 0, "abstain": False}
            memory.memory.recall(question.text, now=memory.now, limit=30, **options)  # type: ignore[arg-type]
            for features in seen:
                ids = [turn.record.metadata["message_ids"] for turn in features.turns]
                yield Asked(
                    features.table,
                    tuple(sorted(features.columns)),
                    np.array([turn.candidate.score for turn in features.turns], np.float32),
                    np.array([len(question.gold & set(some)) for some in ids], np.float32),
                    len(question.gold),
                    str(question.category),
                )


@contextmanager
def _watched(seen: list[Features]) -> Iterator[None]:
    """Note what would be corrected, and leave it as it is."""

    def watch(*asked: Any) -> None:
        features = features_of(*asked)
        if features is not None:
            seen.append(features)

    module: Any = recall
    shipped = module.correct_order
    module.correct_order = watch
    try:
        yield
    finally:
        module.correct_order = shipped


def learn(domains: Mapping[str, list[list[Asked]]]) -> Trees:
    """Learn from these domains, each of which counts the same."""
    some = [(asked, 1 / len(way)) for ways in domains.values() for way in ways for asked in way]
    weights = np.concatenate([np.full(len(asked.right), weight) for asked, weight in some])
    names = some[0][0].names
    data = lightgbm.Dataset(
        np.concatenate([asked.table for asked, _ in some]),
        label=np.concatenate([asked.right for asked, _ in some]),
        group=[len(asked.right) for asked, _ in some],
        init_score=SCALE * np.concatenate([asked.scores for asked, _ in some]),
        weight=weights / weights.mean(),
    )
    options = {**OPTIONS, "monotone_constraints": list(map(_direction, names))}
    return _packed(lightgbm.train(options, data, TREES), names)


def _direction(name: str) -> int:
    if name.startswith(_FALLING):
        return -1
    return int((name.startswith(_RISING) and name not in _FREE) or name in _RISING_TOO)


def _packed(booster: lightgbm.Booster, names: tuple[str, ...]) -> Trees:
    given = [tree["tree_structure"] for tree in booster.dump_model()["tree_info"]]
    features = np.zeros((len(given), LEAVES - 1), np.int16)
    thresholds = np.full(features.shape, np.inf, np.float32)
    masks = np.full(features.shape, 255, np.uint8)
    values = np.zeros((len(given), LEAVES), np.float32)
    for number, root in enumerate(given):
        leaves: list[float] = []
        tests: list[tuple[int, float, int]] = []
        _walk(root, leaves, tests)
        values[number, : len(leaves)] = KEPT * np.array(leaves) / SCALE
        for place, test in enumerate(tests):
            features[number, place], thresholds[number, place], masks[number, place] = test
    return Trees(names, features, thresholds, masks, values)


def _walk(node: dict[str, Any], leaves: list[float], tests: list[tuple[int, float, int]]) -> None:
    """Note the leaves from the left, and each test with the leaves that are left where it fails."""
    if "leaf_value" in node:
        leaves.append(node["leaf_value"])
        return
    first = len(leaves)
    _walk(node["left_child"], leaves, tests)
    mask = 255 & ~sum(1 << number for number in range(first, len(leaves)))
    tests.append((node["split_feature"], node["threshold"], mask))
    _walk(node["right_child"], leaves, tests)


def judge(trees: Trees, ways: list[list[Asked]]) -> list[tuple[int, float, float, float, float]]:
    """For each way of asking: questions, frac@10 before and after, and the interval of the
    difference."""
    rows = []
    rng = np.random.default_rng(7)
    for way in ways:
        before = np.array([asked.frac() for asked in way])
        after = np.array([asked.frac(corrections(trees, asked.table)) for asked in way])
        draws = rng.integers(len(way), size=(DRAWS, len(way)))
        low, high = np.percentile((after - before)[draws].mean(axis=1), (2.5, 97.5))
        rows.append((len(way), before.mean(), after.mean(), float(low), float(high)))
    return rows


def show(console: Console, title: str, judged: Mapping[str, list[Any]]) -> None:
    table = Table(title=title)
    for column in ("domain", "left out", "questions", "frac@10", "learned", "difference"):
        table.add_column(column)
    for domain, rows in judged.items():
        for excluded, (count, before, after, low, high) in zip(WAYS, rows, strict=True):
            table.add_row(
                domain,
                ", ".join(excluded),
                str(count),
                f"{100 * before:.1f}",
                f"{100 * after:.1f}",
                f"{100 * low:+.1f} to {100 * high:+.1f}",
            )
    console.print(table)


def _written_table(judged: Mapping[str, Mapping[str, list[Any]]]) -> str:
    """The table of the page: of each domain, asked with all parts."""
    lines = ["| domain | half | questions | plain | learned | difference |", "|---" * 6 + "|"]
    for half, domains in judged.items():
        for name, ((count, before, after, low, high), *_) in domains.items():
            values = (
                f"{100 * before:.1f} | {100 * after:.1f} | {100 * low:+.1f} to {100 * high:+.1f}"
            )
            lines.append(f"| {name} | {half} | {count} | {values} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m training.order", description=__doc__)
    parser.add_argument(
        "--judge",
        action="store_true",
        help="judge the held half too, and write docs/recall-quality.md alone",
    )
    given = parser.parse_args()
    console = Console(width=110)
    domains = gather()
    left_out = {}
    for domain in domains:
        others = {name: ways for name, ways in domains.items() if name != domain}
        left_out[domain] = judge(learn(others), domains[domain])
    show(console, "each domain learned from the others", left_out)
    trees = learn(domains)
    if given.judge:
        held = {name: judge(trees, ways) for name, ways in gather("held").items()}
        show(console, "the held half", held)
        put_into_page({"learned": _written_table({"left out": left_out, "held": held})})
        return 0
    fallen = [name for name, rows in left_out.items() if rows[0][-1] < 0]
    if fallen:
        console.print(f"not written: {', '.join(fallen)} would fall, were it not seen")
        return 1
    save(trees)
    console.print(f"written: {FILE.name}, {FILE.stat().st_size:,} bytes", highlight=False)
    return 0


def save(trees: Trees, file: Path = FILE) -> None:
    np.savez_compressed(
        file,
        names=np.array(trees.names),
        features=trees.features,
        thresholds=trees.thresholds,
        masks=trees.masks,
        values=trees.values,
    )


if __name__ == "__main__":
    raise SystemExit(main())
