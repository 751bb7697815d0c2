"""Two tenants of one home, and what tells that something of the other one, or of the database
itself, came out.

`mine` may be asked anything. `other` holds canaries in every field. An answer to `mine` may hold no
canary, no name out of the catalogues of the database, and nothing that only smuggled text could
have computed.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from asking import MEGABYTES, SECONDS, Asker, Call, Outcome

from remloom import Edge, Entity, Memory, Moment, Resource
from remloom.testing.embedder import WordEmbedder

CANARY = "zebrafinch"
COMPUTED = "zqxj"  # what `replace('zqAxj', 'A', '')` is
_BEGAN = datetime(2026, 3, 1, 10, tzinfo=UTC)
# Words of the catalogues that no statement of the grammar and no record has.
_CATALOGUE = (
    "pg_toast", "pg_statistic_ext", "pg_default_acl", "remloom_tenant", "root:x:0", "/bin/bash", "create table", "gcc",
    "posix_fadvise", "pgdata", "sqlite_sequence", "sqlite_stat", "without rowid", "tenant_id", "postgresql 1",
)  # fmt: skip


def plant(home: str, *, records: int = 300) -> None:
    """Make both tenants."""
    embedder = WordEmbedder()
    with Memory.open(home, tenant="mine", embedder=embedder) as memory:
        memory.write(_mine(records))
        memory.embed_pending()
        memory.admin.optimize()
    with Memory.open(home, tenant="other", embedder=embedder) as memory:
        memory.write(others())
        memory.embed_pending()
        memory.admin.optimize()


def _mine(records: int) -> list[Any]:
    long = "a" * 3_000 + "!"
    made: list[Any] = [
        Resource(
            name=f"note {n}", content=f"Tea of day {n}. {long}", category=("note", "spec", "")[n % 3],
            uri=f"notes/{n}.md", starts_at=_BEGAN + timedelta(days=n),
            metadata={"a": {"b": n}, "tags": ["x", "y"], "n": n / 7},
        )
        for n in range(records)
    ]  # fmt: skip
    made += [
        Entity(
            name=f"Person {n}",
            type="person",
            aliases=(f"P{n}",),
            summary="Drinks tea.",
            properties={"age": n},
        )
        for n in range(30)
    ]
    made += [
        Moment(name=f"Moment {n}", type="meeting", starts_at=_BEGAN, ends_at=_BEGAN + timedelta(hours=n),
               summary="Tea.", topic_tags=("tea",), metadata={"room": n})
        for n in range(10)
    ]  # fmt: skip
    made += [
        Edge(src=f"Person {n}", rel_type="knows", dst=f"Person {(n * 7) % 30}") for n in range(30)
    ]
    return made


def others() -> list[Any]:
    """The other tenant's: the canary in every field that can hold one."""
    word = CANARY
    return [
        Resource(name=f"{word} note", content=f"The {word} sings at noon.", category=word, uri=f"{word}/1.md",
                 context=word, metadata={word: word}, related_entities=(f"{word} entity",), language="en"),
        Entity(name=f"{word} entity", type=word, aliases=(f"{word} alias",), summary=word, properties={word: [word]}),
        Moment(name=f"{word} moment", type=word, starts_at=_BEGAN, summary=word, topic_tags=(word,),
               emotion_tags=(word,), metadata={word: word}),
        Edge(src=f"{word} entity", rel_type=word, dst=f"{word} thin", properties={word: word}),
    ]  # fmt: skip


def attacked(home: str, calls: Iterable[Call]) -> tuple[list[str], Counter[str]]:
    """What was wrong with the outcomes of these calls, and how many came out which way."""
    wrong: list[str] = []
    kinds: Counter[str] = Counter()
    with Asker(home, "mine") as asker:
        for call, outcome in asker.ask(calls):
            kinds[outcome.kind] += 1
            found = said(call, outcome)
            if not found and outcome.seconds > SECONDS:
                found = f"took {outcome.seconds:.1f} s"
            if not found and outcome.megabytes > MEGABYTES:
                found = f"took {outcome.megabytes:.0f} MB"
            if found:
                wrong.append(f"[{call.family}] {call.method}{_shown(call)} {found}")
    if kept := os.environ.get("REMLOOM_ATTACK_FOUND"):
        with open(kept, "a", errors="backslashreplace") as file:
            file.writelines(f"{line}\n" for line in wrong)
    return wrong, kinds


def _shown(call: Call) -> str:
    text = f"{call.args}{call.given or ''}"
    return text if len(text) < 400 else f"{text[:300]} … ({len(text):,} characters)"


def said(call: Call, outcome: Outcome) -> str:
    """What is wrong with an outcome; empty when nothing is."""
    if outcome.kind == "killed":
        return f"had to be killed {outcome.text}"
    if outcome.kind == "raw":
        return f"raised a raw error: {outcome.text[:300]}"
    if call.refused and outcome.kind == "answered":
        return f"was answered and had to be refused: {outcome.text[:300]}"
    if "bug in Remloom" in outcome.text or "run `remloom migrate" in outcome.text:
        return f"blames Remloom: {outcome.text[:300]}"
    if ("\\u001b" in outcome.text or "\x1b" in outcome.text) and "\\x1b" not in spoken(call):
        return f"speaks to the terminal: {outcome.text[:300]!r}"
    if foreign := seen(outcome.text, spoken(call)):
        return f"shows {foreign!r}: {outcome.text[:300]}"
    return ""


def seen(text: str, asked: str = "") -> str:
    """What is in a text and may not be: a canary, a word of the catalogue, what was computed by
    smuggled text."""
    low = text.casefold()
    asked = asked.casefold()
    # a plan names the tables and conditions of the store
    explained = re.search(r"\bexplain\b", asked) is not None
    for word in (CANARY, COMPUTED, *(() if explained else _CATALOGUE)):
        for dress in (word, word[::-1], word.encode().hex()):
            if dress in low and dress not in asked:
                return dress
    return ""


def spoken(call: Call) -> str:
    """The words that the caller said, which may come back as they are."""
    return re.sub(r"\\(['\"])", r"\1", f"{call.args} {call.given}")


def digest(home: str, tenant: str) -> bytes:
    """All that a tenant holds, to see that nothing was written."""
    import io

    stream = io.BytesIO()
    with Memory.open(home, tenant=tenant, embedder="none", create=False) as memory:
        memory.admin.export(stream)
    return stream.getvalue()
