"""The built-in schemas: what kinds of records every memory has, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ..model import Entity, Moment, Resource, Row

__all__ = ["SCHEMAS", "decoder_of"]

SCHEMAS: dict[str, type[Resource | Entity | Moment]] = {
    "resources": Resource,
    "entities": Entity,
    "moments": Moment,
}

_decoders: dict[str, Callable[[bytes | str], Any]] = {
    name: msgspec.json.Decoder(kind).decode for name, kind in SCHEMAS.items()
}
_decode_row = msgspec.json.Decoder(Row).decode


def decoder_of(schema: str) -> Callable[[bytes | str], Any]:
    """Return what decodes the stored body of a record; every schema but the built-in ones has
    rows."""
    return _decoders.get(schema, _decode_row)
