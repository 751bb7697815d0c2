"""One process of a race: some threads that do the same at once to one memory, and tell what was
acknowledged.

    python tests/attack/racing.py HOME PROCESS THREADS

It prints `ready` once the memory is open; for each line `RACE TURNS` that it is given, it runs
that, and prints as JSON what was acknowledged. A race is a function of the memory, a name that no
other turn has, and its turn; what it returns, if anything, was acknowledged.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from typing import Any

from remloom import Edge, Entity, Memory, Message
from remloom.errors import ChangedError, NotFoundError

__all__ = ["RACES", "run"]


def merge(memory: Memory, name: str, _: int) -> Any:
    memory.update_entity("sum", {name: 1})
    return name


def merge_by_name(memory: Memory, name: str, _: int) -> Any:
    memory.write(
        [Entity(name="Everybody", type="person", properties={name: 1}, aliases=(f"alias {name}",))]
    )
    return name


def strengthen(memory: Memory, name: str, _: int) -> Any:
    memory.write(
        [Edge(src="strength", rel_type="counts", dst="all", weight=0.5, properties={name: 1})]
    )
    return name


def unlink(memory: Memory, _: str, turn: int) -> Any:
    """All take back the same edges: each is taken back once."""
    try:
        memory.admin.delete_edge("Hub", "has", f"spoke {turn}")
    except NotFoundError:
        return None
    return turn


def index(memory: Memory, name: str, turn: int) -> Any:
    memory.create_index("entities", f"field{turn % 3}")
    return name


def append(memory: Memory, name: str, _: int) -> Any:
    try:
        memory.read_chat(
            [Message(id=name, speaker="Ann", text=f"I say {name}.")], uri="chat:race", append=True
        )
    except ChangedError:
        # others were quicker again and again: told, and not there
        return None
    return name


def read_again(memory: Memory, name: str, turn: int) -> Any:
    """All read new versions of the same document: the last one is there whole, and nothing of the
    others."""
    memory.read_text(
        "\n\n".join(f"Paragraph {n} of {name}." for n in range(3)), uri="doc:race", name="Race"
    )
    return name


def read_namesakes(memory: Memory, name: str, turn: int) -> Any:
    """All read documents of one title from different places at once, and chats of one name."""
    memory.read_text("Words of one.", uri=f"doc:{name}", name=f"Namesake {turn}")
    memory.read_chat(
        [Message(speaker="Ann", text="Words of a turn.")],
        uri=f"chat:{name}",
        name=f"Namesake {turn}",
    )
    return name


RACES: dict[str, Callable[[Memory, str, int], Any]] = {
    race.__name__: race
    for race in (
        merge,
        merge_by_name,
        strengthen,
        unlink,
        index,
        append,
        read_again,
        read_namesakes,
    )
}


def run(memory: Memory, race: str, process: str, threads: int, turns: int) -> list[Any]:
    told: list[list[Any]] = [[] for _ in range(threads)]
    errors: list[BaseException] = []
    start = threading.Barrier(threads)

    def work(thread: int) -> None:
        try:
            start.wait()
            for turn in range(turns):
                told[thread].append(RACES[race](memory, f"p{process}t{thread}n{turn}", turn))
        except BaseException as error:
            errors.append(error)

    started = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()
    if errors:
        raise errors[0]
    return [some for each in told for some in each if some is not None]


if __name__ == "__main__":
    home, process, threads = sys.argv[1:]
    with Memory.open(home, tenant="race", embedder="none") as memory:
        print("ready", flush=True)
        for line in sys.stdin:
            race, turns = line.split()
            print(json.dumps(run(memory, race, process, int(threads), int(turns))), flush=True)
