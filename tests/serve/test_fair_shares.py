"""Nobody has all places of a server: tenants and keys take turns. Gates hold calls, no clock does."""

import threading
from concurrent.futures import Future
from functools import partial

import anyio
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import defstruct

from remloom import Home
from remloom.errors import BusyError, LimitError
from remloom.operations import OPERATIONS, Hints, Operation
from remloom.serve.caller import Caller
from remloom.serve.pool import FairQueue, Pool, QueuedCall
from remloom.serve.service import Service
from remloom.settings import Settings
from remloom.tenancy.api_keys import SCOPES
from waiting import PATIENCE

TABLE = {one.name: one for one in OPERATIONS}
NOTHING = defstruct("Nothing", [])
# of each kind of place, what a call that holds one is
HELD = {"places": {}, "heavy": {"is_long": True}, "streams": {"carries": "out"}}


def caller(tenant, key="k"):
    return Caller(key_id=f"{tenant}-{key}", tenant=tenant, scopes=frozenset(SCOPES))


def operation(does, **changes):
    return Operation(
        name="test",
        takes=NOTHING,
        gives=None,
        does=lambda *_: does(),
        scope="read",
        hints=Hints(),
        description="A test.",
        **changes,
    )


@pytest.fixture
def service(tmp_path):
    for tenant in ("a", "b"):
        Home(tmp_path).create(tenant)
    made = Service(Settings(home=str(tmp_path), embedder="none"))
    yield made
    made.close()


class Gate:
    """Calls that hold their places until it is opened."""

    def __init__(self):
        self.running = 0
        self._opened, self._lock = threading.Event(), threading.Lock()

    def hold(self):
        with self._lock:
            self.running += 1
        self._opened.wait(PATIENCE)

    def open(self):
        self._opened.set()


async def hold_all(service, group, gate, callers, changes, refused):
    """Have more calls begun than there are places, and wait until no more of them run."""

    async def one(who):
        try:
            await service.call(who, operation(gate.hold, **changes), NOTHING())
        except LimitError as error:
            refused.append(error)

    for _ in range(20):
        for who in callers:
            group.start_soon(one, who)
    pools = (service._places, service._heavy, service._streams)
    await anyio.wait_all_tasks_blocked()
    with anyio.fail_after(PATIENCE):
        while gate.running < max(pool._queue.running for pool in pools):
            await anyio.sleep(0.001)


async def do_everything(service, who):
    """Recall, ask a reader in SQL, export, and do what takes long."""
    write, recall = TABLE["write"], TABLE["recall"]
    note = {"schema": "resources", "name": "n", "content": "Plums are ripe.", "uri": "n.md"}
    values = msgspec.convert({"records": [note]}, write.takes)
    await service.call(who, write, values)
    found = await service.call(who, recall, recall.takes(question="plums?"))
    assert found.hits
    sql = TABLE["reader_sql"]
    asked = sql.takes(documents=["n.md"], text="SELECT 1")
    await service.call(who, sql, asked)
    for kind in ("heavy", "streams"):
        done = operation(lambda: "done", **HELD[kind])
        assert await service.call(who, done, NOTHING()) == "done"


@pytest.mark.parametrize("kind", HELD)
def test_a_tenant_that_holds_all_it_may_keeps_no_other_waiting(service, kind):
    gate = Gate()

    async def run():
        refused = []
        async with anyio.create_task_group() as group:
            keys = [caller("a", "1"), caller("a", "2")]
            await hold_all(service, group, gate, keys, HELD[kind], refused)
            assert gate.running
            with anyio.fail_after(PATIENCE):
                await do_everything(service, caller("b"))
            gate.open()
        assert kind == "places" or refused

    anyio.run(run)


@pytest.mark.parametrize("kind", HELD)
def test_a_key_that_holds_all_it_may_keeps_no_other_of_its_tenant_waiting(service, kind):
    gate = Gate()

    async def run():
        async with anyio.create_task_group() as group:
            await hold_all(service, group, gate, [caller("a", "1")], HELD[kind], [])
            assert gate.running
            with anyio.fail_after(PATIENCE):
                await do_everything(service, caller("a", "2"))
            gate.open()

    anyio.run(run)


@pytest.mark.parametrize("kind", ["heavy", "streams"])
def test_whoever_has_its_share_is_told_so_and_when_to_come_again(service, kind):
    gate = Gate()

    async def run():
        refused = []
        async with anyio.create_task_group() as group:
            await hold_all(service, group, gate, [caller("a")], HELD[kind], refused)
            gate.open()
        assert len(refused) == 20 - gate.running
        assert all(
            type(error) is LimitError and error.fields["retry_after"] > 0 for error in refused
        )

    anyio.run(run)


def test_calls_that_are_given_up_leave_nothing_behind(service):
    gate, done = Gate(), []

    async def run():
        async with anyio.create_task_group() as group:
            await hold_all(service, group, gate, [caller("a", "1"), caller("a", "2")], {}, [])
            waiting = len(service._places._queue.waiting())
            assert waiting
            group.cancel_scope.cancel()
        assert service._places._queue.waiting() == []
        assert service._places.taken == gate.running
        gate.open()
        with anyio.fail_after(PATIENCE):
            while service._places.taken:
                await anyio.sleep(0.001)
        work = operation(lambda: done.append(1))
        await service.call(caller("a", "1"), work, NOTHING())

    anyio.run(run)
    assert done == [1]
    queue = service._places._queue
    assert (queue.taken, queue.running, queue._waiting) == (0, 0, {})
    assert not queue._taken._by
    assert not queue._running._by


WHO = st.tuples(st.sampled_from("abc"), st.sampled_from("123"))


@settings(deadline=None)
@given(
    places=st.integers(1, 9),
    turn=st.sampled_from([0.0, 3.0]),
    steps=st.lists(st.tuples(WHO, st.integers(0, 5)), max_size=60),
)
def test_a_queue_gives_each_a_turn_and_nobody_more_than_a_share(places, turn, steps):
    calls, left, now, began = [], [], 0.0, {}
    queue = FairQueue(places, 40, turn=turn, clock=lambda: now)
    for now, (who, step) in enumerate(steps):
        if step < 3 and not queue.is_full() and not queue.has_share(who):
            calls.append(QueuedCall(who, lambda: None, Future()))
            queue.add(calls[-1])
        elif calls:
            # one that waits, or runs
            left.append(calls.pop(step % len(calls)))
            queue.leave(left[-1])
        while (call := queue.next()) is not None:
            assert call.runs
            assert call in calls
            began[id(call)] = now
        running = [one.who for one in calls if one.runs]
        assert len(running) == queue.running <= places
        assert queue.taken == len(calls)
        for tenant, key in running:
            assert running.count((tenant, key)) <= max(1, places // 2)
            of_tenant = sum(one[0] == tenant for one in running)
            assert of_tenant <= max(1, places * 3 // 4)
            assert of_tenant < places or places == 1
        has_turn = [one for one in calls if one.runs and now - began[id(one)] < turn]
        assert len(has_turn) <= 1 or not turn
        # whoever waits has its share of what runs, or there is no place, or it is another's turn
        assert (
            queue.running == places
            or has_turn
            or all(queue.has_share(one.who, of_running=True) for one in queue.waiting())
        )
    for call in calls:
        queue.leave(call)
    assert (queue.taken, queue.running, queue._waiting) == (0, 0, {})


def test_tenants_take_turns_and_so_do_the_keys_of_one():
    queue = FairQueue(1, 100)
    first = QueuedCall(("a", "1"), lambda: None, Future())
    given = [("a", "1"), ("a", "1"), ("a", "1"), ("a", "2"), ("b", "1"), ("b", "1"), ("c", "1")]
    for call in (first, *(QueuedCall(who, lambda: None, Future()) for who in given)):
        queue.add(call)
    turns, now = [], queue.next()
    while now is not None:
        turns.append("".join(now.who))
        queue.leave(now)
        now = queue.next()
    assert turns == ["a1", "b1", "c1", "a2", "b1", "a1", "a1", "a1"]


def test_whoever_comes_now_and_then_is_next_after_each_call_of_a_busy_tenant():
    queue, order = FairQueue(8, 100, turn=1.0, clock=lambda: 0.0), []
    for _ in range(16):
        queue.add(QueuedCall(("busy", "1"), lambda: None, Future()))
    for _ in range(5):
        call = queue.next()
        assert queue.next() is None
        # it comes while the other's call runs, and has never called before, or long ago
        queue.add(QueuedCall(("quiet", "1"), lambda: None, Future()))
        order.append(call.who[0])
        queue.leave(call)
        call = queue.next()
        order.append(call.who[0])
        queue.leave(call)
    assert order == ["busy", "quiet"] * 5


def in_pool(turn, calls, gate=None):
    """Give calls, (who, work), to a pool in this order, open the gate, and wait for all."""

    async def run():
        pool = Pool(8, waiting=100, seconds=PATIENCE, busy="calls", retry_after=1, turn=turn)
        async with anyio.create_task_group() as group:
            for who, work in calls:
                group.start_soon(pool.run, "test", (who, "1"), work)
            await anyio.wait_all_tasks_blocked()
            if gate is not None:
                gate.set()
        pool.close()

    anyio.run(run)


def test_a_call_of_another_tenant_begins_before_the_second_of_a_busy_one():
    gate, order = threading.Event(), []

    def first():
        order.append("busy")
        gate.wait(PATIENCE)

    busy = [("busy", first), *[("busy", lambda: order.append("busy"))] * 15]
    others = [(name, partial(order.append, name)) for name in ("third", "quiet")]
    in_pool(10 * PATIENCE, [*busy, *others], gate)
    assert order == ["busy", "third", "quiet", *["busy"] * 15]


def test_a_call_that_waits_longer_than_a_turn_lets_others_begin_beside_it():
    met = threading.Barrier(3, timeout=PATIENCE)
    in_pool(0.001, [("a", met.wait), ("b", met.wait), ("c", met.wait)])
    assert not met.broken


def test_writes_of_several_tenants_go_on_at_the_same_time(service):
    Home(service.settings.home).create("c")
    service._places._queue._turn = 10 * PATIENCE
    met = threading.Barrier(3, timeout=PATIENCE)
    write = operation(met.wait)

    async def run():
        async with anyio.create_task_group() as group:
            for tenant in "abc":
                group.start_soon(service.call, caller(tenant), write, NOTHING())

    anyio.run(run)
    assert not met.broken


def test_when_all_places_are_taken_by_many_the_server_is_busy(service):
    gate = Gate()

    async def run():
        async with anyio.create_task_group() as group:
            for number in range(2):
                who = [caller("ab"[number], str(key)) for key in range(2)]
                await hold_all(service, group, gate, who, HELD["heavy"], [])
            with pytest.raises((BusyError, LimitError)) as refused:
                await service.call(caller("b", "9"), operation(gate.hold, is_long=True), NOTHING())
            assert refused.value.fields["retry_after"] > 0
            gate.open()

    anyio.run(run)


def test_what_waits_when_a_pool_closes_is_refused_and_so_is_what_comes_later():
    pool = Pool(2, waiting=50, seconds=PATIENCE, busy="calls", retry_after=1)
    begun, gate = threading.Event(), threading.Event()
    ended = []

    def hold():
        begun.set()
        gate.wait(PATIENCE)
        return "done"

    async def ask(who):
        try:
            ended.append(await pool.run("a call", who, hold))
        except BusyError:
            ended.append("refused")

    async def run():
        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(ask, (f"t{number}", "k"))
            await anyio.to_thread.run_sync(begun.wait)
            tasks.start_soon(anyio.to_thread.run_sync, pool.close)
            with anyio.fail_after(PATIENCE):
                while len(ended) < 18:
                    await anyio.sleep(0.001)
            gate.set()
        assert sorted(ended) == ["done"] * 2 + ["refused"] * 18
        with pytest.raises(BusyError):
            await pool.run("a call", ("t", "k"), hold)

    anyio.run(run)


@pytest.mark.parametrize("kind", [StopIteration, SystemExit, KeyboardInterrupt])
def test_a_call_that_ends_in_an_odd_way_is_an_error_for_its_caller_alone(kind):
    pool = Pool(2, waiting=2, seconds=PATIENCE, busy="calls", retry_after=1)

    def end():
        raise kind

    async def run():
        with pytest.raises(RuntimeError, match=kind.__name__):
            await pool.run("a call", ("a", "k"), end)
        assert await pool.run("a call", ("a", "k"), lambda: "still") == "still"

    anyio.run(run)
    pool.close()
