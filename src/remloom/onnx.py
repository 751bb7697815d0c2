"""Loading onnxruntime without its telemetry.

Since 1.32 it keeps an id of the device in the user's cache, and sends events to its maker.
"""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

_OFF = "ORT_DISABLE_TELEMETRY"

_lock = threading.Lock()


def load_onnxruntime() -> Any:
    """Import onnxruntime with its telemetry off, and return it.

    Whatever imports it too (markitdown does, as do fastembed and rapidocr) is imported after this:
    the variable is read once, as the library is loaded. It is put back then; where the
    environment has a value already, or the program has imported the library itself, that stays.
    """
    with _lock:
        if "onnxruntime" in sys.modules or _OFF in os.environ:
            import onnxruntime

            return onnxruntime
        os.environ[_OFF] = "1"
        try:
            import onnxruntime
        finally:
            os.environ.pop(_OFF, None)
        return onnxruntime
