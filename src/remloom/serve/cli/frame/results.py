"""What becomes of a result: its form as JSON, its view, and the exit code that it means."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from ....errors import EmbedderError
from .command import load

if TYPE_CHECKING:
    from rich.console import RenderableType

FAILED = 1
DRIFTED = 3


def _did_not_end(result: Any) -> bool:
    return bool(result.failed) or result.run.status != "done"


def _did_not_end_scan(result: Any) -> bool:
    # a run that had nothing to do has no id, and never ended
    return bool(result.failed or (result.run.id and result.run.status == "stopped"))


def _reading_code(report: Any) -> int:
    # a failed document comes before a failed embedder: the latter is tried again by itself
    statuses = {item.status for item in report.items}
    if "failed" in statuses or not statuses & {"read", "unchanged"}:
        return FAILED
    return EmbedderError.exit_code if report.embedding_error else 0


def _learning_failed(learned: Any) -> bool:
    items = learned.read.items if learned.read else []
    return any(item.status == "failed" for item in items) or _did_not_end(learned)


class ResultType(NamedTuple):
    """What becomes of the results of a type.

    Attributes:
        view: in `views`, what draws one.
        exit_code: of a command with this result.
        fails: the paragraph of help that says when a command fails although it was done.
        has_own_form: whether its JSON is not msgspec's: other programs of the dialect read it, too.
    """

    view: str = ""
    exit_code: Callable[[Any], int] = lambda result: 0
    fails: str = ""
    has_own_form: bool = False


def _refreshing_failed(result: Any) -> int:
    failed = any(one.outcome == "failed" for one in result.stale)
    return int(failed or result.run.status == "stopped")


_RUN_FAILS = "Exits with 1 when something was parked, or the budget was used up."
# by what functions say that they return: the types themselves are slow to import
_TYPES = {
    "Answer": ResultType("answers.draw_answer", has_own_form=True),
    "AskResult": ResultType("answers.draw_asked", has_own_form=True),
    "Belief": ResultType("profile.belief_line"),
    "BenchResult": ResultType(
        "bench.draw_comparison",
        lambda result: result.failed,
        "Exits with 1 when a memory failed, or an answer of one did.",
    ),
    "Drift": ResultType(
        "databases.draw_drift",
        lambda drift: DRIFTED * bool(set(drift.changes) - set(drift.accepted)),
        f"Exits with {DRIFTED} when it does.",
    ),
    "DreamResult": ResultType(exit_code=_did_not_end),
    "FederatedAnswer": ResultType("answers.draw_across", has_own_form=True),
    "LearnResult": ResultType(exit_code=_learning_failed),
    "Lineage": ResultType("changes.draw_lineage", has_own_form=True),
    "MaintenanceResult": ResultType("dreams.draw_maintenance", _did_not_end, _RUN_FAILS),
    "MemoryStats": ResultType("answers.draw_stats", has_own_form=True),
    "NormaliseResult": ResultType(
        "profile.draw_normalised",
        _did_not_end_scan,
        "Exits with 1 when a claim still waits, or the budget was used up.",
    ),
    "Profile": ResultType("profile.draw_profile"),
    "ProfileContext": ResultType("profile.draw_context"),
    "ReadReport": ResultType("runs.draw_report", _reading_code),
    "Reading": ResultType(has_own_form=True),
    "Recall": ResultType("hits.draw_recall", has_own_form=True),
    "RefreshResult": ResultType(
        "dreams.draw_refreshed",
        _refreshing_failed,
        "Exits with 1 when a call of the model failed, or the budget was used up.",
    ),
    "Receipt": ResultType("answers.draw_receipt", lambda receipt: bool(receipt.remaining)),
    "RecordView": ResultType("answers.draw_record_view", has_own_form=True),
    "RowsMigrated": ResultType("databases.draw_migrated"),
    "ScanResult": ResultType("profile.draw_scan", _did_not_end_scan, _RUN_FAILS),
    "SyncReport": ResultType(
        "databases.draw_sync",
        lambda report: bool(report.refused or report.faults),
        "Exits with 1 when rows or tables could not be taken.",
    ),
    "UsageReport": ResultType("lists.draw_usage"),
    "list[ApiKey]": ResultType("lists.draw_keys"),
    "list[AuditEntry]": ResultType("lists.draw_audit"),
    "list[Candidate]": ResultType("lists.draw_candidates"),
    "list[Change]": ResultType("profile.draw_changes"),
    "list[Evidence]": ResultType("profile.draw_staged"),
    "list[Explanation]": ResultType("profile.draw_explanations"),
    "list[Job]": ResultType("lists.draw_jobs"),
    "list[Learned]": ResultType("lists.draw_learned"),
    "list[Slot]": ResultType("profile.draw_slots"),
    "tuple[Registered, ...]": ResultType("databases.draw_registered"),
}
_OTHER = ResultType()


def type_of(result: Any) -> ResultType:
    """Give what becomes of a result."""
    return _TYPES.get(type(result).__name__, _OTHER)


def returned_type(function: Callable[..., Any]) -> ResultType:
    """Give what becomes of what a function says that it returns."""
    annotation = str(function.__annotations__.get("return", "")).replace("builtins.", "")
    return _TYPES.get(annotation, _OTHER)


def draw(result: Any, options: dict[str, Any] | None = None, *, view: str = "") -> RenderableType:
    """Draw a result. A view is given those options of the command that it takes; a type without one
    is drawn as its fields."""
    view = view or type_of(result).view
    if not view:
        fields = fields_of(result)
        drawn_fields: RenderableType = (
            load("views.tables.draw_nested")(fields) if isinstance(fields, dict) else str(fields)
        )
        return drawn_fields
    function = load(f"views.{view}")
    names = list(inspect.signature(function).parameters)[1:]
    taken = {name: value for name, value in (options or {}).items() if name in names}
    drawn: RenderableType = function(result, **taken)
    return drawn


def fields_of(result: Any) -> Any:
    """Give a result in the form that is printed as JSON."""
    if type_of(result).has_own_form:
        return result.as_dict()
    import msgspec

    return msgspec.to_builtins(result, enc_hook=str)
