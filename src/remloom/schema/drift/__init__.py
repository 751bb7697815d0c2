"""How a database has changed since its plan was made, and which changes are accepted."""
