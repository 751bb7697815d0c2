"""Streams of those whose key ends while they last."""

import json
from threading import Timer

import anyio
import pytest

from guarded import bearer, guarded, make_key
from remloom.errors import AuthenticationError
from remloom.serve.http import events
from remloom.tenancy.api_keys import ApiKeys
from serving import settings_of


def revoke_all(home):
    with ApiKeys(settings_of(home)) as keys:
        for key in keys.list():
            keys.revoke(key.id)


@pytest.mark.parametrize("sends_key", [True, False], ids=["key", "session"])
def test_a_job_is_no_longer_followed_with_a_key_that_was_revoked(tmp_path, monkeypatch, sends_key):
    monkeypatch.setattr(events, "JOB_POLL", 0.02)
    with guarded(tmp_path) as client:
        key = make_key(tmp_path)
        later = {"kind": "moments", "not_before": "2100-01-01T00:00:00Z"}
        id = client.post("/v1/jobs", json=later, headers=bearer(key)).json()["id"]
        if not sends_key:
            page = {"X-Remloom": "1"}
            assert client.post("/v1/session", json={"key": key}, headers=page).status_code < 300
        headers = bearer(key) if sends_key else {}
        revoking = Timer(0.2, revoke_all, [tmp_path])
        revoking.start()
        told = client.get(f"/v1/jobs/{id}/events", headers=headers).text.strip().split("\n\n")
        revoking.join()
    assert "event: job" in told[0]
    assert "event: error" in told[-1]
    assert json.loads(told[-1].partition("data: ")[2])["status"] == 401


def test_long_work_tells_no_more_to_a_key_that_has_ended(monkeypatch):
    monkeypatch.setattr(events, "HEARTBEAT", 0.01)
    looks = []

    async def work(report):
        await anyio.sleep(30)

    async def check():
        looks.append(1)
        if len(looks) > 2:
            raise AuthenticationError("it has ended")

    async def told():
        return [part async for part in events.stream_events(work, "", check=check).body_iterator]

    *silent, last = anyio.run(told)
    assert silent == [b": still working\n\n"] * 2
    assert b"event: error" in last
    assert b"it has ended" in last
