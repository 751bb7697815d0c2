"""The process that converts documents, one request on standard input after another.

See `convert`.
"""

from __future__ import annotations

import io
import sys
from contextlib import suppress

import msgspec

from ...errors import RemloomError
from . import formats, images
from .convert import ConvertRequest, Reply, receive, send, size_of

_TEXT = 100_000_000  # characters of a document
# of the memory that a document may take: a process that has kept more is not used again
_KEPT = 0.25


def main() -> None:
    """Answer requests."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    # what a library prints must not be taken for an answer
    sys.stdin, sys.stdout = io.StringIO(), sys.stderr
    decode = msgspec.msgpack.Decoder(ConvertRequest).decode
    encode = msgspec.msgpack.Encoder().encode
    base = size_of("self")
    while (message := receive(source)) is not None:
        request = decode(message)
        del message
        before = size_of("self")
        formats.load(request.suffix)
        base += size_of("self") - before
        allowed = request.memory_mb * 1_000_000
        # ready: the time runs from here
        send(target, b"%d" % (base + allowed))
        _restrict(request.seconds, base + allowed)
        try:
            reply = _answer(request)
            too_large = size_of("self") > base + _KEPT * allowed
            message = encode(msgspec.structs.replace(reply, last=too_large))
            # a large document must not stay until the next one is there
            del reply
        except MemoryError:
            _release()
            message = encode(Reply(memory=True, last=True))
        send(target, message)


def _answer(request: ConvertRequest) -> Reply:
    """Convert a document, or say why there is none."""
    try:
        document = formats.convert(request.uri, request.data, request.suffix, request.title)
        if request.preview:
            document = msgspec.structs.replace(document, preview=images.preview(request.data))
    except MemoryError:
        raise
    except RemloomError as error:
        return Reply(error=error.message)
    except RecursionError:
        return Reply(error="it is nested too deeply")
    except Exception as error:
        # whatever a parser raises, it is of this document
        return Reply(error=f"it cannot be read: {type(error).__name__}")
    if len(document.text) > _TEXT:
        size = f"{len(document.text) / 1_000_000:,.0f} MB"
        return Reply(error=f"its text is {size}: that is not a document")
    return Reply(document=document)


def _restrict(seconds: float, size: int) -> None:
    """Limit what this process takes from here on, where the system has such limits."""
    try:
        import resource
    except ImportError:  # pragma: no cover - Windows
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    limits = {resource.RLIMIT_CPU: round(used.ru_utime + used.ru_stime + seconds) + 1}
    if size_of("self"):
        limits[resource.RLIMIT_AS] = size
    for name, soft in limits.items():
        _, hard = resource.getrlimit(name)
        if hard != resource.RLIM_INFINITY:
            soft = min(soft, hard)
        resource.setrlimit(name, (soft, hard))


def _release() -> None:
    """Take back the limit of memory, so that there is enough to say that it was reached."""
    with suppress(ImportError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
