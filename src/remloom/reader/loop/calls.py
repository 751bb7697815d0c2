"""The calls of a model that a reading makes: told before and after, and counted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec

from ...errors import ModelError
from ...llm import LLM, Call
from ...llm.prompts import prompt
from ...text.tokens import approximate_token_ends
from .answering import Asking
from .events import EventStream, EventType, event

_T = TypeVar("_T")

_SCHEMA_TOKENS = 450  # that a call takes besides its prompt
_BYTES_PER_TOKEN = 3  # rather too few


def count_tokens(text: str) -> int:
    """Count roughly the tokens of a text, rather too many."""
    return len(approximate_token_ends(text))


class Calls:
    """Makes the calls of one reading.

    Attributes:
        estimate: tokens of all calls, in and out, as far as can be told from the texts: the same
            whether a reply was paid for now or in an earlier try, so that a reading that is resumed
            takes the same turns.
        longest: seconds of the call that took longest.
    """

    def __init__(self, llm: LLM) -> None:
        self.llm = llm
        self.estimate = 0
        self.longest = 0.0

    @property
    def spent(self) -> int:
        """Tokens of all calls so far, in and out, rather too many."""
        return max(self.estimate, self.llm.spent)

    def ask(self, call: Call) -> EventStream[Any]:
        """Make a call, and return the value of the reply; errors are those of `LLM.ask`."""
        (result,) = yield from self.ask_all([call])
        if isinstance(result, ModelError):
            raise result
        return result

    def ask_all(self, calls: Sequence[Call]) -> EventStream[list[Any]]:
        """Make calls at once; in place of a result that failed stands its error."""
        if not calls:
            return []
        task = calls[0].task
        yield event(EventType.LLM_REQUEST, task=task, model=self.llm.name, calls=len(calls))
        began = time.monotonic()
        results = self.llm.ask_all(calls)
        elapsed = time.monotonic() - began
        self.longest = max(self.longest, elapsed)
        self.estimate += sum(map(_size, calls, results))
        problems = [str(result) for result in results if isinstance(result, ModelError)]
        yield event(
            EventType.LLM_RESPONSE,
            task=task,
            has_error=bool(problems),
            errors=problems,
            elapsed_time=elapsed,
        )
        return results

    def make(self, asking: Asking[_T], first: Sequence[Call]) -> EventStream[_T]:
        """Make the calls that are asked for, beginning with these, until there is a result."""
        calls = first
        try:
            while True:
                calls = asking.send((yield from self.ask_all(calls)))
        except StopIteration as end:
            value: _T = end.value
            return value

    def most(self, call: Call) -> int:
        """Estimate the most tokens that a call takes, in and out, as a budget counts."""
        form = prompt(call.task)
        size = sum(len(part.encode("utf-8", "surrogatepass")) for part in form.fill(call.slots))
        return size // _BYTES_PER_TOKEN + _SCHEMA_TOKENS + form.max_tokens


def _prompt_size(call: Call) -> int:
    parts = prompt(call.task).fill(call.slots)
    return sum(map(count_tokens, parts)) + _SCHEMA_TOKENS


def _size(call: Call, result: Any) -> int:
    """Estimate the tokens of a call that was made."""
    if isinstance(result, ModelError):
        return _prompt_size(call) + count_tokens(str(result.fields.get("raw") or ""))
    return _prompt_size(call) + count_tokens(msgspec.json.encode(result).decode())
