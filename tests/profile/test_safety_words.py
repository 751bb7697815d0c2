"""What could hurt is never ended by words, whatever they say and whoever read them: by hand alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from remloom import Memory, Message
from remloom.errors import NotFoundError
from remloom.llm import Request
from remloom.settings import Settings
from remloom.testing.models import ScriptedModel, ScriptedReply

MARCH = datetime(2026, 3, 2, 9, tzinfo=UTC)
DAY = timedelta(days=1)
OWN = (
    {"id": "own.device", "label": "Device", "kind": "text"},
    {"id": "own.pacemaker", "label": "Pacemaker", "kind": "flag"},
    {"id": "own.drugs", "label": "Drugs", "kind": "list"},
)
# a value of each kind of slot of what could hurt, as the context has it, and what else may be said
VALUES: dict[str, tuple[str, str, str]] = {
    "food_and_dining.restrictions.allergies": ("peanuts", "peanuts", "cashews"),
    "food_and_dining.restrictions.medical": ("coeliac disease", "coeliac disease", "diabetes"),
    "identity.health": ("epilepsy", "epilepsy", "asthma"),
    "own.device": ("insulin pump", "insulin pump", "stent"),
    "own.pacemaker": ("true", "yes", "false"),
    "own.drugs": ("warfarin", "warfarin", "lithium"),
    "extras.drug_allergy": ("penicillin", "penicillin", "codeine"),
}
# what the rules find by themselves
STATEMENTS = {
    "peanuts": "I'm allergic to peanuts.",
    "coeliac disease": "I have coeliac disease.",
    "epilepsy": "I have epilepsy.",
}
# denials, and what only looks like one
DENIALS = {
    "English": (
        "I'm not allergic to {} any more.", "I'm no longer allergic to {}.", "I don't have {} any more.",
        "I'm not only allergic to {} but also to cashews.", "I'm not just allergic to {}.",
        "I'm not simply allergic to {}, it is worse.", "I'm not exclusively allergic to {}.",
        "I'm not slightly allergic to {}, I'm severely allergic.", "I'm not allergic to {}, am I?",
        "I'm not allergic to {}, my doctor was wrong to say so, or was he?",
        "It isn't that I'm not allergic to {} any more.", "I used to be allergic to {}.",
        "Who says I'm not allergic to {}?", "I never said I'm not allergic to {}.",
        "The doctor found I'm not allergic to {} at all.", "I have no allergies any more.",
        "My {} is gone.", "I don't only have {}.", "I'm cured of {}.", "No {} for me any more.",
        "I wish I wasn't allergic to {}.", "My mother says I'm not allergic to {}.",
    ),
    "German": (
        "Ich bin nicht mehr allergisch gegen {}.", "Ich habe keine Allergie gegen {}.",
        "Ich bin nicht nur gegen {} allergisch, sondern auch gegen Cashews.",
        "Ich habe {} nicht mehr.", "Meine Allergie gegen {} ist vorbei.", "Ich bin von {} geheilt.",
        "Es ist nicht so, dass ich nicht allergisch gegen {} wäre.",
    ),
    "Spanish": (
        "Ya no soy alérgico a {}.", "No soy alérgico a {}.", "No solo soy alérgico a {}.",
        "Ya no tengo {}.", "No tengo alergias.", "Me curé de {}.",
        "No es que no sea alérgico a {}.",
    ),
    "French": (
        "Je ne suis plus allergique à {}.", "Je ne suis pas allergique à {}.", "Je n'ai plus {}.",
        "Je ne suis pas seulement allergique à {}.", "Je n'ai plus aucune allergie.",
        "Je suis guéri de {}.", "Ce n'est pas que je ne sois pas allergique à {}.",
    ),
}  # fmt: skip
ALL_DENIALS = [denial for some in DENIALS.values() for denial in some]
# what an act of the caller leaves in no context
ACTS: dict[str, Callable[[Memory, str, str, str], object]] = {
    "retire": lambda memory, slot, value, _: memory.profile.retire(slot, value),
    "reject": lambda memory, slot, value, _: memory.profile.reject(slot, value),
    "forget": lambda memory, slot, value, _: memory.profile.forget(slot, value),
    "hide": lambda memory, slot, value, _: memory.profile.hide(slot, value),
    "correct": lambda memory, slot, value, other: memory.profile.correct(slot, other, was=value),
    "change": lambda memory, slot, value, other: memory.profile.correct(
        slot, other, was=value, reason="changed"
    ),
}


def opened(home: Path, llm: ScriptedModel | None = None) -> Memory:
    model: Any = {"llm": llm} if llm is not None else {}
    memory = Memory.open(home, embedder="none", settings=Settings(llm_retries=0), **model)
    for slot in OWN:
        memory.profile.define_slot(
            {"hub": "soft_identity", "sensitive": True, "standing": True, **slot}
        )
    return memory


def say(memory: Memory, *turns: str, first: int = 0) -> None:
    """Say each turn on a day of its own from this one on, in a chat of its own."""
    for day, turn in enumerate(turns, first):
        message = Message(speaker="user", text=turn, at=MARCH + day * DAY)
        memory.read_chat([message], uri=f"{day}.json")
    memory.profile.observe()
    memory.profile.normalise()
    assert memory.profile.staged() == []


def missing(memory: Memory, values: list[str], at: datetime | None = None) -> list[str]:
    """The values that one of the doors does not give."""
    texts = [str(memory.profile.context("What is for lunch?", as_of=at))]
    if at is None:
        texts.append(memory.context("What is for lunch?", profile=True))
        texts.append(memory.profile.get_remme_context("What is for lunch?"))
        given = {str(belief.value) for belief in memory.profile.beliefs()}
        texts.append(" ".join(f'"{value}"' for value in given).replace("True", "yes"))
    return [value for value in values if any(f'"{value}"' not in text for text in texts)]


@pytest.mark.parametrize("language", DENIALS)
def test_no_denial_that_the_rules_read_ends_it(tmp_path: Path, language: str) -> None:
    denials = [denial.format(value) for denial in DENIALS[language] for value in STATEMENTS]
    with opened(tmp_path) as memory:
        say(memory, *STATEMENTS.values())
        assert missing(memory, [*STATEMENTS]) == []
        say(memory, *denials, first=len(STATEMENTS))
        # as of each of them: no later one may make up for it
        for day, denial in enumerate(denials, len(STATEMENTS)):
            assert missing(memory, [*STATEMENTS], MARCH + day * DAY) == [], denial
        assert missing(memory, [*STATEMENTS]) == []


def model_that_reads(claims: dict[str, dict[str, Any]]) -> ScriptedModel:
    """A model that finds these claims, by the turn that says each."""

    def reply(request: Request) -> ScriptedReply:
        found = [{"quote": turn, **one} for turn, one in claims.items() if turn in request.prompt]
        return {"items": found if request.task == "profile_extract" else []}

    return ScriptedModel(reply)


@pytest.fixture(params=["against", "retire", "the whole", "another"])
def denied(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Memory]:
    """A memory in which a model took every denial at its word, of every slot."""
    claims: dict[str, dict[str, Any]] = {}
    for slot, (value, _, other) in VALUES.items():
        claims[f"[{slot}] It is {value}."] = {"key": slot, "value": value}
        # the model reads all of them alike: a few of each language do
        for number, denial in enumerate(ALL_DENIALS[::5]):
            said = {"against": "against", "retire": "retire", "the whole": "retire"}
            claims[f"[{slot} {number}] " + denial.format(value)] = {
                "key": slot,
                "value": {"the whole": "", "another": other}.get(request.param, value),
                "polarity": said.get(request.param, "for"),
                "signal": "correction" if number % 2 else "explicit_preference",
            }
    with opened(tmp_path, model_that_reads(claims)) as memory:
        say(memory, *claims)
        yield memory


def test_no_denial_that_a_model_reads_ends_it_until_the_caller_does(denied: Memory) -> None:
    shown = [shown for _, shown, _ in VALUES.values()]
    assert missing(denied, shown) == []
    for act, (slot, (value, said, other)) in zip([*ACTS, "set"], VALUES.items(), strict=True):
        if act == "set":
            denied.profile.set(slot, other)
        else:
            ACTS[act](denied, slot, value, other)
        shown.remove(said)
        assert f'"{said}" (' not in _standing(denied), (act, slot)
        assert missing(denied, shown) == []


@pytest.mark.parametrize("act", ACTS)
def test_each_act_of_the_caller_ends_it(tmp_path: Path, act: str) -> None:
    claims: dict[str, dict[str, Any]] = {}
    for slot, (value, _, _) in VALUES.items():
        claims[f"{slot} is so."] = {"key": slot, "value": value}
        claims[f"{slot} is over."] = {"key": slot, "value": value, "polarity": "retire"}
    with opened(tmp_path, model_that_reads(claims)) as memory:
        say(memory, *claims)
        left = [shown for _, shown, _ in VALUES.values()]
        for slot, (value, shown, other) in VALUES.items():
            assert missing(memory, left) == []
            ACTS[act](memory, slot, value, other)
            left.remove(shown)
            assert f'"{shown}" (' not in _standing(memory), slot
        if act == "hide":
            return
        # said again by hand it holds, whatever was said and done before
        for slot, (value, shown, _) in VALUES.items():
            if act in ("retire", "reject"):
                memory.profile.confirm(slot, value)
            else:
                memory.profile.set(slot, value)
            left.append(shown)
            assert memory.profile.why(slot, value).belief.state == "current", slot
        assert missing(memory, left) == []


def test_an_allergy_that_is_rejected_never_was_and_one_that_is_retired_was(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none") as memory:
        memory.read_text("I'm allergic to soy and to rum.", uri="note.md")
        memory.profile.observe()
        for value in ("soy", "rum"):
            memory.profile.set("allergies", value)
        memory.profile.reject("allergies", "rum")
        memory.profile.retire("allergies", "soy")
        text = memory.profile.context("What shall I drink?").text
    assert 'set right: "rum" → never so' in text
    assert 'before: "soy" → no longer so' in text


def test_what_was_denied_is_marked_explained_and_asked_until_it_is_answered(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        say(memory, STATEMENTS["peanuts"], "I'm not allergic to peanuts any more.")
        given = memory.profile.context("What is for lunch?")
        always, asked = (line for line in given.lines if line.slot.endswith("allergies"))
        assert (always.part, asked.part) == ("standing", "unsure")
        assert "may be over: the user has to confirm that" in always.text
        assert 'ask: "Do you have allergies?"' in asked.text
        assert "may be over" in memory.profile.get_remme_context("What is for lunch?")
        why = memory.profile.why("allergies", "peanuts")
        assert why.belief.state == "disputed"
        assert [one.polarity for one in why.evidence] == ["for", "retire"]
        assert memory.profile.changes() == memory.profile.history("allergies")
        assert [change.after for change in memory.profile.changes()] == ["peanuts"]
        memory.profile.confirm("allergies", "peanuts")
        given = memory.profile.context("What is for lunch?")
        assert "may be over" not in str(given)
        assert [line.part for line in given.lines] == ["standing"]


def test_of_two_values_that_were_said_both_are_given_until_one_is_settled(tmp_path: Path) -> None:
    def two() -> dict[str, dict[str, Any]]:
        return {
            "It is a pump.": {"key": "own.device", "value": "pump"},
            "It is a stent.": {"key": "own.device", "value": "stent"},
        }

    answers: dict[str, tuple[Callable[[Memory], object], list[str]]] = {
        "confirm": (lambda memory: memory.profile.confirm("own.device", "pump"), ["pump"]),
        "reject": (lambda memory: memory.profile.reject("own.device", "pump"), ["stent"]),
        "reject the other": (lambda memory: memory.profile.reject("own.device", "stent"), ["pump"]),
        "retire": (lambda memory: memory.profile.retire("own.device", "stent"), ["pump"]),
        "forget": (lambda memory: memory.profile.forget("own.device", "pump"), ["stent"]),
        "forget the other": (lambda memory: memory.profile.forget("own.device", "stent"), ["pump"]),
        "set": (lambda memory: memory.profile.set("own.device", "valve"), ["valve"]),
        "confirm the other": (lambda memory: memory.profile.confirm("own.device", "stent"), ["stent"]),
    }  # fmt: skip
    for name, (answer, left) in answers.items():
        with opened(tmp_path / name, model_that_reads(two())) as memory:
            say(memory, *two())
            assert missing(memory, ["pump"]) == []
            assert '"stent"' in str(memory.profile.context("What is for lunch?"))
            answer(memory)
            standing = _standing(memory).partition("before:")[0]
            assert [one for one in ("pump", "stent", "valve") if one in standing] == left, name


def test_an_answer_to_what_another_value_has_followed_is_refused(tmp_path: Path) -> None:
    with opened(tmp_path) as memory:
        say(memory, "I live in Berlin.", "I moved to Lisbon last week.")
        for answer in (memory.profile.confirm, memory.profile.reject, memory.profile.retire):
            with pytest.raises(NotFoundError, match="before"):
                answer("location_region", "Berlin")
        home = memory.profile.get("location_region")
        assert home is not None
        assert (home.value, home.state) == ("Lisbon", "current")


@pytest.mark.parametrize(
    ("key", "could_hurt"),
    [
        ("drug_allergy", True),
        ("drug_allergies", True),
        ("current medication list", True),
        ("a chronic illness", True),
        ("device_model", True),
        ("blood_type", False),
        ("fav_team", False),
        ("meditation", False),
    ],
)
def test_an_extra_with_a_name_of_what_could_hurt_in_its_key_is_treated_so(
    tmp_path: Path, key: str, could_hurt: bool
) -> None:
    with opened(tmp_path) as memory:
        extra = memory.profile.slot(f"extras.{key}")
        assert extra.is_safety == could_hurt
        memory.profile.set(extra.id, "something")
        given = str(memory.profile.context("Where is the station?"))
        assert ('"something"' in given) == could_hurt


def _standing(memory: Memory) -> str:
    """What the context gives as what holds."""
    given = memory.profile.context("What is for lunch?")
    return "".join(line.text for line in given.lines if line.part == "standing")
