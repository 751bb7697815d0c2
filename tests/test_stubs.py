"""The types of classes that are made at import are those of the methods they come from."""

import ast
import gc
import importlib
import inspect

import pytest
from bench import stubs

from remloom import AsyncClient, AsyncMemory, Client


@pytest.fixture
def no_collection():
    # garbage of other tests that is collected while a long text is parsed can upset CPython 3.11:
    # "AST constructor recursion depth mismatch"
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize("name", stubs.MODULES)
def test_stubs_are_as_the_source_is(name):
    module = importlib.import_module(name)
    written = ast.parse(stubs.path_of(module).read_text(encoding="utf-8"))
    assert ast.unparse(written) == ast.unparse(ast.parse(stubs.stub(module))), "run: make stubs"


@pytest.mark.parametrize("kind", [AsyncMemory, Client, AsyncClient])
def test_help_shows_the_signature_and_words_of_memory(kind):
    assert str(inspect.signature(kind.recall)).startswith("(self, question: ")
    assert "Raises:" in inspect.getdoc(kind.recall)
    assert inspect.iscoroutinefunction(kind.recall) == (kind is not Client)
