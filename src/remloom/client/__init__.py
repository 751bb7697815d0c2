"""`Client`: `Memory`'s methods over REST."""
