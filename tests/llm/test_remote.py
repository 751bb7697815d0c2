"""A real client against an endpoint on loopback: what is sent, and what becomes of each way in
which it can fail."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import Struct

from endpoint import Endpoint, endpoint, failed, said
from remloom.errors import (
    CutOffError,
    ModelError,
    ModelRefusedError,
    ModelUnavailableError,
    ReplyError,
    SettingsError,
)
from remloom.llm import LLM, open_llm, open_model
from remloom.settings import Settings, TaskSettings

pytestmark = pytest.mark.usefixtures("real_calls")
PASSAGES = {"passages": ["one", "two"]}
_asking: list[LLM] = []
KEY = "sk-very-secret-0123456789"


class Learning(Struct):
    entity: str
    learning: str


@pytest.fixture(autouse=True)
def closing() -> Iterator[None]:
    yield
    while _asking:
        _asking.pop().close()


def llm(served: Endpoint, **settings: Any) -> LLM:
    given = {
        "llm_model": "tiny",
        "llm_api_key": KEY,
        "llm_retries": 2,
        "llm_timeout": 20.0,
        **settings,
    }
    whole = Settings(llm_base_url=served.url, **given)
    model = open_llm(whole)
    assert model is not None
    _asking.append(
        LLM(
            model,
            settings=whole,
            opening=lambda name: open_model(name, whole),
            owned=True,
            wait=0.01,
        )
    )
    return _asking[-1]


def test_a_request_says_what_the_task_wants_and_the_reply_is_counted() -> None:
    with endpoint(lambda n, body: said("what?")) as served:
        assert llm(served).ask("question", PASSAGES, seed=7) == "what?"
    (body,) = served.bodies
    assert {key: body[key] for key in ("model", "temperature", "max_tokens", "seed")} == {
        "model": "tiny", "temperature": 0.7, "max_tokens": 120, "seed": 7,
    }  # fmt: skip
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert served.keys == [f"Bearer {KEY}"]


def test_a_schema_goes_to_an_endpoint_until_it_refuses_one_and_then_in_words_only() -> None:
    items = json.dumps({"items": [{"entity": "Sarah", "learning": "leads"}]})

    def answer(number: int, body: dict[str, Any]) -> Any:
        return (
            failed(400, "unknown field response_format")
            if "response_format" in body
            else said(items)
        )

    with endpoint(answer) as served:
        asking = llm(served)
        for _ in range(2):
            assert asking.ask("entities", {"passage": "x"}, returns=list[Learning]) == [
                Learning("Sarah", "leads")
            ]
    assert ["response_format" in body for body in served.bodies] == [True, False, False]
    assert '"learning"' in served.bodies[2]["messages"][0]["content"]
    shape = served.bodies[0]["response_format"]["json_schema"]["schema"]
    assert shape["properties"]["items"]["type"] == "array"


def test_a_repair_turn_shows_the_model_its_reply_and_what_is_wrong() -> None:
    answers = ['{"items": [{"entity": 5}]}', '{"items": []}']
    with endpoint(lambda n, body: said(answers[n])) as served:
        assert llm(served).ask("entities", {"passage": "x"}, returns=list[Learning]) == []
    messages = served.bodies[1]["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert messages[2]["content"] == answers[0]


@pytest.mark.parametrize(
    ("answer", "error", "says", "asked"),
    [
        (failed(500, "boom"), ModelUnavailableError, "HTTP 500: boom", 3),
        (failed(429, "slow down"), ModelUnavailableError, "HTTP 429", 3),
        (
            failed(401, f"Incorrect API key provided: {KEY}"),
            ModelRefusedError,
            r"HTTP 401.*\*\*\*",
            1,
        ),
        (failed(404, "no such model"), ModelRefusedError, "no such model", 1),
        (
            failed(400, "This model's maximum context length is 10 tokens"),
            ModelRefusedError,
            "maximum context",
            1,
        ),
        (b"<html>It works!</html>", ModelRefusedError, "JSON", 1),
        (b'{"choices": []}', ModelRefusedError, "openai:tiny", 1),
        (said("What", "length"), CutOffError, "cut off", 2),
        (said("", "content_filter"), ModelRefusedError, "filtered", 1),
        (said(""), ReplyError, "empty", 2),
    ],
)
def test_each_way_to_fail_is_told_and_only_what_is_worth_it_is_asked_again(
    answer: Any, error: type[ModelError], says: str, asked: int
) -> None:
    with endpoint(lambda n, body: answer) as served, pytest.raises(error, match=says) as caught:
        llm(served).ask("question", PASSAGES)
    assert len(served.bodies) == asked
    assert caught.value.remedy


def test_the_key_is_in_no_error_log_or_repr(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    answers: list[Callable[[], Any]] = [
        lambda: failed(500, KEY),
        lambda: failed(401, f"bad key {KEY}"),
    ]
    with endpoint(lambda n, body: answers[min(n, 1)]()) as served:
        asking = llm(served)
        with pytest.raises(ModelRefusedError) as caught:
            asking.ask("question", PASSAGES)
    shown = (
        "".join(traceback.format_exception(caught.value))
        + repr(asking._models.default)
        + repr(asking._settings)
    )
    written = capfd.readouterr()
    assert KEY not in shown + caplog.text + written.out + written.err
    assert written.err == ""


def test_retry_after_is_heeded() -> None:
    with endpoint(
        lambda n, body: said("what?") if n else failed(429, "slow", Retry_After="1")
    ) as served:
        assert llm(served).ask("question", PASSAGES) == "what?"
    assert served.at[1] - served.at[0] >= 1.0


def test_an_endpoint_that_hangs_is_given_up_after_the_timeout() -> None:
    with (
        endpoint(lambda n, body: 30) as served,
        pytest.raises(ModelUnavailableError, match=r"within 0\.3 seconds"),
    ):
        llm(served, llm_timeout=0.3, llm_retries=1).ask("question", PASSAGES)
    assert len(served.bodies) == 2


def test_an_endpoint_that_is_down_is_unavailable() -> None:
    with endpoint(lambda n, body: said("")) as served:
        pass
    with pytest.raises(ModelUnavailableError, match=f"reached at {served.url}"):
        llm(served, llm_retries=0).ask("question", PASSAGES)


def test_the_key_of_the_environment_is_sent_to_the_providers_own_endpoint_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    with endpoint(lambda n, body: said("what?")) as served:
        llm(served, llm_api_key="").ask("question", PASSAGES)
    assert "sk-of-the-environment" not in served.keys[0]


@pytest.mark.parametrize("name", ["qwen2.5:3b", "openai:qwen2.5:3b", "tiny"])
def test_a_name_without_a_provider_is_a_model_of_the_endpoint(name: str) -> None:
    with endpoint(lambda n, body: said("what?")) as served:
        llm(served, llm_model=name).ask("question", PASSAGES)
    assert served.bodies[0]["model"] == name.removeprefix("openai:")


def test_a_tasks_own_model_is_asked_at_the_same_endpoint() -> None:
    with endpoint(lambda n, body: said(body["model"])) as served:
        asking = llm(served, llm_tasks={"question": TaskSettings(model="larger:70b")})
        assert asking.ask("question", PASSAGES) == "larger:70b"


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("gpt-5", "<provider>:<model>"),
        ("antropic:claude", "<provider>:<model>"),
        ("openai:gpt-5", "REMLOOM_LLM_API_KEY"),
        ("local:/no/such.gguf", "GGUF"),
    ],
)
def test_a_model_that_cannot_be_opened_says_what_to_set(
    name: str, remedy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(SettingsError) as caught:
        open_model(name, Settings(llm_model=name))
    assert remedy in caught.value.remedy


def test_known_models_have_a_price_and_those_of_an_endpoint_of_ones_own_have_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from remloom.llm.remote import cost

    assert cost("openai:gpt-4o-mini", "", 1_000_000, 1_000_000) == pytest.approx(0.75)
    assert cost("openai:gpt-4o-mini", "http://127.0.0.1:8080/v1", 1_000_000, 0) is None
    assert cost("openai:nobody-knows-it", "", 1_000, 0) is None
