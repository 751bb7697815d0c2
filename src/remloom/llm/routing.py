"""Choosing the model of a task; each is opened when it is first needed."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from ..errors import ModelNotConfiguredError, UnknownNameError
from ..settings import Settings, TaskSettings
from .contract import Closing, Model
from .prompts import tasks


class ModelRouter:
    """Knows which model does a task.

    Args:
        default: does the tasks that have no model of their own.
        settings: say which have one.
        opening: opens a task's own model by its name.

    Raises:
        UnknownNameError: `settings.llm_tasks` names a task that does not exist.
    """

    def __init__(
        self,
        default: Model,
        settings: Settings,
        opening: Callable[[str], Model] | None,
    ) -> None:
        for name in settings.llm_tasks:
            if name not in tasks():
                raise UnknownNameError("task in llm_tasks:", name, tasks())
        self.default = default
        self._settings = settings
        self._opening = opening
        self._opened: dict[str, Model] = {}
        self._opening_one = Lock()
        self._used = False

    def called(self, *, default: bool) -> list[Closing]:
        """Take out the models that were called and can be closed; the default only if `default`."""
        models = list(self._opened.values())
        if default and self._used:
            models.append(self.default)
        # A later call opens them again.
        self._opened = {}
        self._used = False
        return [model for model in models if isinstance(model, Closing)]

    def of(self, task: str) -> Model:
        """Get the model of a task, opened.

        Raises:
            ModelError: it cannot be opened.
        """
        name = self._settings.llm_tasks.get(task, TaskSettings()).model
        if not name:
            self._used = True
            return self.default
        with self._opening_one:
            if name not in self._opened:
                if self._opening is None:
                    raise ModelNotConfiguredError(f"the task {task}")
                self._opened[name] = self._opening(name)
            return self._opened[name]
