"""Opening models by their names."""

from __future__ import annotations

from ..errors import MissingExtraError
from ..settings import Settings
from .contract import Model


def open_llm(settings: Settings) -> Model | None:
    """Open the model that the settings name; None when they name none.

    Raises:
        SettingsError, MissingExtraError: see `open_model`.
    """
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
