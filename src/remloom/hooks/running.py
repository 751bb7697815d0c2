"""The resident of a folder, as others see it: its process, whether it answers, and its end."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import time
from contextlib import suppress
from pathlib import Path
from typing import Literal

from .place import socket_of

_PATIENCE = 20.0  # seconds that it has to end by itself
_ANSWER = 3.0  # seconds that it has to answer

State = Literal["idle", "up", "hangs"]


def pid_of(folder: Path) -> int:
    """The process that holds the folder; 0 if there is none."""
    try:
        file = os.open(folder / "lock", os.O_RDWR)
    except OSError:
        return 0
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        said = os.read(file, 32)
        return int(said) if said.isdigit() else 0
    finally:
        os.close(file)
    return 0


def state_of(folder: Path) -> State:
    """Whether it answers. One that is idle has ended, and starts at the next event."""
    if not pid_of(folder):
        return "idle"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(_ANSWER)
        try:
            connection.connect(socket_of(folder))
            connection.sendall(b"doctor state 0\n")
            return "up" if connection.recv(16) else "hangs"
        except OSError:
            return "hangs"


def end(folder: Path) -> bool:
    """End it, after what it reads; by force, if it does not. Says whether there was one."""
    pid = pid_of(folder)
    if not pid:
        return False
    with suppress(ProcessLookupError):
        # one that was stopped does not hear that it is to end
        os.kill(pid, signal.SIGTERM)
        os.kill(pid, signal.SIGCONT)
        until = time.monotonic() + _PATIENCE
        while pid_of(folder) == pid:
            if time.monotonic() > until:
                os.kill(pid, signal.SIGKILL)
                until += _PATIENCE
            time.sleep(0.02)
    return True
