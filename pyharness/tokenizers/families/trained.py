"""Tokenizers trained here: ``trained:TRAINER?vocab_size=8192&pattern=gpt2&corpus=SPECIFICATION``.

The corpus is a specification like any other; write a ``&`` in it as ``%26`` and a ``%`` as ``%25``:
``trained:bpe?vocab_size=8192&corpus=shard:0/2:installed:python-code?max_bytes=2MB%26language=code``.

Training takes place once, in a process of its own, when a row is *obtained*, which is before anything is measured;
resolving and loading a row train nothing. The files stay in a cache (``PYHARNESS_CACHE``, or
``XDG_CACHE_HOME/pyharness``, or ``~/.cache/pyharness``) under everything that decides them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from pyharness import trainers
from pyharness.plugins.specification import TOKENIZER
from pyharness.tokenizers.families import file
from pyharness.tokenizers.training import cache as trained_cache
from pyharness.tokenizers.training import process as training_process
from pyharness.tokenizers.training.recipe import Recipe, text_of
from pyharness.types import InputError, Tokenizer, TokenizerFamily, TokenizerSpec, TrainingProgress, Unsupported
from pyharness.vocabularies.files import vocabulary_file


def prepare(
    argument: str, options: Mapping[str, str], progress: Callable[[TrainingProgress], None] | None = None
) -> None:
    """Train, unless the cache has what this recipe gives on the text as it is now.

    A trainer that cannot (too little text for the vocabulary, library not installed) or that crashes costs its rows,
    not the run. What was refused is not asked for again; what crashed is.
    """
    recipe = Recipe.of(argument, options)
    if not recipe.trainer.loadable:
        return
    digest, size = text_of(recipe.corpus, progress)
    with trained_cache.locked(recipe.as_json()) as place:
        kept = place.find()
        if kept is not None and kept.digest == digest and not kept.crashed:
            return
        if (death := training_process.run(argument, options, digest, size, progress)) is not None:
            place.refuse(digest, death, crashed=True)


def expand(argument: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe the row; it has a file once it was trained."""
    recipe = Recipe.of(argument, options)
    kept = trained_cache.Place.of(recipe.as_json()).find()
    source = f"{recipe.trainer.name} trained on {recipe.corpus}"
    if kept is None or kept.path is None:
        return TokenizerSpec(
            name=f"trained:{argument}",
            load=partial(_refuse, recipe, kept),
            library=recipe.trainer.library,
            source=source,
            extra=recipe.trainer.extra,
        )
    return dataclasses.replace(
        row_of(recipe, kept.path),
        name=f"trained:{argument}",
        source=f"{source} (text {kept.digest[:16]})",
        revision=kept.digest,
        extra=recipe.trainer.extra,
    )


def row_of(recipe: Recipe, path: Path) -> TokenizerSpec:
    """Describe the file that a training gave; a rank file does not say how text is split, the recipe does."""
    ranks = vocabulary_file.detect(vocabulary_file.read(path), str(path)) == "rank_file"
    pattern = recipe.options.get("pattern") or (recipe.trainer.patterns or ("gpt2",))[0]
    return file.row(f"trained:{recipe.trainer.name}", path, {"pattern": str(pattern)} if ranks else {})


def _refuse(recipe: Recipe, kept: trained_cache.Kept | None, spec: TokenizerSpec) -> Tokenizer:
    name = recipe.trainer.name
    if not recipe.trainer.loadable:
        raise Unsupported(f"what {name} trains cannot be loaded: {spec.name!r} can only be trained")
    if kept is None:
        raise InputError(f"{spec.name!r} has not been trained yet: 'pyharness run' trains it, or tokenizers.obtain()")
    if kept.crashed:
        raise InputError(f"{name} gave nothing: {kept.refused}")
    raise Unsupported(f"{name} cannot train this: {kept.refused}")


def recipe_of(specification: str) -> Recipe | None:
    """Recipe of a row that is trained here; None for every other row."""
    wanted = TOKENIZER.parse(specification)
    if wanted.name != "trained" or wanted.argument is None:
        return None
    return Recipe.of(wanted.argument, wanted.options)


FAMILIES = (
    TokenizerFamily(
        name="trained",
        expand=expand,
        summary="trained here on a corpus, before anything is measured; ?vocab_size= and &corpus= are needed",
        example="trained:bpe?vocab_size=8192&corpus=installed:python-code",
        known=lambda: tuple(trainers.specs()),
        prepare=prepare,
    ),
)
