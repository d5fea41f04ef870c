"""Discovery of plug-in modules: one constant per kind, one module per plug-in; and choice by name."""

from __future__ import annotations

import importlib
import os
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from pyharness.types import InputError

T = TypeVar("T")

FEATURES = f"{__name__.split('.')[0]}.features"  # each feature folder names its modules in PLUGINS: "module:CONSTANT"


class Offers(Mapping[str, T]):
    """Items that modules offer in a constant, by ``.name``. A lookup loads modules up to the item, iteration all.

    A lookup first tries modules of that name, then the others; our modules precede third-party ones.
    """

    def __init__(self, group: str, constant: str, modules: Sequence[str]) -> None:
        self._group, self._constant = group, constant
        self._modules = list(modules)  # ours, in order
        self._loaded: dict[str, Mapping[str, T]] = {}  # by module

    def __getitem__(self, name: str) -> T:
        for module in sorted(() if "_all" in vars(self) else self._modules, key=lambda one: name not in one.split(".")):
            if name in (items := self._of(module)):
                return items[name]
        return self._all[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def _of(self, module: str) -> Mapping[str, T]:
        if module not in self._loaded:
            items = getattr(importlib.import_module(module), self._constant, ())
            self._loaded[module] = {item.name: item for item in items}
        return self._loaded[module]

    @cached_property
    def _all(self) -> Mapping[str, T]:
        items: dict[str, T] = {}
        for module in self._modules:
            if twice := items.keys() & self._of(module).keys():
                raise ValueError(f"{module} defines {min(twice)!r}, which already exists")
            items |= self._of(module)
        for name, plugin in _plugins(self._group):
            for item in _items(name, plugin, self._constant):
                if item.name in items:
                    raise InputError(
                        f"{name} defines {item.name!r} in {self._constant}, which already exists; rename it"
                    )
                items[item.name] = item
        return items


@cache
def discover(package: ModuleType, constant: str) -> Offers[Any]:
    """Collect ``constant`` from every module of ``package``, from features and from plug-ins, by ``.name``.

    Third-party packages register a module under the entry-point group ``pyharness.<package>``. The environment
    variable ``PYHARNESS_PLUGINS`` names further modules (separated by commas). A feature names its modules in
    ``PLUGINS``, by the same groups.
    """
    names = [info.name for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}.")]
    return Offers(package.__name__, constant, [*names, *_of_features(package.__name__, constant)])


@cache
def offered(group: str, constant: str) -> Offers[Any]:
    """Collect ``constant`` from features and plug-ins that serve a group, by ``.name``."""
    return Offers(group, constant, list(_of_features(group, constant)))


def loaded(offer: T | str) -> T:
    """Import what an offer names as "module:name"; any other offer is the thing itself."""
    named: T = pkgutil.resolve_name(offer) if isinstance(offer, str) else offer
    return named


def of_features(group: str, constant: str) -> Mapping[str, Any]:
    """Import features alone, at once, and collect the items of their ``constant`` for a group, by ``.name``."""
    modules = map(importlib.import_module, _of_features(group, constant))
    return {item.name: item for module in modules for item in getattr(module, constant, ())}


def public(group: str, name: str) -> Any:
    """Return a name of the module that a feature offers a group as "module:*": what plug-ins import from there.

    Raises:
        AttributeError: no feature offers it, or Python asks for a name of its own: a ``__path__`` would load a module
            of the feature a second time.
    """
    for module in () if name.startswith("__") else _of_features(group, "*"):
        return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {group!r} has no attribute {name!r}")


def _of_features(group: str, constant: str) -> Iterator[str]:
    """Yield the modules in which features offer a constant to a group; only the manifests are imported."""
    for info in pkgutil.iter_modules(importlib.import_module(FEATURES).__path__, f"{FEATURES}."):
        for entry in importlib.import_module(info.name).PLUGINS.get(group, ()):
            module, _, offer = entry.partition(":")
            if offer == constant:
                yield f"{info.name}.{module}"


def _plugins(group: str) -> Iterator[tuple[str, Any]]:
    """Yield third-party modules with their names for messages; the error for one that cannot be imported names it."""
    from importlib.metadata import entry_points  # half of the time that a shell's completion would take

    for entry in entry_points(group=group):
        name = f"plug-in {entry.name!r} of package {entry.dist.name if entry.dist else 'unknown'}"
        yield name, _import(f"{name} cannot be imported", "upgrade or uninstall that package", entry.load)
    for own in filter(None, map(str.strip, os.environ.get("PYHARNESS_PLUGINS", "").split(","))):
        message = f"PYHARNESS_PLUGINS names {own!r}, which cannot be imported"
        yield f"plug-in {own!r}", _import(message, "fix it or unset that", partial(importlib.import_module, own))


def _import(said: str, advice: str, load: Callable[[], Any]) -> Any:
    try:
        return load()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever third-party code raises, SystemExit and panics of Rust included
        about = " ".join(str(error).split())
        kind = "" if isinstance(error, ImportError | InputError) else f"{type(error).__name__}: "
        raise InputError(f"{said}: {kind}{about}; {advice}") from error


def _items(name: str, plugin: Any, constant: str) -> Sequence[Any]:
    items = getattr(plugin, constant, ())
    if not isinstance(items, tuple | list) or not all(isinstance(getattr(item, "name", None), str) for item in items):
        raise InputError(f"{name}: {constant} is not a tuple of things with a name; see docs/plugins.md")
    return items


MOST_NEAR, MOST_KNOWN = 5, 12
LISTS = {  # what ``pyharness list`` calls the names of a kind
    "tokenizer": "tokenizers", "corpus": "corpora", "trainer": "trainers", "metric": "metrics",
    "benchmark": "benchmarks", "suite": "suites",
}  # fmt: skip


def suggest(kind: str, name: str, known: Iterable[str]) -> InputError:
    """Return the error for an unknown name, with the closest names and the command that lists all, or a few names."""
    import difflib

    names = sorted(known)
    whole = {key: one for one in names for key in (one.rpartition(":")[2], one)}  # a name, or its argument alone
    close = difflib.get_close_matches(name, whole, MOST_NEAR) or [one for one in names if name and name in one]
    near = [repr(one) for one in dict.fromkeys(whole[one] for one in close)][:MOST_NEAR]
    all_of = f"pyharness list {LISTS[kind]}" if kind in LISTS else ""
    if all_of and (os.sep in name or Path(name).suffix[1:].isalpha()) and not close:
        said = "write file: or path: before it" if os.path.exists(name) else "there is no such file"  # noqa: PTH110
        return InputError(f"unknown {kind} {name[:200]!r}: {said}; {all_of} shows names")
    if near:
        hint = f"did you mean {' or '.join(near)}?"
        return InputError(f"unknown {kind} {name!r}; {hint}" + f" {all_of} shows all" * bool(len(near) > 1 and all_of))
    if all_of and len(names) > MOST_NEAR:
        return InputError(f"unknown {kind} {name!r}; {all_of} shows all")
    more = f" and {len(names) - MOST_KNOWN} more" if len(names) > MOST_KNOWN else ""
    return InputError(f"unknown {kind} {name!r}; known: {', '.join(names[:MOST_KNOWN]) or 'none'}{more}")


def pick(kind: str, name: str, known: Mapping[str, T]) -> T:
    """Look up a name; raise ``InputError`` with the closest names if it is unknown."""
    try:
        return known[name]
    except KeyError:
        raise suggest(kind, name, known) from None
