"""Optional libraries: whether one is installed, and the line that says how to install it."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from pyharness.types import InputError

PROJECT = "pyharness"


def folder_of(module: str) -> Path | None:
    """Return the folder of an installed package without importing it; None if it has none or is not installed.

    >>> folder_of("email").name
    'email'
    """
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin).parent if spec is not None and spec.origin else None


def is_installed(module: str) -> bool:
    """Return whether a module is found, without importing it; packages that contain it are imported.

    >>> is_installed("email"), is_installed("no_such_module")
    (True, False)
    """
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # of a submodule's package
        return False
    except ValueError:  # a module made by hand has no __spec__
        return sys.modules.get(module) is not None


def require(
    purpose: str, module: str, extra: str | Sequence[str], distribution: str | None = None,
    error: type[Exception] = InputError, otherwise: str = "",
) -> None:  # fmt: skip
    """Raise ``error`` if a module is not installed.

    Args:
        purpose: what needs the module; the message begins with it.
        module: name to import.
        extra: extras of ours that provide it; the message says how to install them.
        distribution: name of the module's distribution, where it differs.
        error: class of the exception.
        otherwise: what is possible without the module; the message ends with it.
    """
    if not is_installed(module):
        raise error(f"{purpose} needs {distribution or module}, which is not installed: {_advice(extra, otherwise)}")


def require_folder(purpose: str, module: str, extra: str, distribution: str | None = None) -> Path:
    """Return the folder of a package, to read its files without importing it; raise ``InputError`` without one."""
    require(purpose, module, extra, distribution)
    folder = folder_of(module)
    if folder is None:
        raise InputError(f"{purpose} needs {distribution or module}, which has no folder here: install it again")
    return folder


def load(
    purpose: str, module: str, extra: str, distribution: str | None = None, error: type[Exception] = InputError,
    otherwise: str = "",
) -> Any:  # fmt: skip
    """Import an optional library; raise ``error`` as ``require`` does, and also for an ``ImportError``."""
    require(purpose, module, extra, distribution, error, otherwise)
    try:
        return importlib.import_module(module)
    except ImportError as problem:
        what = f"{purpose} needs {distribution or module}, which cannot be imported ({problem})"
        raise error(f"{what}: {_advice(extra, otherwise)}") from None


def import_all(distribution: str) -> None:
    """Import the top modules of an installed distribution; one that is not installed has none."""
    try:
        paths = metadata.files(distribution) or ()
    except metadata.PackageNotFoundError:
        return
    names = {path.parts[0] if len(path.parts) > 1 else inspect.getmodulename(path.name) or "" for path in paths}
    for name in sorted(name for name in names if name.isidentifier() and name[0] != "_"):
        importlib.import_module(name)


def _advice(extra: str | Sequence[str], otherwise: str) -> str:
    extras = extra if isinstance(extra, str) else ",".join(extra)
    return f"pip install '{PROJECT}[{extras}]'" + (f", or {otherwise}" if otherwise else "")
