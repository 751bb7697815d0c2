"""Episodes: the sessions of chats that decide what is asked, with the turns that do."""

from .episodes import find_episodes

__all__ = ["find_episodes"]
