import asyncio

from remloom.serve.connections import MOST_GATHERED, GatheringTransport


class Sent:
    """A transport that keeps what is done with it."""

    def __init__(self):
        self.done = []

    def write(self, data):
        self.done.append(data)

    def close(self):
        self.done.append("closed")

    def write_eof(self):
        self.done.append("end")

    def is_closing(self):
        return "closed" in self.done


def done(*steps):
    """What a transport is given by these steps, each in a turn of the loop of its own."""
    sent = Sent()

    async def run():
        transport = GatheringTransport(sent, asyncio.get_running_loop())
        for step in steps:
            step(transport)
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    asyncio.run(run())
    return sent.done


def write(*parts):
    return lambda transport: [transport.write(part) for part in parts]


def test_the_head_of_an_answer_is_sent_with_its_body():
    assert done(write(b"head ", b"body"), write(b"more")) == [b"head body", b"more"]


def test_what_was_written_goes_before_a_connection_is_closed():
    def close(transport):
        transport.write(b"last")
        transport.close()

    assert done(close) == [b"last", "closed"]


def test_much_at_once_does_not_wait_so_that_a_slow_client_holds_it_up():
    large = b"x" * MOST_GATHERED
    assert done(write(b"head", large, b"rest")) == [b"head" + large, b"rest"]


def test_whatever_else_is_asked_is_asked_of_the_transport():
    assert done(lambda transport: transport.close() or transport.is_closing() or 1 / 0) == [
        "closed"
    ]
