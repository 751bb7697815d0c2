"""The calls of a model that a reading makes, counted, and the limits of a reading."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from ...errors import InvalidInputError, ModelError
from ...llm import LLM, Call
from ...llm.prompts import prompt
from ...text.sentences import approximate_token_ends
from .answering import Asking
from .events import EventStream, EventType, event

_T = TypeVar("_T")

_SCHEMA_TOKENS = 450  # that a call takes besides its prompt
_BYTES_PER_TOKEN = 3  # rather too few
_ANSWER_TOKENS = 3_000  # that an answer takes besides its evidence, at most
_MOST_EVIDENCE = 6_000  # tokens
# of a text a budget counts up to so many tokens for one of `count_tokens`
_MARGIN = 1.5


def count_tokens(text: str) -> int:
    """Count roughly the tokens of a text, rather too many."""
    return len(approximate_token_ends(text))


class Calls:
    """Makes the calls of one reading.

    Attributes:
        estimate: tokens of all calls, in and out, by the texts: the same whether a reply was paid
            for now or before, so that a reading that is resumed takes the same turns.
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
    if isinstance(result, ModelError):
        return _prompt_size(call) + count_tokens(str(result.fields.get("raw") or ""))
    return _prompt_size(call) + count_tokens(msgspec.json.encode(result).decode())


class ReadLimits(Struct, frozen=True, kw_only=True):
    """Limits of a reading.

    Raises:
        InvalidInputError: they allow nothing.
    """

    turns: int = 6  # 0: what is found without a model is all that is read
    tokens: int = 30_000  # of all calls, in and out
    seconds: float | None = None  # after which no turn begins; the answer is written all the same
    context: int | None = None  # tokens that the model takes at once; None: it is not known

    def __post_init__(self) -> None:
        for name, limit, least in (("turns", self.turns, 0), ("tokens", self.tokens, 1)):
            if isinstance(limit, bool) or not isinstance(limit, int) or limit < least:
                raise InvalidInputError(
                    f"a reading cannot have {limit!r} {name}", remedy=f"give {least} or more"
                )
        if self.seconds is not None and not self.seconds > 0:
            raise InvalidInputError(
                f"{self.seconds!r} seconds allow nothing", remedy="give a number above zero"
            )

    @property
    def whole(self) -> int:
        """Tokens of documents that are read whole, and of evidence when there is nothing else."""
        most = min(self.tokens, self.context or self.tokens)
        return max(0, int((most - _ANSWER_TOKENS) / _MARGIN))

    @property
    def evidence(self) -> int:
        """Tokens of the evidence when turns have to be paid, too."""
        share = int((self.tokens - _ANSWER_TOKENS) / _MARGIN) // 2
        return max(0, min(share, self.whole, _MOST_EVIDENCE))

    @property
    def answer(self) -> int:
        """Tokens that are kept back for the answer and its evidence."""
        return int(self.evidence * _MARGIN) + _ANSWER_TOKENS
