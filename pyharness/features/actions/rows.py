"""Codecs of actions: ``actions:fast?corpus=motions:clips.jsonl``, ``actions:bins?bins=256&corpus=...``, and the path
of a file of ``pyharness train fast``.

These rows have no vocabulary of text. Loading a row with ``corpus=`` fits it to the clips; write a ``&`` in that
specification as ``%26``. The benchmark refuses clips of the fit.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from pyharness.corpora import open_corpus
from pyharness.features.actions.codecs import codec_files
from pyharness.features.actions.codecs.recipe import DEFAULT_BINS, CodecRecipe, FittedCodec
from pyharness.features.actions.declarations import DEFAULT_SCALE, DEFAULT_VOCABULARY
from pyharness.features.actions.motions import clips_behind
from pyharness.features.actions.types import ActionCodec
from pyharness.plugins.registry import suggest
from pyharness.plugins.specification import check_options
from pyharness.system import folders
from pyharness.tokenizers.segmenting import whole_number
from pyharness.types import InputError, Instead, Tokenizer, TokenizerFamily, TokenizerSpec, Unsupported

KINDS: Mapping[str, tuple[str, ...]] = {
    "fast": ("scale", "vocab_size", "reference", "corpus"),
    "bins": ("bins", "corpus"),
}
LARGEST = 1 << 20


def expand(argument: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe the row; the clips are not read yet."""
    name = f"actions:{argument}"
    if argument not in KINDS:
        return _of_file(name, argument, options)
    check_options(name, options, KINDS[argument])
    if "corpus" not in options:
        raise InputError(f"{name!r} lacks corpus=, the clips that it is fitted to: {name}?corpus=motions:made")
    recipe, corpora = _recipe(name, argument, options), tuple(options["corpus"].split("|"))
    for corpus in corpora:
        clips_behind(open_corpus(corpus))
    library = "tokenizers" if recipe.reference else "pyharness"
    return TokenizerSpec(
        name, _no_text, library=library, source=f"fitted to {options['corpus']}",
        instead=Instead(lambda _: fitted(recipe, corpora).codec, facts),
        extra="huggingface" if recipe.reference else None,
    )  # fmt: skip


def _recipe(name: str, kind: str, options: Mapping[str, str]) -> CodecRecipe:
    if kind == "bins":
        return CodecRecipe(bins=whole_number(name, options, "bins", DEFAULT_BINS, LARGEST))
    try:
        scale = float(options.get("scale", DEFAULT_SCALE))
    except ValueError:
        raise InputError(f"{name}: scale={options['scale']} is not a number, such as {DEFAULT_SCALE:g}") from None
    if (reference := options.get("reference", "false")) not in ("true", "false"):
        raise InputError(f"{name}: reference={reference} is neither true nor false")
    size = whole_number(name, options, "vocab_size", DEFAULT_VOCABULARY, LARGEST)
    return CodecRecipe(scale=scale, vocab_size=size, reference=reference == "true")


def _of_file(name: str, argument: str, options: Mapping[str, str]) -> TokenizerSpec:
    path = folders.expanded(argument)
    if not path.is_file():
        raise suggest("codec of actions, or file of one", argument, KINDS)
    check_options(name, options, ())
    return TokenizerSpec(
        name, _no_text, library="pyharness", source=f"file {path}", path=str(path),
        instead=Instead(lambda _: codec_files.load(path).codec, facts),
    )  # fmt: skip


@lru_cache(maxsize=4)
def fitted(recipe: CodecRecipe, corpora: tuple[str, ...]) -> FittedCodec:
    """Fit a codec; a process keeps the last four, so that the cases of a row share one."""
    return recipe.fit(corpora)


def facts(codec: ActionCodec) -> dict[str, Any]:
    """Return the facts of a codec for a record."""
    return {"codec": dict(codec.settings), "vocab_size": codec.vocab_size, "notes": codec.notes}


def _no_text(spec: TokenizerSpec) -> Tokenizer:
    raise Unsupported(f"{spec.name!r} encodes actions, not text; measure it with the benchmark actions")


FAMILIES = (
    TokenizerFamily(
        name="actions",
        place=60,
        expand=expand,
        summary="codecs of chunks of motion, measured by actions: FAST (?scale=10&vocab_size=1024, reference=true: "
        "the authors' version), bins (?bins=256), both fitted to &corpus=, or the file of pyharness train fast",
        example="actions:fast?corpus=motions:made",
        known=lambda: tuple(KINDS),
    ),
)
