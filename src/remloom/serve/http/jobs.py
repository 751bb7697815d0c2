"""Long operations that are done as jobs, for those who do not wait."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request

from ...jobs import Job
from ...memory.memory import Memory
from ...operations import Operation

# what does the job, by the method of `Memory` that the operation is
_KINDS = {
    "learn": "learn",
    "dream": "dream",
    "dreams.moments": "moments",
    "dreams.affinity": "affinity",
    "dreams.consolidate": "consolidate",
    "profile.observe": "observe",
    "profile.normalise": "normalise",
    "embed_pending": "embed_pending",
    "admin.reembed": "reembed",
    "admin.sweep": "sweep",
}


def job_kind(operation: Operation) -> str:
    """Give the kind of job that does an operation; empty where none does."""
    return _KINDS.get(operation.method, "")


def prefers_job(request: Request) -> bool:
    """Whether a request says `Prefer: respond-async`."""
    preferences = request.headers.get("prefer", "").split(",")
    return any(one.strip().lower() == "respond-async" for one in preferences)


def queued(operation: Operation) -> Operation:
    """Give an operation that puts what this one does into the tenant's own queue."""

    def does(memory: Memory, values: Struct, progress: Any) -> Job:
        return memory.jobs.add(job_kind(operation), _payload(values))

    return replace(operation, does=does, is_long=False)


def _payload(values: Struct) -> dict[str, Any]:
    """Give the arguments that are not as they are by default."""
    fields = msgspec.structs.fields(type(values))
    default = {one.name: one.default for one in fields}
    given = {name: value for name in default if (value := getattr(values, name)) != default[name]}
    payload: dict[str, Any] = msgspec.to_builtins(given)
    return payload
