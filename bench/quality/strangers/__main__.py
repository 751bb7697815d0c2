"""What the program makes of strangers' words: python -m bench.quality.strangers [--set second]

turns: of turns that say something lasting of the user, how many are heard (a claim whose quote
overlaps the words that say it), what is believed of turns that say nothing lasting, and how many
turns are taken for a language that is not heard. requests:
whether an allergy and a condition are in the context of each request of the user's own where they
could matter, and whether what is the user's own business is in that of requests for others. pairs:
whether the preference that governs a request is in its context, among twenty others, and in that of
an unrelated request. support: lies that no doubt was found of, and true claims that were doubted.
changes: statements that ended an earlier one. questions, orders: which kind of question, of order
and preference is told right, by the head and by the rule where there is one.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from remloom import Memory, Message
from remloom.embed.bundled.sentence_embedder import MiniLM
from remloom.heads.head import ORDER, head
from remloom.model import Resource
from remloom.profile.evidence.evidence import ME
from remloom.profile.evidence.passages import passage_of
from remloom.profile.extract.hearing import Hearing
from remloom.profile.extract.scan import Extracted, FoundClaim
from remloom.profile.slots.registry import registry
from remloom.reader.check.citations import Basis, doubts
from remloom.retrieve.guidance import is_instruction, is_preference
from remloom.retrieve.question import decided
from remloom.settings import Settings

FOLDER = Path(__file__).parent
SETS = {"first": FOLDER, "second": FOLDER / "second", "third": FOLDER / "third"}
LANGUAGES = ("en", "de", "es", "fr")
AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
GROUP = 21  # preferences of one user
ALLERGY, CONDITION = "I'm allergic to peanuts.", "I have epilepsy."
LIFE = (
    "I'm vegetarian.",
    "I live in Lisbon.",
    "I work as a notary.",
    "I love jazz.",
    "My sister is called Ottilie.",
)

WORDS = (
    "can't stand phone calls, never could",
    "nothing beats the night ferry, I take it whenever there is one",
    "we've kept goats on the hill above Bala since 2009",
    "I was raised a Quaker and still go every Sunday",
    "money is tight since the divorce",
)

Item: TypeAlias = dict[str, Any]
Figures: TypeAlias = dict[str, Any]


class Texts(NamedTuple):
    """A set of texts that judge."""

    folder: Path

    def of(self, name: str, language: str, table: str = "item") -> list[Item]:
        """The items of the file of a language."""
        return self._read(f"{name}.{language}", table)

    def all(self, name: str, language: str) -> list[Item]:
        """The items in a language, of a file that has all languages."""
        return [item for item in self._read(name, "item") if item["language"] == language]

    def _read(self, name: str, table: str) -> list[Item]:
        data = tomllib.loads((self.folder / f"{name}.toml").read_text(encoding="utf-8"))
        items: list[Item] = data[table]
        return items


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=sorted(JUDGES), action="append")
    parser.add_argument("--set", choices=SETS, default="first")
    parser.add_argument("--language", choices=LANGUAGES, action="append")
    parser.add_argument(
        "--errors",
        action="store_true",
        help="print what went wrong, which ends the set's life as a test",
    )
    chosen = parser.parse_args()
    for name, judge in JUDGES.items():
        if chosen.only and name not in chosen.only:
            continue
        for language in chosen.language or LANGUAGES:
            errors: list[str] = []
            try:
                figures = judge(Texts(SETS[chosen.set]), language, errors)
            except FileNotFoundError as error:
                print(f"{name}.{language}: there is no {error.filename}")
                continue
            print(f"{name}.{language}", json.dumps(figures, ensure_ascii=False))
            if chosen.errors:
                print(*(f"    {error}" for error in errors), sep="\n")


def judge_turns(texts: Texts, language: str, errors: list[str]) -> Figures:
    """Which lasting statements are heard, and what is believed wrongly."""
    count: Counter[str] = Counter()
    heard_kinds: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    false_traps: Counter[str] = Counter()
    for number, item in enumerate(texts.of("turns", language)):
        speaker = "user" if item["from"] == "user" else item.get("speaker") or "Somebody"
        extracted = _extracted(_turn(number, item["text"], speaker))
        found = extracted.found
        count["turns"] += 1
        count["unheard"] += len(extracted.unheard or ())
        # what others say of themselves says nothing of the user
        says = item["says"] if item["from"] == "user" else "nothing"
        if says == "lasting":
            start = item["text"].find(item["words"])
            end = start + len(item["words"])
            right = [
                one
                for one in found
                if start < 0 or (one.claim.span[0] < end and one.claim.span[1] > start)
            ]
            count["lasting"] += 1
            count["heard"] += bool(right)
            kinds[item["kind"]] += 1
            heard_kinds[item["kind"]] += bool(right)
            if not right:
                errors.append(f"not heard: {item['text']!r}")
        else:
            count[says] += 1
            count[f"false {says}"] += bool(found)
            if found:
                false_traps[item["trap"] or says] += 1
                said = [(one.claim.key, one.claim.value) for one in found]
                errors.append(f"false ({says}, {item['trap']}): {item['text']!r}: {said}")
    false = count["false nothing"] + count["false passing"]
    return {
        "heard": _share(count["heard"], count["lasting"]),
        "by kind": {kind: _share(heard_kinds[kind], kinds[kind]) for kind in kinds},
        "precision": _share(count["heard"], count["heard"] + false),
        "false of nothing": _share(count["false nothing"], count["nothing"]),
        "false of passing": _share(count["false passing"], count["passing"]),
        "traps": dict(false_traps),
        "of another language": _share(count["unheard"], count["turns"]),
    }


def judge_safety(texts: Texts, language: str, errors: list[str]) -> Figures:
    """What could hurt: how much of it is heard, and what is taken for it."""
    count: Counter[str] = Counter()
    for number, item in enumerate(texts.all("safety", language)):
        found = _heard(_turn(number, item["text"]))
        slots = {slot.id for one in found if (slot := registry().find(one.claim.key))}
        is_safety = any(registry().get(slot).is_safety for slot in slots)
        count[item["says"]] += 1
        count[f"{item['says']} kept"] += bool(slots)
        count[f"{item['says']} safe"] += is_safety
        if is_safety == (item["says"] == "nothing"):
            errors.append(f"{item['says']}: {item['text']!r} -> {sorted(slots)}")
    says = ("allergy", "condition", "medication")
    return {
        **{one: _share(count[f"{one} safe"], count[one]) for one in says},
        "kept somewhere": _share(
            sum(count[f"{one} kept"] for one in says), sum(count[one] for one in says)
        ),
        "taken for it": _share(count["nothing safe"], count["nothing"]),
    }


def judge_requests(texts: Texts, language: str, errors: list[str]) -> Figures:
    """What requests for the user, for others and for anybody are given."""
    count: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as home:
        memory = Memory.open(home)
        _tell(memory, [ALLERGY, CONDITION, *LIFE, *WORDS])
        for item in texts.of("requests", language):
            context = memory.profile.context(item["text"])
            whom = (
                "own"
                if item["whom"] == "own"
                else "others"
                if item["whom"] in ("others", "public")
                else "code"
            )
            count[whom] += 1
            if whom == "own" and item["safety"]:
                count["safety"] += 1
                safe = "peanuts" in context.text and "epilepsy" in context.text
                count["safe"] += safe
                if not safe:
                    errors.append(f"without safety: {item['text']!r}")
            personal = [
                line.value for line in context.lines if line.value in ("vegetarian", "Lisbon")
            ]
            count[f"personal {whom}"] += bool(personal)
            words = [line.value for line in context.lines if line.value in (*WORDS, *LIFE)]
            count[f"words {whom}"] += bool(words)
            if whom == "others" and personal:
                errors.append(f"personal for others: {item['text']!r} -> {personal}")
        memory.close()
    return {
        "safe": _share(count["safe"], count["safety"]),
        "personal given, own": _share(count["personal own"], count["own"]),
        "personal given, others": _share(count["personal others"], count["others"]),
        "personal given, code": _share(count["personal code"], count["code"]),
        **{
            f"own words given, {whom}": _share(count[f"words {whom}"], count[whom])
            for whom in ("own", "others", "code")
        },
    }


def judge_pairs(texts: Texts, language: str, errors: list[str]) -> Figures:
    """Whether the preference that governs a request reaches it."""
    pairs = texts.of("requests", language, "pair")
    count: Counter[str] = Counter()
    for begin in range(0, len(pairs), GROUP):
        group = pairs[begin : begin + GROUP]
        # who says a thing twice is cited for the later one
        group += [pair for pair in pairs if pair not in group][: GROUP - len(group)]
        with tempfile.TemporaryDirectory() as home:
            memory = Memory.open(home)
            citations = _tell(memory, [pair["preference"] for pair in group])
            beliefs = memory.profile.beliefs()
            heard = {
                cited
                for cited in citations
                if any(one.citation.startswith(cited) for one in beliefs)
            }
            for number, pair in enumerate(group[: len(pairs) - begin]):
                cited = citations[number]
                asked = memory.profile.context(pair["request"])
                other = memory.profile.context(pair["unrelated"])
                # how answers shall be is given whatever is asked
                called_for = [line for line in other.lines if line.part != "standing"]
                reached = any(line.citation.startswith(cited) for line in asked.lines)
                strayed = any(line.citation.startswith(cited) for line in called_for)
                count["pairs"] += 1
                count["heard"] += cited in heard
                count["reached"] += reached
                count["strayed"] += strayed
                count["silent"] += not called_for
                count["lines"] += sum(line.part != "standing" for line in asked.lines)
                if not reached:
                    errors.append(f"not reached: {pair['preference']!r} <- {pair['request']!r}")
                if strayed:
                    errors.append(f"strayed: {pair['preference']!r} <- {pair['unrelated']!r}")
            memory.close()
    return {
        "reached": _share(count["reached"], count["pairs"]),
        "heard": _share(count["heard"], count["pairs"]),
        "strayed": _share(count["strayed"], count["pairs"]),
        "silent for the unrelated": _share(count["silent"], count["pairs"]),
        "lines a request": round(count["lines"] / max(count["pairs"], 1), 1),
    }


def judge_support(texts: Texts, language: str, errors: list[str]) -> Figures:
    """Lies that pass, and true claims that are doubted."""
    count: Counter[str] = Counter()
    passed: Counter[str] = Counter()
    items = texts.of("support", language)
    for item in items:
        scope = _sentences_of(item["passage"], item["quote"])
        basis = Basis(scope=scope, cited=item["passage"])
        lie, holds = doubts(item["lie"], basis), doubts(item["holds"], basis)
        count["passed"] += not lie
        count["doubted"] += bool(holds)
        if not lie:
            passed[item["lie_kind"]] += 1
            errors.append(f"lie passed ({item['lie_kind']}): {item['lie']!r} of {item['quote']!r}")
        if holds:
            errors.append(f"true doubted: {item['holds']!r} of {item['quote']!r}: {holds}")
    return {
        "lies that pass": _share(count["passed"], len(items)),
        "true that is doubted": _share(count["doubted"], len(items)),
        "kinds that pass": dict(passed.most_common()),
    }


def judge_changes(texts: Texts, language: str, errors: list[str]) -> Figures:
    """Statements that end an earlier one, and such that must not."""
    count: Counter[str] = Counter()
    for item in texts.of("changes", language):
        with tempfile.TemporaryDirectory() as home:
            memory = Memory.open(home, embedder="none")
            first, _ = _tell(memory, [item["earlier"], item["later"]])
            beliefs = [
                belief
                for belief in memory.profile.beliefs()
                if belief.citation.startswith(first) or any(held.value for held in belief.history)
            ]
            of_first = [belief for belief in beliefs if belief.citation.startswith(first)]
            known = bool(beliefs)
            ended = known and not any(
                belief.holds and belief.state == "current" for belief in of_first
            )
            kind = "ends" if item["ends"] else "stands"
            count[kind] += 1
            count[f"{kind} known"] += known
            count[f"{kind} right"] += known and ended == item["ends"]
            memory.close()
    return {
        "ended, of what ends": _share(count["ends right"], count["ends"]),
        "kept, of what stands": _share(count["stands right"], count["stands"]),
        "the earlier was heard": _share(
            count["ends known"] + count["stands known"], count["ends"] + count["stands"]
        ),
    }


def judge_questions(texts: Texts, language: str, errors: list[str]) -> Figures:
    """Which kinds of questions are told right; to recall a fact and the world are alike."""
    told = []
    for item in texts.all("questions", language):
        kind = "other" if item["kind"] in ("fact", "world") else item["kind"]
        told.append((kind, decided(item["text"]).label))
        if len(set(told[-1])) > 1:
            errors.append(f"{told[-1]}: {item['text']!r}")
    return {"head": _by_kind(told)}


def judge_orders(texts: Texts, language: str, errors: list[str]) -> Figures:
    """Which standing orders and preferences are told right."""
    kinds = {"standing": "order"}
    by_head, by_rule = [], []
    for item in texts.all("orders", language):
        text = item["text"]
        label = head(ORDER).label_of(text)
        ruled = "order" if is_instruction(text) else "preference" if is_preference(text) else "none"
        by_head.append((item["says"], kinds.get(label, label)))
        by_rule.append((item["says"], ruled))
        if len(set(by_head[-1])) > 1:
            errors.append(f"{by_head[-1]}: {text!r}")
    return {"head": _by_kind(by_head), "rule": _by_kind(by_rule)}


JUDGES: dict[str, Callable[[Texts, str, list[str]], Figures]] = {
    "turns": judge_turns,
    "safety": judge_safety,
    "requests": judge_requests,
    "pairs": judge_pairs,
    "support": judge_support,
    "changes": judge_changes,
    "questions": judge_questions,
    "orders": judge_orders,
}


def _turn(number: int, text: str, speaker: str = "user") -> Resource:
    return Resource(
        name=f"turn {number}",
        uri="chat.json",
        category="chat",
        content=text,
        metadata={"speaker": speaker},
        ordinal=number,
        starts_at=AT,
    )


def _heard(turn: Resource) -> list[FoundClaim]:
    """What rules and heads find that a turn says of the user."""
    return list(_extracted(turn).found)


def _extracted(turn: Resource) -> Extracted:
    passage = passage_of(turn, Settings())
    if passage is None or passage.subject != ME:
        return Extracted()
    return _hearing()([passage])


@cache
def _hearing() -> Hearing:
    embedder = MiniLM()
    return Hearing(
        lambda texts: dict(zip(texts, embedder.embed_documents(texts), strict=True)), embedder.name
    )


def _tell(memory: Memory, texts: list[str]) -> list[str]:
    """Have the user say each in a chat of its own; returns their addresses."""
    uris = []
    for number, text in enumerate(texts):
        uri = f"chat-{number:03}.json"
        memory.read_chat(
            [Message(speaker="user", text=text, at=AT + timedelta(days=number))], uri=uri
        )
        uris.append(uri)
    memory.profile.observe()
    return uris


def _sentences_of(passage: str, quote: str) -> str:
    """The lines of a passage that a quote stands in."""
    return next((line for line in passage.splitlines() if quote in line), passage)


def _by_kind(told: list[tuple[str, str]]) -> dict[str, str]:
    """How much was told right, of all and of each kind; told are pairs of what is, and of what was
    said."""
    right = Counter(kind for kind, said in told if kind == said)
    kinds = Counter(kind for kind, _ in told)
    of_all = {"all": _share(right.total(), len(told))}
    return of_all | {kind: _share(right[kind], kinds[kind]) for kind in kinds}


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f} of {whole}" if whole else "of 0"


if __name__ == "__main__":
    main()
