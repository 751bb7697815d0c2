"""The one way to call a language model: a task and what fills its prompt go in, what was asked for
comes out."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, TypeVar

from msgspec import Struct, ValidationError
from msgspec.structs import replace

from ..errors import CutOffError, InvalidInputError, ModelError, ReplyError
from ..settings import Settings, TaskSettings
from . import event_loop, reply_cache, schemas
from .contract import Model, Reply, Request, Turn
from .in_flight import AskResult, Underway
from .ledger_rollup import fold
from .prompts import Slots, prompt
from .retry import WAIT, Retries
from .routing import Models

if TYPE_CHECKING:
    from ..kv import Entry, KeyValue
    from .budget import Budget, Spending

__all__ = ["LLM", "Call"]

_T = TypeVar("_T")
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
        journal: KeyValue | None = None,
        opening: Callable[[str], Model] | None = None,
        owned: bool = False,
        wait: float = WAIT,
    ) -> None:
        settings = settings or Settings()
        self._settings = settings
        self._journal = journal
        self._models = Models(model, settings, opening)
        self._retries = Retries(settings.llm_retries, wait)
        # shared with the runs of this LLM
        self._places = asyncio.Semaphore(settings.llm_concurrency)
        self._owned = owned
        self._run = ""
        self._keep = False
        self._spending: Spending | None = None
        event_loop.at_end(self)

    @property
    def name(self) -> str:
        """Of the model, as `<provider>:<model>`."""
        return self._models.default.name

    @property
    def spent(self) -> int:
        """Tokens, in and out, of what was called so far within a run that has a budget; 0 outside
        of one."""
        return self._spending.tokens if self._spending else 0

    def close(self) -> None:
        """Close the models opened for tasks, and the one that is `owned`. A later call opens them
        again."""
        for model in self._models.called(default=self._owned):
            event_loop.run(model.close)

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
        """Have a task done, and wait for it.

        Args:
            task: the name of a prompt file (`llm/prompts/<task>.md`).
            slots: what fills it; see `prompts`.
            returns: `str`, or what the reply is to be: a Struct, or a list of them. It is checked
                against that; a reply that does not fit, or was cut off, is sent back once with what
                is wrong.
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
        """Have many things done at once, as far as the limit allows. In place of a result that
        could not be had stands its error, a `ModelError`; every other error is raised.
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
                        misfits[place] = replace(
                            asked[place], turns=(Turn(reply.text, _remark(asked[place], error)),)
                        )
                    elif isinstance(error, CutOffError):
                        results[place] = error
                    else:
                        results[place] = _unfit(reply, asked[place], error)
            asked = misfits
        for call, result in zip(calls, results, strict=True):
            if isinstance(result, ModelError):
                result.fields.setdefault("task", call.task)
        return results

    # -- runs --------------------------------------------------------------------------------------

    @contextmanager
    def run(self, run: str, budget: Budget | None = None, *, keep: bool = False) -> Iterator[Self]:
        """Calls that belong together. Make them with what this yields, from any thread.

        Args:
            run: its id; every call is in the ledger under it.
            budget: what it may spend from now on.
            keep: note each reply as it comes, so that the same run, begun again after it was
                killed, is given it instead of paying for it again; see `finish`.
        """
        if keep and self._journal is None:
            raise InvalidInputError(
                "replies are kept in a journal, and there is none", remedy="give LLM a journal"
            )
        within = copy.copy(self)
        within._run, within._keep = run, keep
        if budget is not None:
            from .budget import Spending

            within._spending = Spending(budget)
        yield within

    def finish(self, run: str) -> None:
        """Strike the kept replies of a run that is over, and add up what the ledger says of old
        calls."""
        if self._journal is not None:
            reply_cache.discard(self._journal, run)
            fold(self._journal, self._settings.llm_ledger_days)

    # -- one call ----------------------------------------------------------------------------------

    def _request(self, call: Call) -> Request:
        found = prompt(call.task)
        own = self._settings.llm_tasks.get(call.task, TaskSettings())
        system, text = found.fill(call.slots)
        max_tokens = found.max_tokens if own.max_tokens is None else own.max_tokens
        schema = schemas.bounded(call.returns, max_tokens)
        return Request(
            task=call.task,
            system=f"{system}\n\n{schemas.asked(schema)}" if schema else system,
            prompt=text,
            schema=schema,
            temperature=found.temperature if own.temperature is None else own.temperature,
            max_tokens=max_tokens,
            seed=call.seed,
        )

    def _replies(
        self, calls: Sequence[Call], requests: Mapping[int, Request]
    ) -> dict[int, Reply | ModelError]:
        """What becomes of each request: its reply, kept or new, or its error."""
        found: dict[int, Reply | ModelError] = {}
        waiting: list[AskResult] = []
        for place, request in requests.items():
            try:
                model = self._models.of(request.task)
            except ModelError as error:
                found[place] = error
                continue
            identity = reply_cache.identify(model.name, request) if self._keep else ""
            kept = (
                reply_cache.find(self._journal, self._run, identity)
                if identity and self._journal
                else None
            )
            if kept is None:
                waiting.append(AskResult(place, request, model, identity, calls[place].subjects))
            else:
                found[place] = kept
        return {**found, **self._new(waiting)} if waiting else found

    def _new(self, waiting: Sequence[AskResult]) -> dict[int, Reply | ModelError]:
        """What becomes of requests that are made now.

        Each is noted before it is given back, as it is paid; even if whoever wanted it does not
        wait any more. The thread that asks does so: the loop goes on meanwhile, and what ends
        during a note goes into the next one.
        """
        underway = Underway(waiting, self._places, self._spending, self._retries.complete)
        found: dict[int, Reply | ModelError] = {}
        entries: list[Entry] = []  # not noted yet
        try:
            for some in underway.ended():
                entries += [entry for item in some for entry in item.entries(self._run)]
                self._note(entries)
                entries.clear()
                found.update(
                    (item.asked.place, item.outcome) for item in some if item.outcome is not None
                )
        except BaseException:
            entries += [entry for item in underway.stop() for entry in item.entries(self._run)]
            self._note(entries)
            raise
        if underway.error is not None:
            raise underway.error
        return found

    def _note(self, entries: Sequence[Entry]) -> None:
        if self._journal is not None and entries:
            self._journal.put(entries)


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
        return schemas.read(reply.text, call.returns)
    except ValidationError:
        if reply.finish == "length":
            raise cut from None
        raise
