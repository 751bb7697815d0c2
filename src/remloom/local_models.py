"""Models that run in this process: their files are checked by sha256, and onnxruntime is loaded
without its telemetry."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

_OFF = "ORT_DISABLE_TELEMETRY"
_lock = threading.Lock()


def load_onnxruntime() -> Any:
    """Import onnxruntime with its telemetry off, and return it. (Since 1.32 it keeps an id of the
    device in the user's cache, and sends events to its maker.)

    Whatever imports it too (markitdown does, as do fastembed and rapidocr) is imported after this:
    the variable is read once, as the library is loaded. It is put back then; where the
    environment has a value already, or the program has imported the library itself, that stays.
    """
    with _lock:
        is_switched = "onnxruntime" not in sys.modules and _OFF not in os.environ
        if is_switched:
            os.environ[_OFF] = "1"
        try:
            import onnxruntime
        finally:
            if is_switched:
                os.environ.pop(_OFF, None)
        return onnxruntime


def verified(path: Path, sha256: str, *, cache: Path | None = None) -> bool:
    """Whether a file has this sha256.

    Hashing 90 MB takes 0.2 to 0.4 seconds, so a file that passed is remembered by path, size and
    time of last change in a stamp under the user's cache folder. A changed file is hashed again; a
    stamp that cannot be read or written only costs the hashing.

    Args:
        path: the file.
        sha256: lowercase hexadecimal digest that it must have.
        cache: folder of the stamps; the user's cache folder when not given.

    Raises:
        OSError: the file cannot be read.
    """
    state = path.stat()
    # a file that was changed without its time or size passes: the check is for accidents
    passed = [str(path.resolve()), state.st_size, state.st_mtime_ns, sha256]
    if cache is None:
        from platformdirs import user_cache_path

        cache = user_cache_path("remloom") / "verified"
    stamp = cache / f"{hashlib.sha256(str(passed[0]).encode()).hexdigest()[:32]}.json"
    with contextlib.suppress(OSError, ValueError):
        if json.loads(stamp.read_text()) == passed:
            return True
    with path.open("rb") as file:
        if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
            return False
    with contextlib.suppress(OSError):
        cache.mkdir(parents=True, exist_ok=True)
        # several processes may do so at once: each replaces the stamp as a whole
        fresh = stamp.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(passed))
        fresh.replace(stamp)
    return True
