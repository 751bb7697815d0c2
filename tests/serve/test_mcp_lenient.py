"""Arguments as models give them."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from remloom.errors import InvalidInputError, RemloomError
from remloom.operations import TOOLS
from remloom.serve.mcp.lenient import take

BY_NAME = {tool.name: tool for tool in TOOLS}


@pytest.mark.parametrize(
    ("name", "given", "taken"),
    [
        ("recall", {"q": "x"}, {"question": "x"}),
        ("recall", {"query": "x", "limit": "5"}, {"question": "x", "limit": 5}),
        ("recall", {"question": "x", "limit": 5.0}, {"question": "x", "limit": 5}),
        ("recall", {"question": "x", "where": None}, {"question": "x"}),
        ("recall", {"question": "[draft] x"}, {"question": "[draft] x"}),
        ("lookup", {"labels": "Sarah Chen"}, {"labels": ["Sarah Chen"]}),
        ("lookup", {"labels": '["a", "b"]'}, {"labels": ["a", "b"]}),
        ("lookup", {"labels": "[a] b"}, {"labels": ["[a] b"]}),
        ("lookup", {"name": "a"}, {"labels": ["a"]}),
        ("forget", {"id": "a", "dry_run": "false"}, {"what": ["a"], "dry_run": False}),
        ("remember", {"content": "x"}, {"text": "x"}),
        (
            "remember",
            {"messages": '[{"role": "user", "name": "Ann", "content": "x"}]'},
            {"messages": [{"role": "user", "speaker": "Ann", "text": "x"}]},
        ),
        (
            "remember",
            {"messages": {"speaker": "user", "text": "x"}},
            {"messages": [{"speaker": "user", "text": "x"}]},
        ),
    ],
)
def test_what_can_be_understood_is_taken(name, given, taken):
    tool = BY_NAME[name]
    assert take(tool, given) == (msgspec.convert(taken, tool.takes), [])


def test_chatter_is_left_out_and_listed():
    values, left_out = take(BY_NAME["lookup"], {"labels": "a", "reasoning": "…", "explanation": 1})
    assert values.labels == ["a"]
    assert left_out == ["reasoning", "explanation"]


def test_nothing_else_is_dropped():
    with pytest.raises(RemloomError, match="unknown argument 'label_s'"):
        take(BY_NAME["lookup"], {"labels": "a", "label_s": "b"})
    with pytest.raises(InvalidInputError, match="given twice"):
        take(BY_NAME["lookup"], {"labels": "a", "name": "b"})
    with pytest.raises(RemloomError, match=r"unknown field of messages\[0\] 'when'"):
        take(BY_NAME["remember"], {"messages": [{"text": "a", "when": "b"}]})


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.sampled_from(TOOLS), st.data())
def test_anything_is_taken_or_refused_with_an_error_of_ours(tool, data):
    names = st.sampled_from([*tool.takes.__struct_fields__, *tool.aliases]) | st.text()
    arguments = data.draw(st.dictionaries(names, _json, max_size=4))
    try:
        values, _ = take(tool, arguments)
    except RemloomError:
        return
    assert isinstance(values, tool.takes)
