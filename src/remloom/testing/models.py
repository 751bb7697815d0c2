"""A language model that needs no network: it replies by script."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, TypeAlias

import msgspec

from ..errors import ModelError
from ..llm.contract import Reply, Request


class Cut(str):
    """A scripted reply that was cut off at the limit of tokens."""

    __slots__ = ()


ScriptedReply: TypeAlias = "str | ModelError | Mapping[str, Any] | list[Any]"


class ScriptedModel:
    """Replies by script.

    It differs from a real model: it ignores temperature, seed and limits, its replies fit a schema
    only if the script does, and a token is four characters (rounded up).

    >>> from remloom.llm import LLM
    >>> llm = LLM(ScriptedModel(["What is memory?"]))
    >>> llm.ask("question", {"passages": ["one", "two", "three"]})
    'What is memory?'

    Args:
        replies: one reply after another (raises IndexError when they are used up); or by task, the
            same each time; or from the request. A reply is a text, `Cut(text)`, a value that is
            sent as JSON, or a `ModelError`, which is raised: `ModelUnavailableError("busy",
            status=429, retry_after=0.1)`, …
        latency: seconds that each reply takes.
        name: for the ledger.
        dollars: price of a token; None when it is not known.

    Attributes:
        requests: every request so far, in the order in which they came.
        most_at_once: the most requests that were under way together.
    """

    def __init__(
        self,
        replies: Iterable[ScriptedReply]
        | Mapping[str, ScriptedReply]
        | Callable[[Request], ScriptedReply],
        latency: float = 0.0,
        *,
        name: str = "scripted:model",
        dollars: float | None = None,
    ) -> None:
        self.name = name
        self.requests: list[Request] = []
        self.most_at_once = 0
        self._latency = latency
        self._dollars = dollars
        self._under_way = 0
        self._lock = threading.Lock()
        self._reply: Callable[[Request], ScriptedReply]
        if callable(replies):
            self._reply = replies
        elif isinstance(replies, Mapping):
            by_task = dict(replies)
            self._reply = lambda request: by_task[request.task]
        else:
            script = list(replies)
            self._reply = lambda request: _next(script, request)

    def price(self, input_tokens: int, output_tokens: int) -> float | None:
        """See `llm.contract.Priced`."""
        return None if self._dollars is None else (input_tokens + output_tokens) * self._dollars

    async def complete(self, request: Request) -> Reply:
        """See `llm.contract.Model`."""
        import anyio

        with self._lock:
            self.requests.append(request)
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
            # under the lock, so that requests get the replies of a script in the order in which
            # they came
            reply = self._reply(request)
        try:
            if self._latency:
                # the request counts as under way meanwhile, as with a real model
                await anyio.sleep(self._latency)
        finally:
            with self._lock:
                self._under_way -= 1
        if isinstance(reply, ModelError):
            raise reply
        text = reply if isinstance(reply, str) else msgspec.json.encode(reply).decode()
        finish: Literal["stop", "length"] = "length" if isinstance(reply, Cut) else "stop"
        length = len(request.system) + len(request.prompt)
        return Reply(
            text=str(text),
            input_tokens=-(-length // 4),
            output_tokens=-(-len(text) // 4),
            model=self.name,
            finish=finish,
        )


def _next(script: list[ScriptedReply], request: Request) -> ScriptedReply:
    if not script:
        raise AssertionError(
            f"the script has no reply left for a request of the task {request.task!r}"
        )
    return script.pop(0)
