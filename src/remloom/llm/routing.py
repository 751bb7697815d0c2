"""Models by their names, and by the tasks that they do; each is opened when it is first needed."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

from ..errors import MissingExtraError, ModelNotConfiguredError, UnknownNameError
from ..settings import Settings, TaskSettings
from .contract import Closing, Model
from .prompts import tasks


class ModelRouter:
    """Knows which model does a task: one of its own, by the settings, or the default."""

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
        """Get the model of a task, opened."""
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


def open_llm(settings: Settings) -> Model | None:
    """Open the model that the settings name; None when they name none. See `open_model`."""
    return open_model(settings.llm_model, settings) if settings.llm_model else None


def open_model(name: str, settings: Settings) -> Model:
    """Open a model by its name: `local:…`, or `<provider>:<model>`.

    It is loaded, or connected to, when first called. `llm_base_url` and `llm_api_key` belong to
    `llm_model`: a model of another provider, which a task may have, takes neither, but that
    provider's own endpoint and the key in the environment.

    Raises:
        MissingExtraError: what it needs is not installed.
        SettingsError: there is no such model file or provider, or its key is missing.
    """
    if name.startswith("local:"):
        from .local import LocalModel

        return LocalModel(name, settings=settings)
    try:
        from .remote import RemoteModel, provider_of

        same_provider = provider_of(name) == provider_of(settings.llm_model or name)
    except ImportError as error:
        raise MissingExtraError(f"the language model {name}", "llm") from error
    # A key is never sent to an endpoint that it is not for.
    base_url = settings.llm_base_url if same_provider else ""
    key = settings.llm_api_key if same_provider else ""
    return RemoteModel(name, base_url=base_url, api_key=key, settings=settings)
