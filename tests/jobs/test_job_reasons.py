"""Why a job failed: told without what a document may say."""

from datetime import UTC, datetime

import pytest

from remloom.errors import InvalidInputError, ModelRefusedError, ReplyError, UnknownNameError
from remloom.jobs import Job
from remloom.jobs.worker import reason_of

NOW = datetime(2026, 1, 2, tzinfo=UTC)
JOB = Job(
    id="nightly",
    kind="read",
    payload={"source": "notes/today.md", "category": "diary"},
    not_before=NOW,
    created_at=NOW,
)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("the vault code is 4711"), "something unexpected happened: ValueError"),
        (InvalidInputError("'4711' is no date"), "'…' is no date"),
        (InvalidInputError('line 3 has "the code\\" 4711", not a number'),
         "line 3 has '…', not a number"),
        (InvalidInputError("the run's budget isn't enough"), "the run's budget isn't enough"),
        (ModelRefusedError("openai:gpt refused: 4711 is too long", remedy="shorten it"),
         "openai:gpt refused\n  remedy: shorten it"),
        (ReplyError("gpt replied twice with what is not asked for: Invalid value '4711'",
                    raw="4711"),
         "gpt replied twice with what is not asked for"),
    ],
    ids=["another", "short", "long", "apostrophes", "endpoint", "reply"],
)  # fmt: skip
def test_what_may_be_of_a_document_is_left_out(error, told):
    assert reason_of(error, JOB) == told


def test_what_the_job_was_given_is_said():
    error = UnknownNameError("category", "diary", ["note"])
    assert "'diary'" in reason_of(error, JOB)
