"""Why a job failed, as its queue keeps it: without anything that a document may say."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ..errors import EmbedderError, ModelError, RemloomError
from .contract import Job

# within a word it is an apostrophe
_QUOTED = re.compile(r"""(?<!\w)'(?:[^'\\]|\\.)+'(?!\w)|"(?:[^"\\]|\\.)+"|“[^”]+”""", re.DOTALL)
_LEFT_OUT = "'…'"


def reason_of(error: Exception, job: Job) -> str:
    """Say why a job failed, for whoever looks at it later, when a document may be forgotten.

    What stands in quotes stays only if the job itself says it: else it may be of a document, as
    may whatever an endpoint answers or another library says.
    """
    if not isinstance(error, RemloomError):
        return f"something unexpected happened: {type(error).__name__}"
    message = error.message
    if isinstance(error, ModelError | EmbedderError):
        # after it come the words of an endpoint, or of a model
        message = message.partition(": ")[0]
    known = _texts(job.payload) | {job.kind, job.id}
    shown = _QUOTED.sub(lambda found: _kept(found[0], known), message)
    return f"{shown}\n  remedy: {error.remedy}" if error.remedy else shown


def _kept(quoted: str, known: set[str]) -> str:
    return quoted if quoted[1:-1] in known else _LEFT_OUT


def _texts(value: Any) -> set[str]:
    """All texts of a payload, and the names of its fields."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        return set(value).union(*map(_texts, value.values()))
    if isinstance(value, list):
        return set().union(*map(_texts, value))
    return {msgspec.json.encode(value).decode()}
