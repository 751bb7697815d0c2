"""Asking a model: replies checked and repaired, limits kept, everything in the ledger."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec import Struct
from msgspec.structs import replace

from remloom import Memory
from remloom.errors import (
    BudgetError,
    CutOffError,
    ModelCallsForbiddenError,
    ModelFailedError,
    ModelNotConfiguredError,
    ModelRefusedError,
    ModelUnavailableError,
    ReplyError,
    UnknownNameError,
)
from remloom.llm import LLM, Budget, Call, Model, Reply, Request
from remloom.llm.ledger import Usage, report, rows
from remloom.model import Resource
from remloom.settings import Settings, TaskSettings
from remloom.store.sqlite import SqliteStore
from remloom.testing import Cut, ScriptedModel
from remloom.testing.conformance import put
from waiting import PATIENCE

PASSAGES = {"passages": ["one", "two", "three"]}


class Learning(Struct):
    entity: str
    learning: str
    weight: float = 1.0


@pytest.fixture
def store(tmp_path: Path) -> Any:
    opened = SqliteStore(tmp_path / "memory.db")
    yield opened
    opened.close()


def learnings(llm: LLM) -> list[Learning]:
    return llm.ask("entities", {"passage": "Sarah leads Alpha."}, returns=list[Learning])


SARAH = [{"entity": "Sarah", "learning": "She leads Alpha."}]


@pytest.mark.parametrize(
    "reply",
    [
        {"items": SARAH},
        SARAH,
        'Here you are:\n```json\n[{"entity": "Sarah", "learning": "She leads Alpha."}]\n```\nAnything else?',
        '<think>{"items": []}? No.</think> {"items": [{"entity":"Sarah","learning":"She leads Alpha.","weight":"1"}]}',
        'Sure! [{"entity": "Sarah", "learning": "She leads Alpha.", "mood": "glad"}]',
    ],
)
def test_a_list_is_read_from_whatever_a_model_wraps_it_in(reply: Any) -> None:
    model = ScriptedModel([reply])
    assert learnings(LLM(model)) == [Learning("Sarah", "She leads Alpha.")]
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        ("no idea", "not JSON"),
        ('{"items": [{"entity": "Sarah"}]}', "missing required field `learning`"),
        ('{"items": "Sarah"}', "Expected `array`"),
        ("", "empty"),
    ],
)
def test_a_reply_that_does_not_fit_is_sent_back_once_with_what_is_wrong(
    reply: str, problem: str
) -> None:
    model = ScriptedModel([reply, {"items": SARAH}])
    assert learnings(LLM(model)) == [Learning("Sarah", "She leads Alpha.")]
    first, second = model.requests
    assert first.turns == ()
    assert (second.turns[0].reply, second.prompt) == (reply, first.prompt)
    assert problem in second.turns[0].remark


def test_a_second_reply_that_does_not_fit_is_an_error_that_keeps_it() -> None:
    with pytest.raises(ReplyError, match="task entities") as caught:
        learnings(LLM(ScriptedModel(["no", "still no"])))
    assert (caught.value.fields["raw"], caught.value.fields["task"]) == ("still no", "entities")


def test_text_is_taken_as_it_is_and_an_empty_one_refused() -> None:
    assert LLM(ScriptedModel([" Was ist Zeit? \n"])).ask("question", PASSAGES) == "Was ist Zeit?"
    with pytest.raises(ReplyError, match="empty"):
        LLM(ScriptedModel(["", "  "])).ask("question", PASSAGES)


def test_a_reply_that_was_cut_off_is_asked_for_once_more_and_shorter_then_an_error_says_what_to_raise() -> (
    None
):
    model = ScriptedModel(
        [Cut("What is, in the end, and when all is said and done"), "What lasts?"]
    )
    assert LLM(model).ask("question", PASSAGES) == "What lasts?"
    assert "in at most 40 words" in model.requests[1].turns[0].remark
    with pytest.raises(CutOffError, match="120 tokens") as caught:
        LLM(ScriptedModel([Cut("What is"), Cut("What is it")])).ask("question", PASSAGES)
    assert caught.value.fields["raw"] == "What is it"
    assert "[llm_tasks.question] max_tokens = 240" in caught.value.remedy
    with pytest.raises(CutOffError):
        learnings(LLM(ScriptedModel([Cut('{"items": [{"entity": "Sar')] * 2)))
    whole = Cut('{"items": [{"entity": "Sarah", "learning": "She leads Alpha."}]}   ')
    assert len(learnings(LLM(ScriptedModel([whole])))) == 1


def test_what_may_succeed_later_is_asked_again_and_what_will_not_is_not() -> None:
    busy = ModelUnavailableError("busy", status=503)
    assert LLM(ScriptedModel([busy, busy, "yes?"]), wait=0.01).ask("question", PASSAGES) == "yes?"
    llm = LLM(ScriptedModel(lambda _: busy), settings=Settings(llm_retries=2), wait=0.01)
    with pytest.raises(ModelUnavailableError, match="busy"):
        llm.ask("question", PASSAGES)
    refusing = ScriptedModel(lambda _: ModelRefusedError("wrong key", status=401))
    with pytest.raises(ModelRefusedError):
        LLM(refusing).ask("question", PASSAGES)
    assert len(refusing.requests) == 1


def test_an_endpoint_that_says_how_long_to_wait_is_waited_for_unless_it_is_too_long() -> None:
    began = time.monotonic()
    model = ScriptedModel([ModelUnavailableError("slow", status=429, retry_after=0.3), "yes?"])
    LLM(model, wait=0.001).ask("question", PASSAGES)
    assert time.monotonic() - began >= 0.3
    patient = ScriptedModel([ModelUnavailableError("slow", status=429, retry_after=86_400.0)])
    with pytest.raises(ModelUnavailableError):
        LLM(patient).ask("question", PASSAGES)


def test_errors_stand_in_the_place_of_their_result() -> None:
    model = ScriptedModel(
        lambda request: "fine" if "good" in request.prompt else ModelRefusedError("no", status=400)
    )
    calls = [Call("question", {"passages": [text]}) for text in ("good one", "bad", "good two")]
    first, second, third = LLM(model).ask_all(calls)
    assert (first, third) == ("fine", "fine")
    assert isinstance(second, ModelRefusedError)
    assert LLM(model).ask_all([]) == []


def test_no_more_than_the_limit_are_under_way_together_whichever_threads_ask() -> None:
    model = ScriptedModel(lambda _: "yes?", latency=0.02)
    llm = LLM(model, settings=Settings(llm_concurrency=5))
    calls = [Call("question", {"passages": [str(number)]}) for number in range(20)]
    threads = [threading.Thread(target=llm.ask_all, args=(calls,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(model.requests), model.most_at_once) == (60, 5)


def test_a_task_can_have_its_own_model_temperature_and_limit() -> None:
    special = ScriptedModel(["a dream"], name="other:big")
    own = {
        "dream": TaskSettings(model="other:big", temperature=1.2, max_tokens=99),
        "question": TaskSettings(),
    }
    usual = ScriptedModel(["what?"])
    llm = LLM(usual, settings=Settings(llm_tasks=own), opening={"other:big": special}.__getitem__)
    llm.ask("dream", {"question": "why?", "passages": ["a"], "related": []})
    llm.ask("question", PASSAGES)
    assert [(r.task, r.temperature, r.max_tokens) for r in special.requests] == [("dream", 1.2, 99)]
    assert [(r.task, r.temperature, r.max_tokens) for r in usual.requests] == [
        ("question", 0.7, 120)
    ]


def test_a_task_that_does_not_exist_is_an_error_that_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="quesion") as caught:
        LLM(ScriptedModel([])).ask("quesion", {})
    assert "question" in caught.value.fields["nearest"]
    with pytest.raises(UnknownNameError, match="dreem"):
        LLM(ScriptedModel([]), settings=Settings(llm_tasks={"dreem": TaskSettings()}))


# -- budgets ---------------------------------------------------------------------------------------


def test_a_budget_of_calls_stops_before_the_call_too_many() -> None:
    model = ScriptedModel(lambda _: "yes?")
    with LLM(model).run("r", Budget(calls=3)) as llm:
        results = llm.ask_all([Call("question", {"passages": [str(n)]}) for n in range(5)])
        with pytest.raises(BudgetError, match="3 of 3 calls"):
            llm.ask("question", PASSAGES)
    assert [isinstance(result, BudgetError) for result in results].count(True) == 2
    assert len(model.requests) == 3


def test_a_budget_of_tokens_is_never_exceeded_and_waits_for_calls_that_may_take_less() -> None:
    model = ScriptedModel(lambda _: "yes?", latency=0.01)
    with LLM(model).run("r", Budget(tokens=1_000)) as llm:
        results = llm.ask_all([Call("question", {"passages": [str(n)]}) for n in range(30)])
    spent = sum(-(-(len(r.system) + len(r.prompt)) // 4) + 1 for r in model.requests)
    assert 1_000 - 500 < spent <= 1_000
    assert isinstance(results[-1], BudgetError)


def test_a_budget_in_money_needs_a_price() -> None:
    with (
        LLM(ScriptedModel(["yes?"])).run("r", Budget(cost=1.0)) as llm,
        pytest.raises(BudgetError, match="price"),
    ):
        llm.ask("question", PASSAGES)
    with LLM(ScriptedModel(lambda _: "yes?", dollars=0.001)).run("r", Budget(cost=0.5)) as llm:
        llm.ask("question", PASSAGES)
        with pytest.raises(BudgetError, match="cost"):
            [llm.ask("question", PASSAGES) for _ in range(10)]


# -- kept replies ----------------------------------------------------------------------------------


def test_a_run_begun_again_is_given_what_it_has_paid_for(store: SqliteStore) -> None:
    calls = [Call("question", {"passages": [str(n)]}) for n in range(4)]
    down = ScriptedModel(["a", "b", ModelRefusedError("down", status=400), "d"])
    with LLM(down, kv=store.kv).run("r", keep=True) as llm:
        first = [llm.ask_all([call])[0] for call in calls]
    again = ScriptedModel(["c"])
    with LLM(again, kv=store.kv).run("r", Budget(calls=1), keep=True) as llm:
        second = llm.ask_all(calls)
    assert isinstance(first[2], ModelRefusedError)
    assert second == ["a", "b", "c", "d"]
    with LLM(ScriptedModel(["new"]), kv=store.kv).run("another", keep=True) as llm:
        assert llm.ask("question", {"passages": ["0"]}) == "new"
    LLM(again, kv=store.kv).finish("r")
    assert [entry.key.partition("/")[0] for entry in store.kv.list("reply")] == ["another"]


def test_a_repair_is_replayed_too_and_another_seed_is_another_request(store: SqliteStore) -> None:
    with LLM(ScriptedModel(["no", {"items": SARAH}, "x", "y"]), kv=store.kv).run(
        "r", keep=True
    ) as llm:
        learnings(llm)
        assert [llm.ask("question", PASSAGES, seed=seed) for seed in (1, 2)] == ["x", "y"]
    with LLM(ScriptedModel([]), kv=store.kv).run("r", keep=True) as llm:
        assert learnings(llm) == [Learning("Sarah", "She leads Alpha.")]
        assert [llm.ask("question", PASSAGES, seed=seed) for seed in (2, 1)] == ["y", "x"]


def test_a_kept_reply_goes_with_the_record_that_its_request_quotes(store: SqliteStore) -> None:
    put(
        store,
        *(Resource(id=id, name=id, content=text) for id, text in (("a", "secret"), ("b", "other"))),
    )
    with LLM(ScriptedModel(["x", "y"]), kv=store.kv).run("r", keep=True) as llm:
        llm.ask("question", {"passages": ["secret"]}, subjects=["a"])
        llm.ask("question", {"passages": ["other"]}, subjects=["b"])
    store.delete(["a"])
    assert len(store.kv.list("reply")) == 1


def _slow_or_fast(seconds: float) -> Any:
    class Model:
        name = "own:model"

        async def complete(self, request: Request) -> Reply:
            if "slow" in request.prompt:
                await anyio.sleep(seconds)
            return Reply(text="yes?", input_tokens=1, output_tokens=1, model=self.name)

    return Model()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_what_came_before_an_interrupt_is_kept_and_what_was_under_way_is_in_the_ledger(
    store: SqliteStore,
) -> None:
    calls = [Call("question", {"passages": [text]}) for text in ("fast", "slow")]

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    usual = signal.signal(signal.SIGALRM, interrupt)
    try:
        with LLM(_slow_or_fast(30.0), kv=store.kv).run("r", keep=True) as llm:
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            with pytest.raises(KeyboardInterrupt):
                llm.ask_all(calls)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)
    assert sorted(usage.error for usage in rows(store.kv)) == ["", "CancelledError"]
    assert len(store.kv.list("reply")) == 1
    with LLM(_slow_or_fast(0.0), kv=store.kv).run("r", keep=True) as llm:
        assert llm.ask_all(calls) == ["yes?", "yes?"]
    assert len(rows(store.kv)) == 3


# -- the ledger ------------------------------------------------------------------------------------


def test_every_call_is_in_the_ledger_with_its_run_tokens_and_outcome(store: SqliteStore) -> None:
    model = ScriptedModel(
        ["x", "no", {"items": SARAH}, ModelRefusedError("no", status=400)], dollars=0.5
    )
    llm = LLM(model, kv=store.kv)
    with llm.run("r1") as run:
        run.ask("question", PASSAGES)
        learnings(run)
    with pytest.raises(ModelRefusedError):
        llm.ask("question", PASSAGES)
    told = [(usage.task, usage.run, usage.error) for usage in rows(store.kv)]
    assert told == [
        ("question", "r1", ""), ("entities", "r1", ""), ("entities", "r1", ""), ("question", "", "ModelRefusedError"),
    ]  # fmt: skip
    total = report(rows(store.kv)).total
    assert (total.calls, total.failed, total.unpriced) == (4, 1, 0)
    assert total.cost == pytest.approx((total.input_tokens + total.output_tokens) * 0.5)
    assert [(line.name, line.calls) for line in report(rows(store.kv)).tasks] == [
        ("entities", 2),
        ("question", 2),
    ]
    assert [line.name for line in report(rows(store.kv, run="r1")).runs] == ["r1"]
    assert rows(store.kv, since=datetime.now(UTC) + timedelta(hours=1)) == []


def test_old_calls_are_added_up_by_day_and_nothing_is_lost(store: SqliteStore) -> None:
    now = datetime.now(UTC)
    calls = [
        Usage(
            task=("question", "dream")[n % 2], model="own:model", run=("", "r1")[n % 3 == 0],
            at=now - timedelta(days=n // 8),
            seconds=n / 10, input_tokens=n, output_tokens=1, cost=None if n % 5 == 0 else 0.25,
            error="ModelRefusedError" if n % 7 == 0 else "",
        )
        for n in reversed(range(80))
    ]  # fmt: skip
    store.kv.put([call.entry() for call in calls])
    before = report(rows(store.kv))
    recent = report(rows(store.kv, since=now - timedelta(days=4)))
    llm = LLM(ScriptedModel([]), kv=store.kv, settings=Settings(llm_ledger_days=5))
    llm.finish("r1")
    assert store.admin.stats().entries == {"usage": 48, "usage.day": 16}
    llm.finish("r1")
    assert store.admin.stats().entries == {"usage": 48, "usage.day": 16}
    after = report(rows(store.kv))
    assert after == before
    assert report(rows(store.kv, since=now - timedelta(days=4))) == recent
    assert [line.calls for line in report(rows(store.kv, run="r1")).runs] == [27]
    LLM(ScriptedModel([]), kv=store.kv, settings=Settings(llm_ledger_days=0)).finish("r1")
    assert store.admin.stats().entries["usage"] == 8
    total = report(rows(store.kv)).total
    assert replace(total, seconds=before.total.seconds) == before.total
    assert total.seconds == pytest.approx(before.total.seconds, rel=0.1)  # a median of medians


def test_the_ledger_and_the_model_are_reached_through_memory(tmp_path: Path) -> None:
    with Memory.open(tmp_path, embedder="none", llm=ScriptedModel(["what?"])) as memory:
        assert memory.admin.llm is not None
        assert memory.admin.llm.ask("question", PASSAGES) == "what?"
        assert memory.admin.usage().total.calls == 1
        assert memory.admin.stats().entries == {"usage": 1}
    with Memory.open(tmp_path, embedder="none") as memory:
        assert memory.admin.llm is None
        assert memory.admin.usage().tasks[0].name == "question"
        with pytest.raises(ModelNotConfiguredError, match="REMLOOM_LLM_MODEL"):
            _ = memory._engine.required_llm


def test_one_switch_makes_every_real_call_impossible(tmp_path: Path) -> None:
    settings = Settings(llm_base_url="http://127.0.0.1:9/v1")
    with Memory.open(tmp_path, embedder="none", settings=settings, llm="tiny") as memory:
        assert memory.admin.llm is not None
        with pytest.raises(ModelCallsForbiddenError, match="REMLOOM_MODEL_CALLS"):
            memory.admin.llm.ask("question", PASSAGES)
        assert memory.admin.usage().total.calls == 0


class Stubborn:
    """A model of somebody's own that is not written well."""

    name = "own:model"

    async def complete(self, request: Request) -> Reply:
        raise ZeroDivisionError("a bug")


class Mute:
    """One that gives back what is not a reply."""

    name = "own:mute"

    async def complete(self, request: Request) -> Reply:
        return "an answer"  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("model", "says"), [(Stubborn(), "ZeroDivisionError: a bug"), (Mute(), "gave back a str")]
)
def test_what_a_model_object_raises_fails_its_own_call(
    store: SqliteStore, model: Model, says: str
) -> None:
    replies = LLM(model, kv=store.kv).ask_all([Call("question", PASSAGES)] * 3)
    assert [type(reply) for reply in replies] == [ModelFailedError] * 3
    assert says in str(replies[0])
    assert {usage.error for usage in rows(store.kv)} == {"ModelFailedError"}


_LEFT_OPEN = """
import sys
from remloom import Memory
from remloom.testing import ScriptedModel

memory = Memory.open(sys.argv[1], embedder="none", llm=ScriptedModel(["what?"]))
print(memory.admin.llm.ask("question", {"passages": "x"}))
"""


def test_a_program_that_closes_nothing_ends_all_the_same(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _LEFT_OPEN, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "what?\n", "")
