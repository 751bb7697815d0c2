"""The `remloom` command. Importing this package imports none of it."""

__all__ = ["main"]


def main() -> None:
    """Run the command line; exits with its code."""
    from .app import start

    start()
