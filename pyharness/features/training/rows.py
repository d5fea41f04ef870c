"""Tokenizers trained here: ``trained:TRAINER?vocab_size=8192&pattern=gpt2&corpus=SPECIFICATION``.

The corpus is a specification like any other; write a ``&`` in it as ``%26`` and a ``%`` as ``%25``:
``trained:bpe?vocab_size=8192&corpus=shard:0/2:installed:python-code?max_bytes=2MB%26language=code``.

A ``|`` separates several corpora. A trainer that changes a tokenizer takes this tokenizer as ``base=``, and the size of
the change: ``trained:continued-bpe?base=./tokenizer.json&tokens=8192&corpus=path:books.jsonl``. Rows that differ in
``tokens=`` alone need one training if the largest comes first, as it does in a suite.

Training takes place once, in another process, when a row is *obtained*, before any measurement. Resolving and loading
a row train nothing. The files stay in a cache (``PYHARNESS_CACHE``, or ``XDG_CACHE_HOME/pyharness``, or
``~/.cache/pyharness``) under a key of the recipe. Obtaining a row trains again once its text or base has changed.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from pyharness import tokenizers
from pyharness.features.training import trained_cache, trainers, training_process
from pyharness.features.training.recipe import Recipe, keys_file, text_of
from pyharness.features.training.trainers import TrainedTokenizer, TrainerSpec
from pyharness.plugins.specification import TOKENIZER
from pyharness.tokenizers.families import file
from pyharness.types import InputError, Tokenizer, TokenizerFamily, TokenizerSpec, TrainingProgress, Unsupported


def prepare(
    argument: str, options: Mapping[str, str], progress: Callable[[TrainingProgress], None] | None = None
) -> None:
    """Train, unless the cache has the result of this recipe on the current text, or no library loads what it gives.

    A trainer that refuses (too little text for the vocabulary, library not installed) or crashes costs its rows, not
    the run. A refused training is not repeated; a crashed one is.

    Raises:
        InputError: the recipe is invalid, its text cannot be read, or the cache cannot be written.
        Stopped: the training was stopped.
    """
    recipe = Recipe.of(argument, options)
    if not recipe.trainer.loadable:
        return
    recipe.request()  # downloads a missing base, and refuses one that cannot be adapted
    digest, size = text_of(recipe.corpus, progress)
    with trained_cache.locked(recipe.as_json()) as place:
        kept = place.find()
        if kept is not None and (kept.digest, kept.base) == (digest, recipe.base) and not kept.crashed:
            return
        whole = recipe.of_all_sizes  # other sizes wait: they may reuse what this training learns
        with nullcontext() if whole is None else trained_cache.locked(whole.as_json()):
            death = training_process.run(argument, options, digest, size, progress)
        if death is not None:
            place.refuse(digest, death, recipe.base, crashed=True)


def prepared(argument: str, options: Mapping[str, str]) -> bool:
    """Tell whether nothing is left to train: the cache has a file or a refusal, of any text, or no library loads it."""
    recipe = Recipe.of(argument, options)
    kept = trained_cache.RecipeFolder.of(recipe.as_json()).find()
    return not recipe.trainer.loadable or (kept is not None and kept.base == recipe.base and not kept.crashed)


def precedence(argument: str, options: Mapping[str, str]) -> tuple[str, int]:
    """Return a key of the shared training, and a turn, the smallest first: more tokens serve rows with fewer."""
    sizes = trainers.resolve(argument).sizes
    shared = TOKENIZER.write("trained", argument, {name: options[name] for name in sorted(options.keys() - sizes)})
    numbers = [int(options[name]) for name in sizes & options.keys() if options[name].isdecimal()]
    return shared, -max(numbers, default=0)


def expand(argument: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe the row; it has a file after its training."""
    recipe = Recipe.of(argument, options)
    kept = trained_cache.RecipeFolder.of(recipe.as_json()).find()
    source = f"{recipe.trainer.name} trained on {recipe.corpus}"
    if kept is None or kept.path is None or kept.base != recipe.base:
        return TokenizerSpec(
            name=f"trained:{argument}", load=partial(_refuse, recipe, kept), library=recipe.trainer.library,
            source=source, extra=recipe.trainer.extra,
        )  # fmt: skip
    return dataclasses.replace(
        file.row(f"trained:{recipe.trainer.name}", kept.path, kept.options), name=f"trained:{argument}",
        source=f"{source} (text {kept.digest[:16]})", revision=kept.digest,
        trained_on=keys_file(recipe.corpus, kept.digest), extra=recipe.trainer.extra,
    )  # fmt: skip


def first_loaded(trainer: TrainerSpec[Any], trained: TrainedTokenizer) -> Tokenizer:
    """Load the first file of a training, as ``file:`` does; raise ``InputError`` if it cannot be loaded."""
    with tempfile.TemporaryDirectory(prefix="pyharness-") as folder:
        for name, content in trained.files.items():
            (Path(folder) / name).write_bytes(content)
        try:
            path = Path(folder) / next(iter(trained.files))
            return tokenizers.load(file.row(f"trained:{trainer.name}", path, trained.loading))
        except InputError as error:
            raise InputError(f"trainer {trainer.name!r} gave a file that cannot be loaded: {error}") from None


def _refuse(recipe: Recipe, kept: trained_cache.KeptTraining | None, spec: TokenizerSpec) -> Tokenizer:
    name = recipe.trainer.name
    if not recipe.trainer.loadable:
        raise Unsupported(f"no library loads what {name} trains: {spec.name!r} can only be trained")
    if kept is None:
        raise InputError(f"{spec.name!r} has not been trained yet: 'pyharness run' trains it, or tokenizers.obtain()")
    if kept.crashed:
        raise InputError(f"{name} gave nothing: {kept.refused}")
    if kept.base != recipe.base:
        raise InputError(
            f"base {recipe.options['base']!r} or its settings changed, or went, after {spec.name!r} was trained "
            f"(SHA-256 {kept.base}, now {recipe.base}): train it again with 'pyharness run' or tokenizers.obtain()"
        )
    raise Unsupported(f"{name} cannot train this: {kept.refused}")


def recipe_of(specification: str) -> Recipe | None:
    """Return the recipe of a row that is trained here, in any engine; None for every other row."""
    wanted = tokenizers.without_engine(specification)
    if wanted.name != "trained" or wanted.argument is None:
        return None
    return Recipe.of(wanted.argument, wanted.options)


FAMILIES = (
    TokenizerFamily(
        name="trained",
        place=5,
        expand=expand,
        summary="trained here on a corpus, before anything is measured; ?vocab_size= (or base= and tokens=) and "
        "&corpus= are needed",
        example="trained:bpe?vocab_size=8192&corpus=installed:python-code",
        known=lambda: tuple(trainers.specs()),
        prepare=prepare,
        prepared=prepared,
        precedence=precedence,
    ),
)
