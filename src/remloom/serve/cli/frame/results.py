"""What becomes of a result: its form as JSON, its view, and the exit code that it means."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....errors import EmbedderError
from .command import load

if TYPE_CHECKING:
    from rich.console import RenderableType

FAILED = 1
DRIFTED = 3

# by the type that a function returns: what in `views` draws it
VIEWS = {
    "Answer": "answers.draw_answer",
    "AskResult": "answers.draw_asked",
    "Belief": "profile.belief_line",
    "Drift": "databases.draw_drift",
    "FederatedAnswer": "answers.draw_across",
    "MaintenanceResult": "maintenance.draw_maintenance",
    "MemoryStats": "answers.draw_stats",
    "NormaliseResult": "profile.draw_normalised",
    "Profile": "profile.draw_profile",
    "ProfileContext": "profile.draw_context",
    "ReadReport": "reading.draw_report",
    "Recall": "recall.draw_recall",
    "Receipt": "answers.draw_receipt",
    "RecordView": "answers.draw_record_view",
    "RowsMigrated": "schemas.draw_migrated",
    "ScanResult": "profile.draw_scan",
    "SyncReport": "databases.draw_sync",
    "UsageReport": "usage.draw_usage",
    "list[ApiKey]": "lists.draw_keys",
    "list[AuditEntry]": "lists.draw_audit",
    "list[Candidate]": "lists.draw_candidates",
    "list[Change]": "profile.draw_changes",
    "list[Evidence]": "profile.draw_staged",
    "list[Explanation]": "profile.draw_explanations",
    "list[Job]": "lists.draw_jobs",
    "list[Learned]": "lists.draw_learned",
    "list[Slot]": "profile.draw_slots",
    "tuple[Registered, ...]": "schemas.draw_registered",
}

_RUN_FAILS = "Exits with 1 when something was parked, or the budget was used up."
# by the same: the paragraph of help that says when a command fails although it was done
FAILED_WHEN = {
    "Drift": f"Exits with {DRIFTED} when it does.",
    "MaintenanceResult": _RUN_FAILS,
    "NormaliseResult": "Exits with 1 when a claim still waits, or the budget was used up.",
    "ScanResult": _RUN_FAILS,
    "SyncReport": "Exits with 1 when rows or tables could not be taken.",
}


def exit_code(result: Any) -> int:
    """Give the exit code of a command with this result."""
    rule = _EXIT_CODES.get(type(result).__name__)
    return int(rule(result)) if rule else 0


def _ran_to_its_end(result: Any) -> bool:
    return not result.failed and result.run.status == "done"


def _exit_of_scan(result: Any) -> bool:
    # a run that had nothing to do has no id, and never ended
    return bool(result.failed or (result.run.id and result.run.status == "stopped"))


def _exit_of_reading(report: Any) -> int:
    # a failed document comes before a failed embedder: the latter is tried again by itself
    statuses = {item.status for item in report.items}
    if "failed" in statuses or not statuses & {"read", "unchanged"}:
        return FAILED
    return EmbedderError.exit_code if report.embedding_error else 0


def _exit_of_learning(learned: Any) -> bool:
    items = learned.read.items if learned.read else []
    return any(item.status == "failed" for item in items) or not _ran_to_its_end(learned)


_EXIT_CODES: dict[str, Callable[[Any], int]] = {
    "Drift": lambda drift: DRIFTED * bool(set(drift.changes) - set(drift.accepted)),
    "DreamResult": lambda result: not _ran_to_its_end(result),
    "LearnResult": _exit_of_learning,
    "MaintenanceResult": lambda result: not _ran_to_its_end(result),
    "NormaliseResult": _exit_of_scan,
    "ReadReport": _exit_of_reading,
    "Receipt": lambda receipt: bool(receipt.remaining),
    "ScanResult": _exit_of_scan,
    "SyncReport": lambda report: bool(report.refused or report.faults),
}


def draw(result: Any, options: dict[str, Any] | None = None, *, view: str = "") -> RenderableType:
    """Draw a result. A view is given those options of the command that it takes; a type without one
    is drawn as its fields.

    Args:
        view: default that of the type of the result.
    """
    view = view or VIEWS.get(type(result).__name__, "")
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


# whose interchange form is not that of msgspec: other programs of the dialect read it, too
_AS_DICT = {
    "Answer",
    "AskResult",
    "FederatedAnswer",
    "MemoryStats",
    "Reading",
    "Recall",
    "RecordView",
}


def fields_of(result: Any) -> Any:
    """Give a result in the form that is printed as JSON."""
    if type(result).__name__ in _AS_DICT:
        return result.as_dict()
    import msgspec

    return msgspec.to_builtins(result, enc_hook=str)
