"""Adapters are extras: none is imported that is not asked for, and one that is missing says so."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from remloom.errors import MissingExtraError

FRAMEWORKS = {
    "anthropic": "anthropic.lib.tools",
    "langchain": "langchain_core",
    "llamaindex": "llama_index.core",
    "openai_agents": "agents.memory",
}


@pytest.mark.parametrize(("adapter", "framework"), FRAMEWORKS.items())
def test_an_adapter_whose_framework_is_missing_says_what_to_install(
    adapter: str, framework: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"remloom.adapters.{adapter}"
    for module in [*sys.modules]:
        if module == name or module.startswith(f"{name}."):
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, framework, None)
    with pytest.raises(MissingExtraError) as caught:
        importlib.import_module(name)
    assert caught.value.remedy == f"pip install 'remloom[{adapter.replace('_', '-')}]'"


def test_no_framework_is_imported_before_its_adapter_is() -> None:
    code = (
        "import sys, remloom, remloom.adapters.conversation, remloom.adapters.files\n"
        "print({name.partition('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"agents", "anthropic", "langchain_core", "llama_index"} & eval(done.stdout)
