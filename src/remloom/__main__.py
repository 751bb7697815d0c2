"""`python -m remloom` is the `remloom` command."""

from .serve.cli import main

if __name__ == "__main__":
    main()
