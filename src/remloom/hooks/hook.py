"""What a coding agent calls: it asks the resident process, and answers in any case, in time.

    python -I -S hook.py FOLDER SOCKET PYTHON CLIENT EVENT < payload

It imports only what costs nothing, as each call is a process: no `socket`, and `json` only when
there is no resident. It prints what the resident says, or `{}`, and its exit code is 0 whatever
happens. It is installed as a copy: nothing of the package may be imported here.
"""

from __future__ import annotations

import os
import select
import sys
import time

if False:  # for types only
    import _socket

_BEGUN = time.monotonic()
_BUDGET = 0.11  # seconds; Python takes up to 40 ms more to start and to end
_LARGEST = 1 << 20  # bytes of a payload, and of a reply
_BLOCK = 1 << 16
_NOTHING = b"{}"
_MOST_WAITING = 256  # files for a resident that does not come
# what of a payload may wait on disk: where the session is, and none of its words
_KEPT = (
    "session_id", "sessionId", "sessionID", "conversation_id", "transcript_path", "transcriptPath",
    "cwd", "directory", "workspace_roots", "hook_event_name",
)  # fmt: skip


def main(folder: str, socket: str, python: str, client: str, event: str) -> None:
    """Ask, print, and see to it that there is a resident for the next call."""
    payload = _payload()
    connection = _connect(socket)
    reply = None if connection is None else _ask(connection, client, event, payload)
    os.write(1, reply or _last_brief(folder, client, event))
    if connection is None:
        _leave(folder, client, event, payload)
        _start(folder, python)


def brief_path(folder: str, client: str, event: str, cwd: str) -> str:
    """Where the resident leaves what a session in a folder begins with, for when it is not up."""
    number = int.from_bytes(os.fsencode(cwd), "big") % (2**89 - 1)
    return os.path.join(folder, "briefs", f"{client}-{event}-{number:x}")


def _left() -> float:
    return max(_BEGUN + _BUDGET - time.monotonic(), 0.001)


def _payload() -> bytes:
    parts = []
    size = 0
    while size < _LARGEST and select.select([0], [], [], _left())[0]:
        part = os.read(0, _BLOCK)
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _connect(path: str) -> _socket.socket | None:
    """A connection to the resident; None if there is none, or another user's."""
    import _socket

    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        if os.stat(path).st_uid == os.getuid():
            connection.settimeout(_left())
            connection.connect(path)
            return connection
    except OSError:
        pass
    connection.close()
    return None


def _ask(connection: _socket.socket, client: str, event: str, payload: bytes) -> bytes | None:
    """What the resident replies; None if it does not in time."""
    data = b"%s %s %d\n%s" % (client.encode(), event.encode(), len(payload), payload)
    reply = b""
    try:
        while data:
            connection.settimeout(_left())
            data = data[connection.send(data[:_BLOCK]) :]
        while len(reply) <= _LARGEST:
            connection.settimeout(_left())
            part = connection.recv(_BLOCK)
            if not part:
                # a reply ends with a line's end; one without was broken off
                return reply[:-1] if reply.endswith(b"\n") else None
            reply += part
    except OSError:
        pass
    return None


def _last_brief(folder: str, client: str, event: str) -> bytes:
    cwd = os.getcwd()
    try:
        with open(brief_path(folder, client, event, cwd), "rb") as file:
            head, _, reply = file.read(_LARGEST).partition(b"\n")
    except OSError:
        return _NOTHING
    return reply if head == os.fsencode(cwd) and reply else _NOTHING


def _leave(folder: str, client: str, event: str, payload: bytes) -> None:
    """Leave word of a session for the resident: where it is."""
    import json

    try:
        said = json.loads(payload)
        waiting = os.path.join(folder, "waiting")
        if len(os.listdir(waiting)) >= _MOST_WAITING:
            return
        kept = {name: said[name] for name in _KEPT if name in said}
        kept.setdefault("cwd", os.getcwd())
        word = json.dumps({"client": client, "event": event, "payload": kept})
        name = f"{time.time_ns():x}-{os.getpid()}"
        part = os.path.join(folder, f"{name}.part")
        with open(part, "x", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
            file.write(word)
        os.rename(part, os.path.join(waiting, name))
    except (OSError, ValueError, TypeError, RecursionError):
        pass


def _start(folder: str, python: str) -> None:
    """Start the resident, as a process of its own that outlives the agent.

    `started` is touched first, so that a hundred calls at once start one, and one that cannot
    start is not tried at every call.
    """
    mark = os.path.join(folder, "started")
    try:
        if time.time() - os.stat(mark).st_mtime < 10:
            return
    except OSError:
        pass
    try:
        os.close(os.open(mark, os.O_CREAT | os.O_WRONLY, 0o600))
        os.utime(mark)
        null = os.open(os.devnull, os.O_RDWR)
        os.posix_spawn(
            python,
            [python, "-m", "remloom.hooks.resident", folder],
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, null, n) for n in (0, 1, 2)],
            setsid=True,
        )
    except OSError:
        pass


if __name__ == "__main__":
    try:
        main(*sys.argv[1:6])
    finally:
        # whatever happened, without a word: an exit code of 2 would stop the agent
        os._exit(0)
