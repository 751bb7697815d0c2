"""The one way to call a language model: a task and what fills its prompt go in, what was asked for comes out."""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, TypeVar, cast

from msgspec import Struct, ValidationError
from msgspec.structs import replace

from ..errors import (
    CutOffError,
    InvalidInputError,
    MissingExtraError,
    ModelCallsForbiddenError,
    ModelError,
    ModelNotConfiguredError,
    ModelUnavailableError,
    ReplyError,
    UnknownNameError,
)
from ..settings import Settings, TaskSettings
from . import loop, replies, shapes
from .contract import Closing, Model, Priced, Reply, Request, Turn
from .ledger import Usage
from .prompts import Slots, prompt, tasks

if TYPE_CHECKING:
    import anyio

    from ..journal import Journal, JournalEntry
    from .budget import Budget, Spending

__all__ = ["LLM", "Call"]

_T = TypeVar("_T")
_WAIT = 0.5  # seconds before a failed request is made again; doubled each time, and a little at random
_LONGEST = 60.0  # seconds of such a wait
_PATIENCE = 300.0  # seconds that an endpoint may ask us to wait: when it asks for more, the call fails
_SILENT = logging.NullHandler()
_AGAIN = "That is not what was asked for: {problem}. Reply again, with the whole corrected reply and nothing else."
_SHORTER = "That was too long, and was cut off. Reply again, with the whole reply in at most {words} words."


class Call(Struct, frozen=True):
    """One thing to ask. See `LLM.ask`."""

    task: str
    slots: Slots
    returns: Any = str
    subjects: tuple[str, ...] = ()
    seed: int | None = None


class LLM:
    """Calls a language model. Thread-safe; all threads share one limit of requests at once.

    Args:
        model: what answers, unless a task has a model of its own.
        settings: limits, retries, and what tasks have of their own.
        journal: where the ledger and kept replies are noted; None: nowhere.
        opening: opens a task's own model by its name.
        owned: close the model with this, too.
        wait: seconds before a failed request is made again the first time.

    Raises:
        UnknownNameError: `settings.llm_tasks` names a task that does not exist.
    """

    def __init__(
        self,
        model: Model,
        *,
        settings: Settings | None = None,
        journal: Journal | None = None,
        opening: Callable[[str], Model] | None = None,
        owned: bool = False,
        wait: float = _WAIT,
    ) -> None:
        settings = settings or Settings()
        for name in settings.llm_tasks:
            if name not in tasks():
                raise UnknownNameError("task in llm_tasks:", name, tasks())
        self._settings = settings
        self._journal = journal
        self._wait = wait
        self._models = _Models(model, settings, opening)
        self._places: list[anyio.Semaphore] = []
        logging.getLogger("stamina").addHandler(_SILENT)  # else every wait is a line on the terminal
        self._owned = owned
        self._run = ""
        self._keep = False
        self._spending: Spending | None = None
        loop.at_end(self)

    @property
    def name(self) -> str:
        """Of the model, as `<provider>:<model>`."""
        return self._models.default.name

    @property
    def spent(self) -> int:
        """Tokens, in and out, of what was called so far within a run that has a budget; 0 outside of one."""
        return self._spending.tokens if self._spending else 0

    def close(self) -> None:
        """Close the models opened for tasks, and the one that is `owned`. A later call opens them again."""
        for model in self._models.called(default=self._owned):
            loop.run(model.close)

    # -- asking ----------------------------------------------------------------------------------------------

    def ask(
        self,
        task: str,
        slots: Slots,
        *,
        returns: type[_T] = str,  # type: ignore[assignment]
        subjects: Sequence[str] = (),
        seed: int | None = None,
    ) -> _T:
        """Have a task done, and wait for it.

        Args:
            task: the name of a prompt file (`llm/prompts/<task>.md`).
            slots: what fills it; see `prompts`.
            returns: `str`, or what the reply is to be: a Struct, or a list of them. It is checked against that; a reply
                that does not fit, or was cut off, is sent back once with what is wrong.
            subjects: ids of the records quoted in the slots. A kept reply goes when one of them is forgotten.
            seed: for models that take one; the same request with another seed is another request.

        Raises:
            ModelUnavailableError: the endpoint still did not answer after all retries.
            ModelRefusedError: it will not.
            ReplyError: the reply is not what was asked for; `fields["raw"]` has it.
            CutOffError: the reply was cut off at the task's `max_tokens`, twice.
            BudgetError: the run's budget does not allow it.
            ModelCallsForbiddenError: calls are switched off.
            UnknownNameError, InvalidInputError: of the task or its slots.
        """
        (result,) = self.ask_all([Call(task, slots, returns, tuple(subjects), seed)])
        if isinstance(result, ModelError):
            raise result
        return result  # type: ignore[no-any-return]

    def ask_all(self, calls: Sequence[Call]) -> list[Any]:
        """Have many things done at once, as far as the limit allows. In place of a result that could not be had stands
        its error, a `ModelError`; every other error is raised.
        """
        results: list[Any] = [None] * len(calls)
        asked = {place: self._request(call) for place, call in enumerate(calls)}
        for final in (False, True):
            misfits: dict[int, Request] = {}
            for place, reply in self._replies(calls, asked).items():
                if isinstance(reply, ModelError):
                    results[place] = reply
                    continue
                try:
                    results[place] = _value(reply, calls[place], asked[place])
                except (CutOffError, ValidationError) as error:
                    if not final:
                        misfits[place] = replace(asked[place], turns=(Turn(reply.text, _remark(asked[place], error)),))
                    elif isinstance(error, CutOffError):
                        results[place] = error
                    else:
                        results[place] = _unfit(reply, asked[place], error)
            asked = misfits
        for call, result in zip(calls, results, strict=True):
            if isinstance(result, ModelError):
                result.fields.setdefault("task", call.task)
        return results

    # -- runs ------------------------------------------------------------------------------------------------

    @contextmanager
    def run(self, run: str, budget: Budget | None = None, *, keep: bool = False) -> Iterator[Self]:
        """Calls that belong together. Make them with what this yields, from any thread.

        Args:
            run: its id; every call is in the ledger under it.
            budget: what it may spend from now on.
            keep: note each reply as it comes, so that the same run, begun again after it was killed, is given it
                instead of paying for it again; see `discard`.
        """
        if keep and self._journal is None:
            raise InvalidInputError("replies are kept in a journal, and there is none", remedy="give LLM a journal")
        within = copy.copy(self)
        within._run, within._keep = run, keep
        if budget is not None:
            from .budget import Spending

            within._spending = Spending(budget)
        yield within

    def discard(self, run: str) -> None:
        """Strike the kept replies of a run that is over."""
        if self._journal is not None:
            replies.discard(self._journal, run)

    # -- one call --------------------------------------------------------------------------------------------

    def _request(self, call: Call) -> Request:
        found = prompt(call.task)
        own = self._settings.llm_tasks.get(call.task, TaskSettings())
        system, text = found.fill(call.slots)
        max_tokens = found.max_tokens if own.max_tokens is None else own.max_tokens
        schema = shapes.bounded(call.returns, max_tokens)
        return Request(
            task=call.task,
            system=f"{system}\n\n{shapes.asked(schema)}" if schema else system,
            prompt=text,
            schema=schema,
            temperature=found.temperature if own.temperature is None else own.temperature,
            max_tokens=max_tokens,
            seed=call.seed,
        )

    def _replies(self, calls: Sequence[Call], requests: Mapping[int, Request]) -> dict[int, Reply | ModelError]:
        """What becomes of each request: its reply, kept or new, or its error."""
        found: dict[int, Reply | ModelError] = {}
        waiting: list[_Asked] = []
        for place, request in requests.items():
            try:
                model = self._models.of(request.task)
            except ModelError as error:
                found[place] = error
                continue
            identity = replies.identify(model.name, request) if self._keep else ""
            kept = replies.find(self._journal, self._run, identity) if identity and self._journal else None
            if kept is None:
                waiting.append(_Asked(place, request, model, identity, calls[place].subjects))
            else:
                found[place] = kept
        return {**found, **self._new(waiting)} if waiting else found

    def _new(self, waiting: Sequence[_Asked]) -> dict[int, Reply | ModelError]:
        """What becomes of requests that are made now.

        Each is noted before it is given back, as it is paid; even if whoever wanted it does not wait any more. The
        thread that asks does so: the loop goes on meanwhile, and what ends during a note goes into the next one.
        """
        ended: SimpleQueue[_Ended | None] = SimpleQueue()
        future = loop.start(partial(self._all, waiting, ended.put))
        found: dict[int, Reply | ModelError] = {}
        entries: list[JournalEntry] = []  # not noted yet
        try:
            for some in _drained(ended):
                entries += [entry for item in some for entry in item.entries(self._run)]
                self._note(entries)
                entries.clear()
                found.update((item.asked.place, item.outcome) for item in some if item.outcome is not None)
        except BaseException:
            future.cancel()
            with suppress(Empty):  # of a model that does not let itself be cancelled
                for some in _drained(ended, loop.GRACE):
                    entries += [entry for item in some for entry in item.entries(self._run)]
            self._note(entries)
            raise
        future.result()  # raises what is no error of a model
        return found

    def _note(self, entries: Sequence[JournalEntry]) -> None:
        if self._journal is not None and entries:
            self._journal.note(entries)

    async def _all(self, waiting: Sequence[_Asked], ended: Callable[[_Ended | None], None]) -> None:
        """Make requests, and tell of each as it ends; with None, that nothing is under way any more."""
        import anyio

        try:
            async with anyio.create_task_group() as group:
                for asked in waiting:
                    group.start_soon(self._one, asked, ended)
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None  # the others were cancelled for its sake
        finally:
            ended(None)

    async def _one(self, asked: _Asked, ended: Callable[[_Ended | None], None]) -> None:
        price = partial(_price, asked.model)
        async with self._limiter():
            try:
                held = await self._spending.hold(asked.request, price) if self._spending else None
            except ModelError as error:
                ended(_Ended(asked, error))
                return
            usage = Usage(task=asked.request.task, model=asked.model.name, at=datetime.now(UTC), seconds=0.0)
            began = time.monotonic()
            outcome: Reply | ModelError | None = None
            try:
                outcome = await self._insist(asked.model, asked.request)
            except ModelError as error:
                outcome, usage = error, replace(usage, error=type(error).__name__)
            except BaseException as error:
                usage = replace(usage, error=type(error).__name__)
                raise
            finally:
                usage = replace(usage, seconds=time.monotonic() - began)
                if isinstance(outcome, Reply):
                    tokens = outcome.input_tokens, outcome.output_tokens
                    usage = replace(usage, input_tokens=tokens[0], output_tokens=tokens[1], cost=price(*tokens))
                if self._spending and held:
                    self._spending.settle(held, usage.input_tokens + usage.output_tokens, usage.cost)
                called = not isinstance(outcome, ModelCallsForbiddenError)
                ended(_Ended(asked, outcome, usage if called else None))

    async def _insist(self, model: Model, request: Request) -> Reply:
        """The reply, at the first attempt or a later one."""
        try:
            return await model.complete(request)
        except ModelUnavailableError as error:
            first = error
        try:
            import stamina
        except ImportError as error:
            raise MissingExtraError("calling a language model", "llm") from error

        async for attempt in stamina.retry_context(
            on=_again,
            attempts=self._settings.llm_retries + 1,
            timeout=None,
            wait_initial=self._wait,
            wait_max=_LONGEST,
            wait_jitter=self._wait,
        ):
            with attempt:
                if attempt.num == 1:
                    raise first  # so that it waits before the next
                return await model.complete(request)
        raise AssertionError("unreachable")

    def _limiter(self) -> anyio.Semaphore:
        """Made in the loop, and shared with the runs of this LLM."""
        import anyio

        if not self._places:
            self._places.append(anyio.Semaphore(self._settings.llm_concurrency, fast_acquire=True))
        return self._places[0]


class _Asked(Struct, frozen=True):
    """A request on its way."""

    place: int
    request: Request
    model: Model
    identity: str  # of the reply, if it is to be kept
    subjects: tuple[str, ...]


class _Ended(Struct, frozen=True):
    """What became of it: a reply, an error, or neither, when something else went wrong."""

    asked: _Asked
    outcome: Reply | ModelError | None
    usage: Usage | None = None  # None: nothing was called

    def entries(self, run: str) -> list[JournalEntry]:
        """What is noted of it."""
        noted = [] if self.usage is None else [replace(self.usage, run=run).entry()]
        if self.asked.identity and isinstance(self.outcome, Reply):
            noted.append(replies.kept(run, self.asked.identity, self.outcome, self.asked.subjects))
        return noted


def _drained(ended: SimpleQueue[_Ended | None], wait: float | None = None) -> Iterator[list[_Ended]]:
    """What ends, as it comes, several at a time, until nothing is under way.

    Raises:
        Empty: nothing ended within so many seconds.
    """
    over = False
    while not over:
        some = [ended.get(timeout=wait)]
        while not ended.empty():
            some.append(ended.get())
        over = some[-1] is None
        yield [item for item in some if item is not None]


class _Models:
    """The models of the tasks, each opened when it is first needed."""

    def __init__(self, default: Model, settings: Settings, opening: Callable[[str], Model] | None) -> None:
        self.default = default
        self._settings = settings
        self._opening = opening
        self._opened: dict[str, Model] = {}
        self._opening_one = Lock()
        self._used = False

    def called(self, *, default: bool) -> list[Closing]:
        """Those that were called since, and can be closed; the default one only if `default`."""
        held = [*self._opened.values(), *([self.default] if default and self._used else [])]
        self._opened, self._used = {}, False
        return [model for model in held if isinstance(model, Closing)]

    def of(self, task: str) -> Model:
        name = self._settings.llm_tasks.get(task, TaskSettings()).model
        if not name:
            self._used = True
            return self.default
        with self._opening_one:
            if name not in self._opened:
                if self._opening is None:
                    raise ModelNotConfiguredError(f"the task {task}")
                self._opened[name] = self._opening(name)
            return self._opened[name]


def _again(error: Exception) -> bool | float:
    """Whether to make a request again: when, if the endpoint said so."""
    if not isinstance(error, ModelUnavailableError):
        return False
    wait = error.fields["retry_after"]
    if wait is None:
        return True
    return float(wait) if wait <= _PATIENCE else False


def _price(model: Model, input_tokens: int, output_tokens: int) -> float | None:
    # issubclass, as Python remembers its answer: isinstance of a protocol looks at every attribute each time
    return cast("Priced", model).price(input_tokens, output_tokens) if issubclass(type(model), Priced) else None


def _remark(request: Request, error: Exception) -> str:
    """What is said about a reply that will not do."""
    if isinstance(error, CutOffError):
        return _SHORTER.format(words=request.max_tokens // 3)
    return _AGAIN.format(problem=str(error).rstrip("."))


def _unfit(reply: Reply, request: Request, problem: ValidationError) -> ReplyError:
    return ReplyError(
        f"{reply.model} replied twice with what is not asked for in the task {request.task}: {problem}",
        remedy="try a more capable model, for this task alone with "
        f"[llm_tasks.{request.task}] model = … in the TOML file",
        raw=reply.text,
    )


def _value(reply: Reply, call: Call, request: Request) -> Any:
    """What a reply says.

    Raises:
        CutOffError: there is more that it did not say.
        ValidationError: it is not what was asked for.
    """
    cut = CutOffError(
        f"the reply to the task {request.task} was cut off after {request.max_tokens} tokens",
        remedy=f"[llm_tasks.{request.task}] max_tokens = {request.max_tokens * 2} in the TOML file",
        raw=reply.text, max_tokens=request.max_tokens,
    )  # fmt: skip
    if reply.finish == "length" and call.returns is str:
        raise cut
    try:
        return shapes.read(reply.text, call.returns)
    except ValidationError:
        if reply.finish == "length":
            raise cut from None
        raise
