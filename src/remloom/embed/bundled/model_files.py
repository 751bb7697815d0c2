"""The files of models that come inside packages.

A package is a carrier of data only: its folder is found without importing it, and each file is
checked by sha256 before it is loaded.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from ...errors import EmbedderError
from ...verify import verified


class ModelFiles(Struct, frozen=True, kw_only=True):
    """Where the files of a model are, and what they must be."""

    model: str  # its name
    package: str  # the package that has them, as it is imported
    digests: Mapping[str, str]  # path within the folder -> sha256
    remedy: str  # how to get them
    folder: str = ""  # within the package
    tokenizer: ModelFiles | None = None  # those of its tokenizer, where another package has them

    def find(self, model_dir: str | Path = "") -> dict[str, Path]:
        """Find the files, by the last part of their path.

        Args:
            model_dir: the folder that has them, flat or as the package does; default the package.

        Raises:
            EmbedderError: the package, or a file, is not there, or a file is another.
        """
        folder = Path(model_dir).expanduser() if model_dir else self._package_folder()
        files = self.tokenizer.find(model_dir) if self.tokenizer else {}
        for inner, digest in self.digests.items():
            name = inner.rpartition("/")[2]
            candidates = (folder / inner, folder / name)
            path = next((candidate for candidate in candidates if candidate.is_file()), None)
            if path is None:
                raise EmbedderError(
                    f"the model {self.model} lacks {name} in {folder}",
                    remedy=self.remedy,
                    path=str(folder),
                )
            if not verified(path, digest):
                raise EmbedderError(
                    f"{path} is not the file of {self.model} that Remloom knows "
                    "(its sha256 differs)",
                    remedy=self.remedy,
                    path=str(path),
                    sha256=digest,
                )
            files[name] = path
        return files

    def _package_folder(self) -> Path:
        # finds the folder; runs nothing of the package
        spec = importlib.util.find_spec(self.package)
        for location in (spec.submodule_search_locations or ()) if spec else ():
            folder = Path(location) / self.folder
            if folder.is_dir():
                return folder
        raise EmbedderError(f"the model {self.model} is not installed", remedy=self.remedy)
