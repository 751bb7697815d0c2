"""The REM dialect: statements, the values they mean, and what runs them."""
