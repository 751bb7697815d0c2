"""The built-in schemas: what kinds of records every memory has, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ..model import Entity, Moment, Resource, Row

SCHEMAS: dict[str, type[Resource | Entity | Moment]] = {
    "resources": Resource,
    "entities": Entity,
    "moments": Moment,
}


class _Decoders(dict[str, Callable[[bytes | str], Any]]):
    def __missing__(self, schema: str) -> Callable[[bytes | str], Any]:
        return _decode_row


_decode_row = msgspec.json.Decoder(Row).decode
# what decodes the stored body of a record; every schema but the built-in ones has rows
DECODERS = _Decoders({name: msgspec.json.Decoder(kind).decode for name, kind in SCHEMAS.items()})
