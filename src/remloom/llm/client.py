"""The one way to call a language model: from a task and its slots to a checked value."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar

from msgspec import Struct, ValidationError
from msgspec.structs import replace

from ..errors import (
    ChangedError,
    CutOffError,
    FullReplyError,
    GoneError,
    InvalidInputError,
    ModelError,
    ReplyError,
)
from ..kv import is_other_ref
from ..settings import Settings, TaskSettings
from . import event_loop, schemas
from .contract import Bounded, Image, Model, Reply, Request, Turn, Watch
from .in_flight import WAIT, InFlight, PendingCall, Retries
from .ledger import delete_replies, find_reply, identify, roll_up
from .prompts import Slots, prompt
from .routing import ModelRouter

if TYPE_CHECKING:
    from ..kv import Entry, KeyValue
    from .budget import Budget, Spending


_T = TypeVar("_T")
_AGAIN = (
    "That is not what was asked for: {problem}. "
    "Reply again, with the whole corrected reply and nothing else."
)
_SHORTER = (
    "That was too long, and was cut off. "
    "Reply again, with the whole reply in at most {words} words."
)


class Call(Struct, frozen=True):
    """A task to be done. See `LLM.ask`."""

    task: str
    slots: Slots
    returns: Any = str
    subjects: tuple[str, ...] = ()
    seed: int | None = None
    images: tuple[Image, ...] = ()
    # the reply is a list of all there is: one that has as many items as it may have is a
    # `FullReplyError`, and one that was cut off is not asked for again, shorter
    lists_all: bool = False


class LLM:
    """Calls a language model. Thread-safe; all threads share one limit of requests at once.

    Args:
        model: does the tasks that have no model of their own.
        settings: limits, retries, and what tasks have of their own.
        kv: where the ledger and kept replies are written; None: nowhere.
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
        kv: KeyValue | None = None,
        opening: Callable[[str], Model] | None = None,
        owned: bool = False,
        wait: float = WAIT,
    ) -> None:
        settings = settings or Settings()
        self._settings = settings
        self._kv = kv
        self._models = ModelRouter(model, settings, opening)
        self._retries = Retries(settings.llm_retries, wait)
        # shared with the runs of this LLM
        self._slots = asyncio.Semaphore(settings.llm_concurrency)
        self._owned = owned
        self._run = ""
        self._keep = False
        self._spending: Spending | None = None
        self._watch: Watch | None = None
        self._keeping = threading.Lock()  # guards the watch
        event_loop.at_end(self)

    @property
    def name(self) -> str:
        """The name of the model, as `<provider>:<model>`."""
        return self._models.default.name

    def name_of(self, task: str) -> str:
        """The name of the model that does a task, opened if need be."""
        return self._models.of(task).name

    @property
    def spent(self) -> int:
        """Tokens, in and out, spent by a run that has a budget; 0 outside of one."""
        return self._spending.tokens if self._spending else 0

    @property
    def calls(self) -> int:
        """Calls that were paid for by a run that has a budget; 0 outside of one."""
        return self._spending.calls if self._spending else 0

    def context(self, task: str) -> int | None:
        """Tokens that the model of a task takes at once, prompt and reply; None: it is not
        known."""
        model = self._models.of(task)
        return model.context if isinstance(model, Bounded) else None

    def close(self) -> None:
        """Close the models opened for tasks, and one that is `owned`; a later call opens them."""
        with ExitStack() as closing:
            for model in self._models.called(default=self._owned):
                closing.callback(event_loop.run, model.close)

    # -- asking ------------------------------------------------------------------------------------

    def ask(
        self,
        task: str,
        slots: Slots,
        *,
        returns: type[_T] = str,  # type: ignore[assignment]
        subjects: Sequence[str] = (),
        seed: int | None = None,
    ) -> _T:
        """Do a task, and wait for it.

        Args:
            task: the name of a prompt file (`llm/prompts/<task>.md`).
            slots: what fills it; see `prompts`.
            returns: the type of the reply: `str`, a Struct, or a list of them. A reply that does
                not fit it, or was cut off, is sent back once with what is wrong.
            subjects: ids of the records quoted in the slots. A kept reply goes when one of them is
                forgotten.
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
        """Do many tasks at once, as far as the limit allows.

        A result that failed is its error, a `ModelError`; others are raised.
        """
        results: list[Any] = [None] * len(calls)
        requests = {position: self._request(call) for position, call in enumerate(calls)}
        # Replies that do not fit are sent back once, all together.
        for final in (False, True):
            corrections: dict[int, Request] = {}
            for position, reply in self._replies(calls, requests).items():
                request = requests[position]
                if isinstance(reply, ModelError):
                    results[position] = reply
                    continue
                try:
                    results[position] = _value(reply, calls[position], request)
                except FullReplyError as error:
                    results[position] = error
                except (CutOffError, ValidationError) as error:
                    is_lost = isinstance(error, CutOffError) and calls[position].lists_all
                    if not final and not is_lost:
                        turn = Turn(reply.text, _remark(request, error))
                        corrections[position] = replace(request, turns=(turn,))
                    elif isinstance(error, CutOffError):
                        results[position] = error
                    else:
                        results[position] = _misfit(reply, request, error)
            requests = corrections
        for call, result in zip(calls, results, strict=True):
            if isinstance(result, ModelError):
                result.fields.setdefault("task", call.task)
        return results

    # -- runs --------------------------------------------------------------------------------------

    @contextmanager
    def run(
        self,
        run: str,
        budget: Budget | None = None,
        *,
        keep: bool = False,
        watch: Watch | None = None,
    ) -> Iterator[Self]:
        """Yield what makes the calls of a run, from any thread.

        Args:
            run: its id; every call is in the ledger under it.
            budget: what it may spend from now on.
            keep: write each reply as it comes, so that the same run, begun again after it was
                killed, is given it instead of paying for it again; see `finish`.
            watch: tells what was forgotten meanwhile: no reply about that is kept.
        """
        if keep and self._kv is None:
            raise InvalidInputError(
                "there is nowhere to keep replies", remedy="give LLM the `kv` of a store"
            )
        # A copy shares the models, the limit of requests and the retries.
        within = copy.copy(self)
        within._run = run
        within._keep = keep
        within._watch = watch
        within._keeping = threading.Lock()
        if budget is not None:
            from .budget import Spending

            within._spending = Spending(budget)
        yield within

    def finish(self, run: str) -> None:
        """Delete the kept replies of a run that is over, and add up the ledger's old calls."""
        if self._kv is not None:
            delete_replies(self._kv, run)
            roll_up(self._kv, self._settings.llm_ledger_days)

    # -- one call ----------------------------------------------------------------------------------

    def _request(self, call: Call) -> Request:
        of_task = prompt(call.task)
        own = self._settings.llm_tasks.get(call.task, TaskSettings())
        system, text = of_task.fill(call.slots)
        max_tokens = of_task.max_tokens if own.max_tokens is None else own.max_tokens
        schema = schemas.bounded(call.returns, max_tokens)
        if schema:
            # Not every endpoint takes a schema: the words tell it to all.
            system = f"{system}\n\n{schemas.instruction(schema)}"
        return Request(
            task=call.task,
            system=system,
            prompt=text,
            schema=schema,
            images=call.images,
            temperature=of_task.temperature if own.temperature is None else own.temperature,
            max_tokens=max_tokens,
            seed=call.seed,
        )

    def _replies(
        self,
        calls: Sequence[Call],
        requests: Mapping[int, Request],
    ) -> dict[int, Reply | ModelError]:
        outcomes: dict[int, Reply | ModelError] = {}
        pending: list[PendingCall] = []
        for position, request in requests.items():
            try:
                model = self._models.of(request.task)
            except ModelError as error:
                outcomes[position] = error
                continue
            identity = identify(model.name, request) if self._keep else ""
            kept = None
            if identity and self._kv:
                kept = find_reply(self._kv, self._run, identity)
            if kept is not None:
                outcomes[position] = kept
                continue
            subjects = calls[position].subjects
            pending.append(PendingCall(position, request, model, identity, subjects))
        if pending:
            outcomes.update(self._make(pending))
        return outcomes

    def _make(self, pending: Sequence[PendingCall]) -> dict[int, Reply | ModelError]:
        """Make requests now. The calling thread writes each down before it is given back, as it is
        paid, even if its caller does not wait any more."""
        in_flight = InFlight(pending, self._slots, self._spending, self._retries.complete)
        outcomes: dict[int, Reply | ModelError] = {}
        unwritten: list[Entry] = []
        try:
            for batch in in_flight.finished():
                for item in batch:
                    unwritten += item.entries(self._run)
                self._write(unwritten)
                unwritten.clear()
                for item in batch:
                    if item.outcome is not None:
                        outcomes[item.pending.position] = item.outcome
        except BaseException:
            for item in in_flight.stop():
                unwritten += item.entries(self._run)
            self._write(unwritten)
            raise
        if in_flight.error is not None:
            raise in_flight.error
        return outcomes

    def _write(self, entries: Sequence[Entry]) -> None:
        """Write calls, and replies but those about what was forgotten before they came."""
        left = list(entries)
        with self._keeping:
            while self._kv is not None and left:
                gone = set(self._forgotten({ref for entry in left for ref in entry.refs}))
                left = [entry for entry in left if gone.isdisjoint(entry.refs)]
                about = {ref for entry in left for ref in entry.refs}
                try:
                    self._kv.put(
                        left,
                        existing=[ref for ref in about if not is_other_ref(ref)],
                        expected_entries=self._watch.expected if self._watch and about else {},
                    )
                    break
                except GoneError as error:
                    gone = set(error.fields["ids"])
                    left = [entry for entry in left if gone.isdisjoint(entry.refs)]
                except ChangedError:
                    continue  # something was forgotten since it was asked

    def _forgotten(self, names: Collection[str]) -> Collection[str]:
        """Those of these names that were forgotten; all of them if the run is another process's."""
        forgotten = self._watch.forgotten(names) if self._watch and names else ()
        return names if forgotten is None else forgotten


def _remark(request: Request, error: Exception) -> str:
    if isinstance(error, CutOffError):
        return _SHORTER.format(words=request.max_tokens // 3)
    return _AGAIN.format(problem=str(error).rstrip("."))


def _misfit(reply: Reply, request: Request, problem: ValidationError) -> ReplyError:
    return ReplyError(
        f"{reply.model} replied twice with what is not asked for in the task {request.task}: "
        f"{problem}",
        remedy="try a more capable model, for this task alone with "
        f"[llm_tasks.{request.task}] model = … in the TOML file",
        raw=reply.text,
    )


def _value(reply: Reply, call: Call, request: Request) -> Any:
    """Read a reply as a value of the type that the call returns; raises what is wrong with it."""
    cut = CutOffError(
        f"the reply to the task {request.task} was cut off after {request.max_tokens} tokens",
        remedy=f"[llm_tasks.{request.task}] max_tokens = {request.max_tokens * 2} in the TOML file",
        raw=reply.text,
        max_tokens=request.max_tokens,
    )
    # What was cut off may be a whole value all the same, but a text has no end to be seen.
    if reply.finish == "length" and call.returns is str:
        raise cut
    try:
        value = schemas.read(reply.text, call.returns)
    except ValidationError:
        if reply.finish == "length":
            raise cut from None
        raise
    if call.lists_all and schemas.is_full(value, request.schema):
        raise FullReplyError(request.task, value)
    return value
