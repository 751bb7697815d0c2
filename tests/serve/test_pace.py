"""Short calls are done at once; all others have a thread."""

import threading

import anyio
import msgspec
import pytest
from msgspec import defstruct

from remloom import Home
from remloom.operations import METHODS, Hints, Operation
from remloom.serve.caller import Caller
from remloom.serve.pace import SHORT, Pace
from remloom.serve.service import Service
from remloom.settings import Settings
from remloom.tenancy.api_keys import SCOPES

TABLE = {one.name: one for one in METHODS}
CALLER = Caller(key_id="k", tenant="acme", scopes=frozenset(SCOPES))
NOTHING = defstruct("Nothing", [])


@pytest.fixture
def service(tmp_path):
    Home(tmp_path).create("acme")
    made = Service(Settings(home=str(tmp_path), embedder="none"))
    yield made
    made.close()


def thread_of(name="test", **changes):
    """An operation that gives the thread that does it."""
    return Operation(
        **{
            "name": name,
            "takes": NOTHING,
            "gives": None,
            "does": lambda *_: threading.current_thread(),
            "scope": "read",
            "hints": Hints(read_only=True),
            "description": "A test.",
            "is_short": lambda values: True,
            **changes,
        }
    )


def threads(service, *operations):
    """Do them one after another, and tell of each whether the loop's own thread did it."""

    async def run():
        here = threading.current_thread()
        return [await service.call(CALLER, one, NOTHING()) is here for one in operations]

    return anyio.run(run)


def test_a_short_call_is_done_at_once_when_its_memory_is_open(service):
    short, long = thread_of(), thread_of("long", is_short=None)
    assert threads(service, short, short, long, short) == [False, True, False, True]


def test_what_was_written_is_taken_in_by_a_thread(service):
    short = thread_of()
    write = thread_of("write", hints=Hints(), is_short=None)
    assert threads(service, short, short, write, short, short) == [False, True, False, False, True]


def test_calls_that_have_been_long_get_a_thread_until_they_are_short_again():
    pace, short = Pace(), thread_of()
    pace.note("acme", short, NOTHING(), SHORT * 5)
    assert not pace.is_short("acme", short, NOTHING())
    for _ in range(10):
        pace.note("acme", short, NOTHING(), SHORT / 10)
    assert pace.is_short("acme", short, NOTHING())
    assert not pace.is_short("other", short, NOTHING())


def test_what_all_waited_for_is_left_to_threads_for_a_hundred_times_as_long():
    now = [0.0]
    pace, short = Pace(clock=lambda: now[0]), thread_of()
    pace.note("acme", short, NOTHING(), SHORT / 10)
    pace.note_at_once("acme", short, NOTHING(), 0.5)
    for _ in range(100):
        pace.note("acme", short, NOTHING(), SHORT / 10)
    now[0] = 49.0
    assert not pace.is_short("acme", short, NOTHING())
    now[0] = 51.0
    assert pace.is_short("acme", short, NOTHING())


def test_how_long_a_search_takes_says_nothing_of_another_schema():
    pace, search = Pace(), TABLE["search_text"]
    of_entities, of_moments = (
        msgspec.convert({"text": "a depot", "schema": one}, search.takes)
        for one in ("entities", "moments")
    )
    pace.note("acme", search, of_entities, SHORT / 10)
    assert pace.is_short("acme", search, of_entities)
    assert not pace.is_short("acme", search, of_moments)


@pytest.mark.parametrize(
    ("name", "values", "is_short"),
    [
        ("lookup", {"labels": ["Ann"]}, True),
        ("lookup", {"labels": ["Ann"] * 100}, False),
        ("lookup", {"labels": ["Ann"], "as_of": "2026-01-01T00:00:00Z"}, False),
        ("lookup", {"labels": ["A name of sixty characters"] * 60}, True),
        ("lookup", {"labels": ["x" * 1_000] * 3}, False),
        ("search", {"vector": [1.0, 0.0]}, True),
        ("search", {"text": "a depot"}, False),
        ("search", {"vector": [1.0, 0.0], "where": "category = 'note'"}, False),
        ("search_text", {"text": "a depot"}, True),
        ("search_text", {"text": "a depot", "limit": 500}, False),
        ("search_text", {"text": "a depot " * 1_000}, False),
    ],
)
def test_what_may_be_short_reads_little_and_asks_no_model(name, values, is_short):
    operation = TABLE[name]
    assert operation.is_short(msgspec.convert(values, operation.takes)) is is_short
