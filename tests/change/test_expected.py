"""What is changed only as it was read, in each kind of store."""

from test_memory import (
    test_an_entity_is_changed_and_a_text_deleted_only_as_it_was_read as test_changes_as_read,
)

__all__ = ["test_changes_as_read"]
