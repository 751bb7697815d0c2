"""Does each part help the questions it is for, and hurt no others? A made-up company, whose answers
are known.

    python -m bench.quality.constructed [--page]

Five kinds of questions, sixty of each, over some three hundred and sixty notes:

* plain: a note answers that has the words of the question;
* alias: the note that answers names the thing otherwise than the question does;
* related: the note that answers is about something that an edge relates to what the question names;
* bridge: two notes answer, and only the first of them has anything in common with the question;
* dated: one of twelve notes of the same wording answers, that of the month named.

Shows all@5, all the evidence among the first five, by kind, with each part left out or added.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from remloom import Edge, Entity, Memory, Resource

from ..data import names as made_names
from .cached import CachedEmbedder
from .tables import put_into_page

EACH = 60
KINDS = ("plain", "alias", "related", "bridge", "dated")
NOW = datetime(2024, 1, 15, tzinfo=UTC)
WAYS: dict[str, dict[str, Any]] = {
    "**recall**": {},
    "without graph": {"exclude": ("graph",)},
    "without entity": {"exclude": ("entity",)},
    "without time": {"exclude": ("time",)},
    "mode hybrid (no time)": {"mode": "hybrid"},
    "iterated": {"mode": "iterated"},
}
HEAD = f"| asked | {' | '.join(KINDS)} |\n|---{'|---' * len(KINDS)}|"

_MADE = (
    "a pump for salt water|a ferry engine|a light sail|a tide clock|a deck lamp|a wool jacket|a"
    " rope winch|a sonar"
)
_SAID = (
    "Customers say that {} is too loud at night and that its handle breaks.",
    "Buyers of {} praise its battery, and complain about the manual.",
    "Most letters about {} ask for a smaller size and a longer warranty.",
)
_LED = (
    "{company} has been led by {person} since {year}; it has {count} employees.",
    "In {year} {person} became the head of {company}, which had {count} employees then.",
)
_LIVES = (
    "{person} moved to {place} with two dogs and a piano.",
    "Letters to {person} go to {place} now, to the house by the mill.",
)
_MONTHS = (
    "January February March April May June July August September October November December".split()
)  # fmt: skip


@dataclass
class Question:
    kind: str
    text: str
    evidence: frozenset[str]  # names of notes


def built() -> tuple[list[Resource | Entity | Edge], list[Question]]:
    """Everything that is written, and everything that is asked."""
    rng = random.Random(7)
    given = list(dict.fromkeys(made_names(EACH * 8)))
    people, companies = (
        given[:EACH],
        [f"{name.split()[-1]} Works" for name in given[EACH : 2 * EACH]],
    )
    companies = [
        f"{name} {n}" if companies.count(name) > 1 else name for n, name in enumerate(companies)
    ]
    places = [f"Port {name.split()[0]}" for name in given[2 * EACH : 3 * EACH]]
    products = [f"{name.split()[0]} {n}" for n, name in enumerate(given[3 * EACH : 5 * EACH])]
    items: list[Resource | Entity | Edge] = []
    asked: list[Question] = []

    def note(name: str, content: str, *named: str, at: datetime | None = None) -> str:
        items.append(Resource(name=name, content=content, related_entities=named, starts_at=at))
        items.extend(Edge(src=name, rel_type="mentions", dst=one, weight=0.3) for one in named)
        return name

    items += [Entity(name=name, type="person") for name in people]
    items += [Entity(name=name, type="company") for name in companies]
    items += [Entity(name=name, type="place") for name in places]
    codes = [
        f"{name.split()[-1]}ette {n + 500}" for n, name in enumerate(given[5 * EACH : 7 * EACH])
    ]
    items += [
        Entity(name=name, type="product", aliases=(code,))
        for name, code in zip(products, codes, strict=True)
    ]
    for n in range(EACH):
        person, company, place = people[n], companies[n], places[n]
        ours, rival = products[2 * n], products[2 * n + 1]
        led = rng.choice(_LED).format(
            company=company, person=person, year=1990 + n % 30, count=10 + 7 * n
        )
        first = note(f"Register {n}", led, company, person)
        second = note(
            f"Address {n}", rng.choice(_LIVES).format(person=person, place=place), person, place
        )
        made = note(
            f"Catalogue {n}",
            f"{company} makes {rng.choice(_MADE.split('|'))}, the {ours}.",
            company,
            ours,
        )
        said = note(f"Letters {n}", rng.choice(_SAID).format(rival), rival)
        more = note(f"More letters {n}", rng.choice(_SAID).format(ours), ours)
        items.append(Edge(src=ours, rel_type="competes_with", dst=rival, weight=0.8))
        asked += [
            Question("plain", f"What does {company} make?", frozenset((made,))),
            Question("alias", f"What is said about the {codes[2 * n]}?", frozenset((more,))),
            Question(
                "related", f"What do customers say about the rivals of {ours}?", frozenset((said,))
            ),
            Question(
                "bridge", f"Where does the head of {company} live?", frozenset((first, second))
            ),
        ]
    for n in range(EACH):
        board, month = f"{companies[n % 5]} board", n // 5
        at = datetime(2023, month + 1, 10, tzinfo=UTC)
        name = note(
            f"Minutes {n}",
            f"The {board} met and agreed on the budget of the quay, item {n}.",
            at=at,
        )
        asked.append(
            Question(
                "dated",
                f"What did the {board} agree on in {_MONTHS[month]} 2023?",
                frozenset((name,)),
            )
        )
    return items, asked


def measured(memory: Memory, asked: list[Question], **options: Any) -> Iterator[float]:
    """all@5 by kind."""
    found: dict[str, list[bool]] = {kind: [] for kind in KINDS}
    for question in asked:
        hits = memory.recall(
            question.text, limit=5, neighbours=0, abstain=False, now=NOW, **options
        ).hits
        found[question.kind].append(question.evidence <= {hit.name for hit in hits})
    return (100 * sum(found[kind]) / len(found[kind]) for kind in KINDS)


def main() -> int:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--page", action="store_true")
    given = arguments.parse_args()
    embedder = CachedEmbedder()
    items, asked = built()
    lines = [HEAD]
    with tempfile.TemporaryDirectory() as home, Memory.open(home, embedder=embedder) as memory:
        memory.write(items)
        memory.embed_pending()
        for name, options in WAYS.items():
            cells = " | ".join(f"{value:.1f}" for value in measured(memory, asked, **options))
            lines.append(f"| {name} | {cells} |")
            print(lines[-1], flush=True)
    embedder.save()
    if given.page:
        put_into_page({"constructed": "\n".join(lines)})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
