"""What training shows: how a head did on texts held out, and what heads decide of texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from remloom.embed.bundled.sentence_embedder import MiniLM
from remloom.heads.head import Decision, head

from .heard import LEAST_HEARD, LEAST_LASTING, LEAST_RIGHT, Heard
from .subjects import HEADS
from .texts import languages
from .train import Trained

__all__ = ["show_decisions", "show_trained"]

LIKELIEST = 2  # labels that are shown of a decision


def show_trained(console: Console, done: Trained) -> None:
    """Show how a head did on the texts that were held out, and what it lacks."""
    held_out, right, by_language, by_label = done.figures
    _say(
        console,
        f"{done.name} {done.version}: {done.texts:,} texts, {right:.3f} of {held_out:,} held out"
        f" are right; {done.size // 1000} kB",
    )
    labels = ((label, *map(_share, both)) for label, both in by_label.items())
    console.print(_table(("label", "precision", "recall"), labels))
    judged = {one: found for one, found in by_language.items() if found[1] is not None}
    if not judged:
        return  # its labels are languages
    heard = ("lasting heard", "believed wrongly") if done.heard else ()
    rows = (
        (one, f"{many:,}", _share(share), *_turns(done.heard.get(one)))
        for one, (many, share) in judged.items()
    )
    console.print(_table(("language", "held out", "right", *heard), rows))
    without = [one for one in languages("turns") if one not in by_language]
    if without:
        _say(console, f"no texts in: {', '.join(without)}")
    if alike := [one for one in by_language if one not in judged]:
        _say(console, f"texts of one label only, which tell nothing, in: {', '.join(alike)}")
    for one, found in done.heard.items():
        if not found.is_enough:
            _say(console, f"{one} is weak, and still reported as not heard: {_lacks(found)}")


def show_decisions(console: Console, names: Iterable[str], lines: Iterable[str]) -> None:
    """Show what heads decide of texts with the weights that are there: the likeliest labels, by
    words alone and with the vector of the default embedder."""
    texts = [text for line in lines if (text := line.strip())]
    alone = [name for name in names if not HEADS[name].sees_pairs]
    vectors = MiniLM().embed_documents(texts)
    for text, vector in zip(texts, vectors, strict=True):
        _say(console, text)
        rows = (
            (
                name,
                _likeliest(head(name).decide(text)),
                _likeliest(head(name, MiniLM.name).decide(text, vector))
                if HEADS[name].by_vector
                else "",
            )
            for name in alone
        )
        console.print(_table(("head", "by words", "by meaning"), rows))


def _say(console: Console, line: str) -> None:
    """Print a line that is broken nowhere, as it stands."""
    console.print(line, soft_wrap=True, markup=False, highlight=False, emoji=False)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table()
    for column in columns:
        table.add_column(column, no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def _share(share: float | None) -> str:
    return "" if share is None else f"{share:.2f}"


def _turns(found: Heard | None) -> tuple[str, ...]:
    if found is None:
        return ()
    return (
        f"{found.heard:,} of {found.lasting:,} ({_of(found.heard, found.lasting)})",
        f"{found.believed:,} of {found.others:,} ({_of(found.believed, found.others)})",
    )


def _lacks(found: Heard) -> str:
    believed = found.heard + found.believed
    return (
        f"{_of(found.heard, found.lasting)} of {found.lasting} lasting turns are heard"
        f" ({LEAST_HEARD:.2f} of {LEAST_LASTING} or more are needed),"
        f" {_of(found.heard, believed)} of what is believed is right ({LEAST_RIGHT:.2f})."
        " Write more turns."
    )


def _of(some: int, all_: int) -> str:
    return _share(some / all_ if all_ else 0.0)


def _likeliest(decision: Decision) -> str:
    labels = sorted(decision.probabilities.items(), key=lambda pair: -pair[1])[:LIKELIEST]
    return ", ".join(f"{label} {share:.2f}" for label, share in labels)
