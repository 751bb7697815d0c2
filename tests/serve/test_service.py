"""The service behind every door: who may do what, and how much at once."""

import threading

import anyio
import pytest
from msgspec import defstruct

from remloom import Home
from remloom.errors import (
    ForbiddenError,
    InvalidInputError,
    LimitError,
    TenantNotFoundError,
    TimeLimitError,
)
from remloom.operations import METHODS, Hints, Operation
from remloom.serve.caller import Caller
from remloom.serve.service import STREAMS, Service
from remloom.settings import Settings
from remloom.tenancy.api_keys import SCOPES
from waiting import PATIENCE

TABLE = {one.name: one for one in METHODS}
NOTHING = defstruct("Nothing", [])


def caller(*scopes, tenant="acme", of_home=False):
    return Caller(key_id="k", tenant=tenant, scopes=frozenset(scopes or SCOPES), of_home=of_home)


def serving(home, **settings):
    for tenant in ("acme", "other"):
        Home(home).create(tenant)
    return Service(Settings(home=str(home), embedder="none", **settings))


@pytest.fixture
def service(tmp_path):
    made = serving(tmp_path)
    yield made
    made.close()


@pytest.fixture
def impatient(tmp_path):
    made = serving(tmp_path, serve_timeout=0.3)
    yield made
    made.close()


def call(service, caller, operation, **values):
    async def run():
        return await service.call(caller, operation, operation.takes(**values))

    return anyio.run(run)


def operation(does, **changes):
    return Operation(
        **{
            "name": "test",
            "takes": NOTHING,
            "gives": None,
            "does": lambda memory, values, progress: does(),
            "scope": "read",
            "hints": Hints(),
            "description": "A test.",
            **changes,
        }
    )


@pytest.mark.parametrize("name", TABLE)
def test_a_key_without_the_scope_may_not(service, name):
    others = [scope for scope in SCOPES if scope != TABLE[name].scope]
    with pytest.raises(ForbiddenError, match="scope"):
        caller(*others, of_home=True).check(TABLE[name])


@pytest.mark.parametrize("name", [one.name for one in METHODS if one.needs == "home"])
def test_a_key_of_one_tenant_may_nothing_that_concerns_all(name):
    with pytest.raises(ForbiddenError, match="alone"):
        caller().check(TABLE[name])
    caller(of_home=True).check(TABLE[name])


def test_a_key_of_all_tenants_names_one(service):
    with pytest.raises(InvalidInputError, match="names none"):
        call(service, caller(tenant="", of_home=True), TABLE["stats"])
    assert call(service, caller(of_home=True), TABLE["stats"]).tenant == "acme"
    assert len(call(service, caller(tenant="", of_home=True), TABLE["list_tenants"])) == 2


def test_reading_creates_no_tenant(service, tmp_path):
    with pytest.raises(TenantNotFoundError):
        call(service, caller(tenant="nobody"), TABLE["stats"])
    assert not (tmp_path / "tenants" / "nobody").exists()


def test_keys_of_one_tenant_are_all_that_its_key_sees(service):
    every = caller(tenant="", of_home=True)
    made = call(service, every, TABLE["create_key"], name="o", scopes=["read"], tenant="other")
    assert call(service, caller(), TABLE["list_keys"]) == []
    mine = call(service, caller(), TABLE["create_key"], name="m", scopes=["read"])
    assert [key.id for key in call(service, caller(), TABLE["list_keys"])] == [mine.id]
    assert len(call(service, every, TABLE["list_keys"])) == 2
    call(service, every, TABLE["revoke_key"], id=made.id)
    assert len(call(service, every, TABLE["list_keys"])) == 1


def test_a_call_that_takes_too_long_is_answered_and_finished(impatient):
    go, done = threading.Event(), threading.Event()

    def slow():
        go.wait(PATIENCE)
        done.set()

    with pytest.raises(TimeLimitError, match="longer than"):
        call(impatient, caller(), operation(slow))
    go.set()
    assert done.wait(PATIENCE)


def test_heavy_calls_beyond_the_limit_are_told_to_come_back(service):
    go = threading.Event()
    heavy = operation(lambda: go.wait(PATIENCE), is_long=True)

    async def run():
        async with anyio.create_task_group() as tasks:
            for _ in range(2):
                tasks.start_soon(service.call, caller(), heavy, NOTHING())
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(LimitError) as busy:
                await service.call(caller(), heavy, NOTHING())
            assert busy.value.fields["retry_after"] > 0
            go.set()
        # and afterwards there is room again
        await service.call(caller(), heavy, NOTHING())

    anyio.run(run)


def test_those_who_read_a_stream_slowly_stand_in_nobodys_way(impatient):
    read = threading.Event()
    slow = operation(lambda *_: read.wait(PATIENCE), carries="out")
    quick = operation(lambda *_: "done")
    long = operation(lambda *_: "done", is_long=True)

    async def run():
        async with anyio.create_task_group() as group:
            for _ in range(STREAMS // 2):
                group.start_soon(impatient.call, caller(), slow, NOTHING())
            await anyio.wait_all_tasks_blocked()
            with pytest.raises(LimitError):
                await impatient.call(caller(), slow, NOTHING())
            for other in (quick, long):
                assert await impatient.call(caller(tenant="other"), other, NOTHING()) == "done"
            # a stream may take longer than other calls
            await anyio.sleep(0.4)
            read.set()

    anyio.run(run)


def test_whoever_goes_away_leaves_no_place_taken(service):
    async def run():
        quick = operation(lambda: 7)
        for _ in range(50):
            with anyio.move_on_after(0):
                await service.call(caller(), quick, NOTHING())
        with anyio.fail_after(5):
            assert await service.call(caller(), quick, NOTHING()) == 7
            while service._places.taken:
                await anyio.sleep(0.001)

    anyio.run(run)
