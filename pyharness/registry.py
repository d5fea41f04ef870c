"""Finds what each plug-in module offers: one constant per kind, one module per plug-in; and picks by name."""

from __future__ import annotations

import difflib
import importlib
import os
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any, TypeVar

from pyharness.types import InputError

T = TypeVar("T")


@cache
def discover(package: ModuleType, constant: str) -> Mapping[str, Any]:
    """Collect ``constant`` from every module of ``package`` and from plug-ins, by ``.name``.

    Third-party packages register a module under the entry-point group ``pyharness.<package>``; a module of one's own
    is named in the environment variable ``PYHARNESS_PLUGINS`` (several: separated by commas).
    """
    names = [info.name for info in pkgutil.iter_modules(package.__path__, f"{package.__name__}.")]
    modules = [importlib.import_module(name) for name in names]
    modules += [entry.load() for entry in entry_points(group=package.__name__)]
    modules += [_own(name) for name in os.environ.get("PYHARNESS_PLUGINS", "").split(",") if name]
    found: dict[str, Any] = {}
    for module in modules:
        for item in getattr(module, constant, ()):
            if item.name in found:
                raise ValueError(f"{module.__name__} defines {item.name!r}, which already exists")
            found[item.name] = item
    return found


def _own(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(f"PYHARNESS_PLUGINS names {name!r}, which cannot be imported: {error}") from None


def suggest(kind: str, name: str, known: Iterable[str]) -> InputError:
    """Return the error for an unknown name: what was asked for, and what comes close or what there is."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, 3, cutoff=0.5) or [n for n in names if name and name in n][:3]
    if close:
        return InputError(f"unknown {kind} {name!r}; did you mean {' or '.join(map(repr, close))}?")
    return InputError(f"unknown {kind} {name!r}; known: {', '.join(names) or 'none'}")


def pick(kind: str, name: str, known: Mapping[str, T]) -> T:
    """Look a name up; an unknown one raises ``InputError`` with the closest names."""
    try:
        return known[name]
    except KeyError:
        raise suggest(kind, name, known) from None
