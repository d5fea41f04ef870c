"""Tokenizers: plug-in modules for libraries, files and hubs, found by name.

Importing this package imports no tokenizer library.

>>> load("raw_bytes").encode_batch(["é"]).ids.tolist()
[195, 169]
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

from pyharness.plugins import registry
from pyharness.plugins.specification import TOKENIZER, Specification, check_options
from pyharness.tokenizers import source

# Everybody finds these here; a gate does so in other revisions, too.
from pyharness.tokenizers.timed_calls import timed_call as timed_call
from pyharness.tokenizers.timed_calls import timed_decode as timed_decode
from pyharness.tokenizers.timed_calls import timed_single as timed_single
from pyharness.types import Engine, InputError, Tokenizer, TokenizerFamily, TokenizerSpec, TrainingProgress
from pyharness.vocabularies.files import vocabulary_file


@runtime_checkable
class HasNormalize(Protocol):
    """Ability: the text that decoding can restore at best: a part of ``HasPipeline`` that other engines' rows have."""

    def normalize(self, text: str) -> str:
        """Return the text that decoding can restore at best."""


def mapped_strings(tokenizer: Tokenizer) -> tuple[str, ...]:
    """Return strings that this engine cannot treat as the home library does: texts with them are not compared."""
    return tuple(getattr(tokenizer, "mapped_strings", ()))


def specs() -> Mapping[str, TokenizerSpec]:
    """Return the rows with a fixed name."""
    return registry.discover(sys.modules[__name__], "TOKENIZERS")


def names() -> list[str]:
    """Return names of rows: those that can be listed, and an example of each other family."""
    engines = engines_by_name()
    families = sorted(families_by_name().values(), key=lambda family: family.name in engines)
    # The last one counts: a name's home, rather than an engine.
    family_of = {name: family for family in reversed(families) for name in family.known()}
    examples = [family.example for family in families if not family.known()]
    return [*specs(), *(f"{family.name}:{name}" for name, family in family_of.items()), *examples]


def bare_names() -> frozenset[str]:
    """Return names that stand for rows without a family; a file of such a name is written as a path (``./gpt2``)."""
    return frozenset(specs()).union(*(family.known() for family in families_by_name().values()))


def families_by_name() -> Mapping[str, TokenizerFamily]:
    """Return the families of rows named ``family:argument``."""
    return registry.discover(sys.modules[__name__], "FAMILIES")


def engines_by_name() -> Mapping[str, Engine]:
    """Return libraries that run another library's vocabulary: ``engine+row``."""
    return registry.discover(sys.modules[__name__], "ENGINES")


def resolve(spec: str) -> TokenizerSpec:
    """Look up a specification, or the path of a file, and check what needs no import of a tokenizer library.

    A row that is not trained yet, or whose training was refused, gets no engine: loading it says why.

    Raises:
        InputError: a name is unknown, or a check fails.
    """
    wanted = _parse(spec)
    if wanted.engine is None:
        return _home(wanted)
    engine = registry.pick("tokenizer engine", wanted.engine, engines_by_name())
    bare, own = _without_options(TOKENIZER.parse(wanted.home), engine)
    home, family = _home(bare), families_by_name().get(bare.name)
    if home.path is None and home.instead is None and family is not None and family.prepare is not None:
        return dataclasses.replace(home, name=wanted.text)
    row = engine.wrap(dataclasses.replace(home, options={**home.options, **own}))
    return dataclasses.replace(row, name=wanted.text, trained_on=home.trained_on)


def _parse(spec: str) -> Specification:
    return TOKENIZER.parse(TOKENIZER.of_path(spec, bare_names))


def _without_options(home: Specification, engine: Engine) -> tuple[Specification, dict[str, str]]:
    """Return the home row of an engine, without the engine's options, and these options."""
    own = {key: home.options[key] for key in engine.options if key in home.options}
    rest = {key: value for key, value in home.options.items() if key not in own}
    text = TOKENIZER.write(home.name, home.argument, rest) if own else home.text
    return dataclasses.replace(home, text=text, options=rest), own


def precedence(spec: str) -> tuple[str, int]:
    """Return a key and a turn: rows with the same key are obtained one after another, the smallest turn first."""
    try:
        wanted = TOKENIZER.parse(TOKENIZER.parse(spec).home)
        family = families_by_name().get(wanted.name)
        if family is not None and family.precedence is not None and wanted.argument is not None:
            return family.precedence(wanted.argument, wanted.options)
    except InputError:  # obtain() reports it
        pass
    return spec, 0


def obtain(spec: str, progress: Callable[[TrainingProgress], None] | None = None) -> TokenizerSpec:
    """Resolve a specification whose vocabulary may need a download or a training first.

    A refused or crashed training is reported when the row is loaded.

    Args:
        spec: the specification, or the path of a tokenizer's file.
        progress: gets the progress of a training.

    Raises:
        InputError: the specification is invalid, a download fails, or an engine cannot run the row.
        Stopped: the training was stopped.
    """
    bare = without_engine(spec)
    family = families_by_name().get(bare.name)
    if family is not None and family.prepare is not None and bare.argument is not None:
        family.prepare(bare.argument, bare.options, progress)
    home = _home(bare)
    if home.path is None and isinstance(home.load, source.VocabularyFile):
        home.load.fetch()
    return resolve(spec)


def lacking(spec: str) -> Literal["", "training", "download"]:
    """Return what ``obtain`` has to do; "" if nothing is missing, as far as that is known without reading text."""
    bare = without_engine(spec)
    family = families_by_name().get(bare.name)
    if family is not None and family.prepared is not None and bare.argument is not None:
        return "" if family.prepared(bare.argument, bare.options) else "training"
    home = _home(bare)
    elsewhere = isinstance(home.load, source.VocabularyFile) and home.source.startswith("https://")
    return "download" if home.path is None and elsewhere else ""


def without_engine(spec: str) -> Specification:
    """Return the home row of a specification, without its engine's options."""
    wanted = _parse(spec)
    bare = TOKENIZER.parse(wanted.home)
    if wanted.engine is not None:
        bare, _ = _without_options(bare, registry.pick("tokenizer engine", wanted.engine, engines_by_name()))
    return _in_full(bare)


def _in_full(wanted: Specification) -> Specification:
    """Write out a name that only one family knows, engines aside: ``o200k_base`` is ``tiktoken:o200k_base``."""
    if wanted.argument is not None or wanted.name in specs() or wanted.name in families_by_name():
        return wanted
    engines = engines_by_name()
    homes = (family for name, family in families_by_name().items() if name not in engines)
    families = [family.name for family in homes if wanted.name in family.known()]
    return dataclasses.replace(wanted, name=families[0], argument=wanted.name) if len(families) == 1 else wanted


def load(spec: str | TokenizerSpec) -> Tokenizer:
    """Load a tokenizer with its library.

    Raises:
        InputError: the row is unknown, or its file has a fault.
        Unsupported: the row has no vocabulary, or its training was refused.
    """
    row = resolve(spec) if isinstance(spec, str) else spec
    return row.load(row)


def _home(wanted: Specification) -> TokenizerSpec:
    wanted = _in_full(wanted)
    if wanted.argument is None:
        return _resolve_fixed(wanted)
    family = families_by_name().get(wanted.name)
    if family is None:
        if wanted.name in specs():
            raise InputError(f"tokenizer {wanted.name!r} takes no argument: write {wanted.name!r}, not {wanted.text!r}")
        raise registry.suggest("tokenizer", wanted.head, names())
    return dataclasses.replace(family.expand(wanted.argument, wanted.options), name=wanted.text)


def _resolve_fixed(wanted: Specification) -> TokenizerSpec:
    row = specs().get(wanted.name)
    if row is None:
        family = families_by_name().get(wanted.name)
        if family is None:
            raise registry.suggest("tokenizer", wanted.head, names())
        examples = ", ".join(f"{family.name}:{argument}" for argument in family.known()) or family.example
        raise InputError(f"tokenizer {wanted.name!r} needs an argument: {examples}")
    check_options(wanted.text, wanted.options, ())
    if row.extra is not None and row.path is None:
        row.load(row)  # raises, with advice on what to install
    if row.vocabulary is None and row.path is not None:
        row = dataclasses.replace(row, vocabulary=f"sha256:{vocabulary_file.digest(Path(row.path))[:16]}")
    return row
