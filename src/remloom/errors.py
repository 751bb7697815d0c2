"""One tree of errors. Each says what was wrong, where, and what would be right.

Every error carries its facts as fields, so that a program can act on them without reading the
message. `exit_code` is what the command line returns for it.
"""

from __future__ import annotations

import copyreg
from collections.abc import Mapping, Sequence
from typing import Any, cast

_LISTED = 20  # known names in a message


class RemloomError(Exception):
    """Base of every error Remloom raises on purpose.

    Attributes:
        message: what was wrong, in one sentence.
        remedy: what would be right, or an empty string.
        fields: the facts of this error by name.
    """

    exit_code = 1

    def __init__(self, message: str, *, remedy: str = "", **fields: Any) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.fields = fields

    def __str__(self) -> str:
        return f"{self.message}\n  remedy: {self.remedy}" if self.remedy else self.message

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle it as it is: the constructors of subclasses take other arguments than `args`."""
        new = copyreg.__newobj__  # type: ignore[attr-defined]
        return new, (type(self), *self.args), self.__dict__

    def as_dict(self) -> dict[str, Any]:
        """Show it as JSON-ready values, for `--json` and for models that mend their mistakes."""
        import msgspec

        shown = {
            "error": type(self).__name__,
            "message": self.message,
            "remedy": self.remedy,
            **self.fields,
        }
        return cast("dict[str, Any]", _writable(msgspec.to_builtins(shown, enc_hook=str)))


class InvalidInputError(RemloomError, ValueError):
    """A value handed to Remloom is not what the operation takes. Nothing was written."""

    exit_code = 2


def unencodable(error: UnicodeEncodeError) -> InvalidInputError:
    """Make our error of a text that no store can take: it has half a surrogate pair."""
    around = ascii(error.object[max(0, error.start - 20) : error.start + 20])
    return InvalidInputError(f"{around} holds half a surrogate pair", remedy="decode it as UTF-8")


class LabelError(InvalidInputError):
    """A label that has no key: empty, too long, not text. Fields: `label`."""


class VectorError(InvalidInputError):
    """A vector of the wrong dimension, with NaN or infinity, or of zero length."""


class SettingsError(InvalidInputError):
    """A setting is unknown or has a value it cannot have. Fields: `setting`."""


class SourceError(InvalidInputError):
    """A file or stream cannot be read as what it claims to be. Fields: `uri`."""


class UnknownNameError(InvalidInputError):
    """A table, column, edge type, option or embedder that does not exist.

    Fields: `kind`, `name`, `nearest` (the known names most like it, best first).
    """

    def __init__(
        self, kind: str, name: str, known: Sequence[str], *, remedy: str = "", meant: str = ""
    ) -> None:
        nearest = [meant] if meant else nearest_names(name, known)
        hints = []
        if nearest:
            hints.append(f"did you mean {' or '.join(map(repr, nearest))}?")
        if known:
            hints.append(f"known: {', '.join(sorted(known)[:_LISTED])}")
        else:
            hints.append(f"there is no {kind} yet")
        super().__init__(
            f"unknown {kind} {name!r}",
            remedy=remedy or "; ".join(hints),
            kind=kind,
            name=name,
            nearest=nearest,
        )


class DefinitionError(InvalidInputError):
    """A definition of a schema is none. Fields: `faults`, each with `path`, `why` and `remedy`."""

    def __init__(self, schema: str, faults: Sequence[Mapping[str, str]]) -> None:
        super().__init__(
            f"the schema {schema!r} has {_counted(faults)}: {_listed(faults)}",
            remedy="; ".join(dict.fromkeys(fault["remedy"] for fault in faults[:_LISTED])),
            schema=schema,
            faults=[dict(fault) for fault in faults],
        )


class PlanError(InvalidInputError):
    """A plan of a database cannot be followed. Fields: `uri`, `faults`, each with `path`, `why`."""

    def __init__(self, uri: str, faults: Sequence[Mapping[str, str]]) -> None:
        super().__init__(
            f"the plan {uri} has {_counted(faults)}: {_listed(faults)}",
            remedy="mend these places, or let discovery write the plan anew",
            uri=uri,
            faults=[dict(fault) for fault in faults],
        )


class RowError(InvalidInputError):
    """A row is not as its schema says. Fields: `schema`, `faults`, each with `path` and `why`."""

    def __init__(self, schema: str, faults: Sequence[Mapping[str, str]]) -> None:
        super().__init__(
            f"this is no row of {schema}, it has {_counted(faults)}: {_listed(faults)}",
            remedy=f"see what its rows hold: schemas.get({schema!r})",
            schema=schema,
            faults=[dict(fault) for fault in faults],
        )


class TooLargeError(InvalidInputError):
    """A request to a server is larger than it takes."""


class QuerySyntaxError(InvalidInputError):
    """A statement that is not in the dialect, shown with a caret, what was expected, an example.

    Fields: `statement`, `position` (0-based offset), `expected`, `example`.
    """

    def __init__(
        self,
        message: str,
        *,
        statement: str,
        position: int,
        expected: Sequence[str] = (),
        example: str = "",
    ) -> None:
        remedy = f"for example: {example}" if example else ""
        super().__init__(
            message,
            remedy=remedy,
            statement=statement,
            position=position,
            expected=list(expected),
            example=example,
        )

    def __str__(self) -> str:
        parts = [self.message, *_pointed(self.fields["statement"], self.fields["position"])]
        if self.fields["expected"]:
            parts.append(f"  expected: {', '.join(self.fields['expected'])}")
        if self.remedy:
            parts.append(f"  {self.remedy}")
        return "\n".join(parts)


class SqlGuardError(InvalidInputError):
    """A SQL text that says what a read-only SELECT over one table may not. Fields: `statement`,
    `position` (0-based offset, or None)."""

    def __init__(
        self, message: str, *, remedy: str = "", statement: str = "", position: int | None = None
    ) -> None:
        super().__init__(message, remedy=remedy, statement=statement, position=position)

    def __str__(self) -> str:
        lines = [self.message]
        if self.fields["position"] is not None:
            lines += _pointed(self.fields["statement"], self.fields["position"])
        if self.remedy:
            lines.append(f"  remedy: {self.remedy}")
        return "\n".join(lines)


class NotFoundError(RemloomError, LookupError):
    """No record has this id. Fields: `id`, `schema`."""

    exit_code = 3


class TenantNotFoundError(NotFoundError):
    """This home has no such tenant. Fields: `tenant`, `home`."""


class ConflictError(RemloomError):
    """Something to be made exists already. Nothing was changed."""

    exit_code = 4


class AuthenticationError(RemloomError):
    """A server was called without a key, or with one that it does not know, or that has ended."""


class ForbiddenError(RemloomError):
    """A key may not do this. Fields: `scope`, the one it lacks, where it is a scope."""


class MisdirectedError(ForbiddenError):
    """A request names a host that this server is not known by."""


class LimitError(RemloomError):
    """A server was asked for too much at once. Fields: `retry_after`, in seconds."""


class ServerError(RemloomError):
    """A server does not answer, or not as Remloom's does. Fields: `url`, or `status`."""


class BusyError(LimitError):
    """A server has as much to do as it takes on; the same call may succeed later."""


class TimeLimitError(LimitError):
    """A call took longer than a server waits. A write that had begun is finished all the same."""


class ChangedError(ConflictError):
    """Something to be changed was changed by somebody else meanwhile. Nothing was written."""


class AmbiguousLabelError(ConflictError):
    """A label means several things, and one was to be named. Nothing was changed.

    Fields: `label`, and `meanings`, each with `schema`, `name`, `id`, for a row its `handle`.
    """


class SchemaChangeError(ConflictError):
    """A definition would break the rows and statements of the one before. Nothing was changed.

    Fields: `schema`, `breaks`, each with `path` and `why`.
    """

    def __init__(
        self, schema: str, breaks: Sequence[Mapping[str, str]], *, remedy: str = ""
    ) -> None:
        super().__init__(
            f"this would break the schema {schema!r}: {_listed(breaks)}",
            remedy=remedy
            or "say what becomes of these fields: mapping={'old': 'new', 'gone': None, "
            "'other': 'integer'}",
            schema=schema,
            breaks=[dict(broken) for broken in breaks],
        )


class GoneError(ConflictError):
    """What this is about was forgotten meanwhile. Nothing was written. Fields: `ids`, if known."""


class LeaseLostError(ConflictError):
    """A job was worked at too long without a sign of life; another worker has it. Fields: `id`."""


class MissingExtraError(RemloomError, ImportError):
    """A part that is not installed is needed; the remedy is the `pip install` that mends it."""

    exit_code = 5

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs an extra", remedy=f"pip install 'remloom[{extra}]'", extra=extra
        )


class EmbedderError(RemloomError):
    """An embedder could not be loaded or did not answer as it should."""

    exit_code = 6


class EmbedderMismatchError(EmbedderError):
    """The store's vectors were made by another model. Fields: `stored`, `given`."""


class EmbedderTimeoutError(EmbedderError):
    """An embedder or a token encoder took longer than a question waits for it."""


class RerankerError(RemloomError):
    """A reranker could not be loaded or did not answer as it should. Fields: `reranker`."""

    exit_code = 6


class StoreError(RemloomError):
    """Base of what can go wrong with the store. Nothing of the failed operation was written."""

    exit_code = 7


class WrongKeyError(StoreError):
    """The key does not open this tenant, or an encrypted tenant was opened without one."""


class CorruptStoreError(StoreError):
    """The database file is damaged: a page fails its check, or the file is not a database."""


class SchemaVersionError(StoreError):
    """The store was written by another version of Remloom. Fields: `found`, `expected`."""


class StoreBusyError(StoreError):
    """Another process kept the store locked for longer than the timeout."""


class StoreFullError(StoreError):
    """No space is left on the device."""


class ReadOnlyStoreError(StoreError):
    """The folder or file cannot be written."""


class StoreClosedError(StoreError):
    """The memory was used after `close()`."""


class ModelError(RemloomError):
    """Base of what can go wrong with a call of a language model. Fields: `task`, if any."""

    exit_code = 8


class ModelNotConfiguredError(ModelError):
    """Something needs a language model and none is set."""

    def __init__(self, what: str = "this") -> None:
        super().__init__(
            f"{what} needs a language model, and none is set",
            remedy="set REMLOOM_LLM_MODEL or --llm, for example openai:gpt-5-mini, ollama:qwen3, "
            "or local:smollm2; REMLOOM_LLM_BASE_URL for your own endpoint",
        )


class ModelCallsForbiddenError(ModelError):
    """A model was about to be called although `REMLOOM_MODEL_CALLS=never`."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"calls of models are switched off, so {name} was not called",
            remedy="unset REMLOOM_MODEL_CALLS (setting model_calls), "
            "or use remloom.testing.ScriptedModel",
            model=name,
        )


class ModelUnavailableError(ModelError):
    """The endpoint is down, too slow, overloaded or failing: the same call may succeed later.

    Fields: `status` (of HTTP, or None), `retry_after` (seconds, or None).
    """

    def __init__(
        self, message: str, *, status: int | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(
            message,
            remedy="try again later; REMLOOM_LLM_RETRIES and REMLOOM_LLM_TIMEOUT say how long "
            "to insist",
            status=status,
            retry_after=retry_after,
        )


class ModelRefusedError(ModelError):
    """The endpoint will never do this: wrong key, unknown model, too long, filtered.

    Fields: `status` (of HTTP, or None).
    """


class ModelFailedError(ModelError):
    """A model object raised something of its own, which is the cause, or returned no `Reply`."""


class ReplyError(ModelError):
    """A reply is not what the task asks for, twice. Fields: `raw`, the last reply."""


class CutOffError(ReplyError):
    """A reply was cut off at the limit of tokens. Fields: `raw`, `max_tokens`."""


class FullReplyError(ReplyError):
    """A reply that was to list all there is has as many items as it may have: some may be missing.

    Its `items` are those that it has.
    """

    def __init__(self, task: str, items: Sequence[Any]) -> None:
        super().__init__(
            f"the reply for {task} has as many items as it may have ({len(items)}): there may be "
            "others",
            remedy=f"give {task} more max_tokens (setting llm_tasks)",
        )
        self.items = tuple(items)


class BudgetError(ModelError):
    """The next call could exceed the run's budget. Fields: `limit`, `spent`, `allowed`."""


def _counted(faults: Sequence[Mapping[str, str]]) -> str:
    return "1 fault" if len(faults) == 1 else f"{len(faults)} faults"


def _listed(faults: Sequence[Mapping[str, str]]) -> str:
    shown = [f"{fault['path']}: {fault['why']}" for fault in faults[:_LISTED]]
    return "; ".join(shown + ["…"] * (len(faults) > _LISTED))


def _writable(value: Any) -> Any:
    """Spell out halves of surrogate pairs: a text with one cannot be written as UTF-8."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_writable(key): _writable(item) for key, item in value.items()}
    return [_writable(item) for item in value] if isinstance(value, list) else value


def _pointed(statement: str, position: int) -> list[str]:
    """The line of a statement that has the position, and a caret under it."""
    # a long line is shown from 60 characters before the caret
    start = statement.rfind("\n", 0, position) + 1
    end = statement.find("\n", position)
    line = statement[start : end if end >= 0 else None]
    column = position - start
    shift = max(0, column - 60)
    shown = ("…" if shift else "") + line[shift : shift + 100]
    return [f"  {shown}", f"  {' ' * (column - shift + bool(shift))}^"]


def nearest_names(name: str, known: Sequence[str]) -> list[str]:
    """Return the known names most like one, best first; at most three."""
    from difflib import get_close_matches  # only on the way to an error

    return get_close_matches(name, known, n=3, cutoff=0.5)
