"""What could hurt is given whatever is asked: no guess about a request withholds it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_request import CLOSED, OWN_QUESTIONS, QUERIES

from remloom import Memory
from remloom.embed.function import FunctionEmbedder
from remloom.errors import EmbedderError, InvalidInputError, UnknownNameError
from remloom.profile.context.request import PURPOSES

OTHERS_READ = ("letter", "somebody_else")  # as the caller says it
AGENTS = ("PlannerAgent", "CoderAgent", "RetrieverAgent", "ClarificationAgent", "MyOwnAgent", "")
# what could hurt, in its slots, a slot of one's own, an extra, and a scope
SAFETY = {
    "peanuts": ("allergies", ""),
    "bee stings": ("allergies", "project:picnic"),
    "coeliac disease": ("medical restrictions", ""),
    "epilepsy": ("health", ""),
    "warfarin": ("medication", ""),
    "insulin pump": ("own.device", ""),
    "lithium": ("extras.medications", ""),
}
OTHER_STANDING = {"Jo": "name", "Portuguese": "reply_language", "never": "autonomy.delete_files"}

FRAMES = (
    "What should I eat {}?", "Book a table at {}", "{}", "As a {} I need lunch", "Is {} safe for me?",
    "Can I take {}?", "Write to {} that I am late", "{} wants to cook for me: what may I eat?",
    "Plan {} for Mr {}'s guests and me", "Delete {}", "Was soll ich {} essen?", "¿Qué como en {}?",
    "{} で何を食べようか", "def {}(): return 'password'", "To: {}\nSubject: menu\n\nDear {},",
)  # fmt: skip
NAMES = (
    "on New Year's Eve", "Wendy's", "Ben & Jerry's", "London's Soho", "St. Patrick's Day", "teacher",
    "security conference", "nurse", "O'Hara's", "Mother's Day", "tramadol", "Grandma's", "Ana", "root",
    "my sister", "the customer", "firewall", "James' party", "Müller's", "Ḿargarét’s", "admin", "", "  ",
    "SELECT * FROM food; DROP TABLE food", "```py\nprint(1)\n```", "\u202etxet", "🥜", "x" * 500,
)  # fmt: skip

queries = st.one_of(
    st.builds(
        lambda frame, name: frame.replace("{}", name),
        st.sampled_from(FRAMES),
        st.sampled_from(NAMES),
    ),
    st.sampled_from(
        [*OWN_QUESTIONS, *CLOSED, *(query for some in QUERIES.values() for query in some)]
    ),
    # of any words there are, and of any signs
    st.text(
        alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=200
    ),
    st.sampled_from(["a ", "Anna's ", "password ", "food "]).map(lambda word: (word * 8000)[:8000]),
)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with Memory.open(tmp_path_factory.mktemp("home"), embedder="none") as memory:
        memory.profile.define_slot({
            "id": "own.device", "hub": "soft_identity", "label": "Device", "kind": "list",
            "sensitive": True, "standing": True,
        })  # fmt: skip
        for value, (slot, scope) in SAFETY.items():
            memory.profile.set(slot, value, scope=scope)
        for value, slot in OTHER_STANDING.items():
            memory.profile.set(slot, value)
        memory.profile.set("hobbies", "chess")
        yield memory


def missing(text: str) -> list[str]:
    return [value for value in (*SAFETY, *OTHER_STANDING) if value not in text]


def shown(text: str) -> list[str]:
    return [value for value in SAFETY if value in text]


@settings(max_examples=400, deadline=None)
@given(query=queries, agent=st.sampled_from(AGENTS))
def test_whatever_is_asked_all_that_could_hurt_is_given(
    memory: Memory, query: str, agent: str
) -> None:
    assert missing(str(memory.profile.context(query, agent=agent))) == []


@settings(max_examples=100, deadline=None)
@given(query=queries.filter(lambda query: bool(query.strip())))
def test_it_is_through_every_door(memory: Memory, query: str) -> None:
    assert missing(memory.context(query, profile=True)) == []
    assert not {*SAFETY} - {*shown(memory.profile.get_remme_context(query))}


@settings(max_examples=100, deadline=None)
@given(
    query=queries.filter(lambda query: bool(query.strip())),
    purpose=st.sampled_from(OTHERS_READ),
    agent=st.sampled_from(AGENTS),
)
def test_if_the_caller_says_that_others_read_it_none_of_it_is_given(
    memory: Memory, query: str, purpose: str, agent: str
) -> None:
    profile = memory.profile
    assert shown(_lines(profile.context(query, agent=agent, purpose=purpose))) == []
    assert shown(profile.get_remme_context(query, purpose=purpose)) == []
    known, _, _ = memory.context(query, profile=True, purpose=purpose).partition("Nothing remem")
    assert shown(known) == []


@pytest.mark.parametrize("purpose", PURPOSES)
def test_any_other_purpose_that_the_caller_gives_has_it(memory: Memory, purpose: str) -> None:
    given = shown(str(memory.profile.context("Fix the parser", purpose=purpose)))
    assert given == ([] if purpose in OTHERS_READ else [*SAFETY])


def test_a_purpose_without_a_profile_or_one_that_is_none_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInputError, match="profile=True"):
        memory.context("What?", purpose="letter")
    for asked in (memory.context, memory.recall):
        with pytest.raises(UnknownNameError, match="leter"):
            asked("What?", profile=True, purpose="leter")


@settings(max_examples=60, deadline=None)
@given(budget=st.integers(1, 600))
def test_what_could_hurt_goes_before_all_that_is_recalled_and_what_had_no_room_is_counted(
    memory: Memory, budget: int
) -> None:
    words = len
    text = memory.context("chess", profile=True, budget_tokens=budget, count_tokens=words)
    left_out = len(SAFETY) - len(shown(text))
    # a budget that has no room for the count either is told by the value alone
    if left_out and budget >= 80:
        assert f"{left_out} of them on what could hurt" in text
    given = memory.profile.context("chess", budget_tokens=budget)
    assert given.safety_left_out == len(SAFETY) - len(shown(_lines(given)))
    assert given.tokens <= budget


def _failing(texts: list[str]) -> list[list[float]]:
    raise RuntimeError("down")


def test_an_embedder_that_fails_takes_none_of_it_away(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    broken = FunctionEmbedder("broken", _failing, dims=8)
    with Memory.open(tmp_path_factory.mktemp("home"), embedder=broken) as memory:
        memory.profile.set("allergies", "peanuts")
        memory.profile.set("health", "epilepsy")
        given = str(memory.profile.context("Where is Anna's cake?"))
        assert "peanuts" in given
        assert "epilepsy" in given
        # what cannot recall says so; it gives no half of it
        with pytest.raises(EmbedderError):
            memory.context("Where is Anna's cake?", profile=True)


def _lines(context: object) -> str:
    return "".join(line.text for line in context.lines)  # type: ignore[attr-defined]
