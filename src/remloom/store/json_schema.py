"""JSON Schemas, compiled: what they ask for is checked with every fault and its path."""

from __future__ import annotations

from typing import Any

from ..errors import InvalidInputError, MissingExtraError

__all__ = ["compile_schema"]


def compile_schema(schema: dict[str, Any]) -> Any:
    """Compile a JSON Schema to a validator of `jsonschema_rs`. Nothing is fetched for it.

    Raises:
        InvalidInputError: it is no JSON Schema, or refers to one elsewhere.
        MissingExtraError: `remloom[schemas]` is not installed.
    """
    try:
        import jsonschema_rs
    except ImportError as error:
        raise MissingExtraError("a metadata_schema", "schemas") from error
    try:
        return jsonschema_rs.validator_for(schema, retriever=_refuse)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        told = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidInputError(
            f"this is no JSON Schema: {told}", remedy="see https://json-schema.org"
        ) from error


def _refuse(uri: str) -> Any:
    raise ValueError(f"{uri} is elsewhere: write it here, under $defs")
