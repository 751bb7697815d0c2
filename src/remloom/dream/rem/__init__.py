"""The REM cycle: records of different times, and what binds them."""
