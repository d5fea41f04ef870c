"""Patches of bytes, as byte-latent transformers read text: ``patches:static?size=4``, ``patches:space``,
``patches:entropy?corpus=sample:prose``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pyharness.features.segmentation import entropy_rows as entropy_patches
from pyharness.features.segmentation.segmenters.patches import SpacePatches, StaticPatches
from pyharness.plugins.registry import pick
from pyharness.plugins.specification import check_options
from pyharness.tokenizers.segmenting import row_of_units, whole_number
from pyharness.types import InputError, TokenizerFamily, TokenizerSpec, TrainingProgress

LARGEST = 1 << 31
READINGS = ("repo", "paper")


def static(name: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe patches of a fixed size."""
    check_options(name, options, ("size",))
    size = whole_number(name, options, "size", 4, LARGEST)
    return row_of_units(name, lambda _: StaticPatches(size), f"patches of {size} bytes")


def space(name: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe patches that end after spaces."""
    check_options(name, options, ("reading",))
    reading = options.get("reading", READINGS[0])
    if reading not in READINGS:
        raise InputError(f"{name}: reading={reading} is not known; known: {', '.join(READINGS)}")
    whose = {"repo": "the authors' repository", "paper": "the paper"}[reading]
    return row_of_units(name, lambda _: SpacePatches(reading), f"patches that end after spaces, as {whose} has it")


KINDS = {"static": static, "space": space, "entropy": entropy_patches.expand}


def expand(argument: str, options: Mapping[str, str]) -> TokenizerSpec:
    """Describe the row."""
    name = f"patches:{argument}"
    return pick("kind of patches", argument, KINDS)(name, options)


def prepare(
    argument: str, options: Mapping[str, str], progress: Callable[[TrainingProgress], None] | None = None
) -> None:
    """Train the model of a row that has one."""
    if argument == "entropy":
        entropy_patches.prepare(options, progress)


def prepared(argument: str, options: Mapping[str, str]) -> bool:
    """Tell whether the model of a row that trains one is there."""
    return argument != "entropy" or entropy_patches.prepared(options)


FAMILIES = (
    TokenizerFamily(
        name="patches",
        expand=expand,
        summary="patches of bytes, without a vocabulary: of a fixed size (?size=4), after spaces (?reading=paper), by "
        "entropy (?corpus= or model=, threshold= or target= and calibration=)",
        example="patches:space",
        known=lambda: tuple(KINDS),
        prepare=prepare,
        prepared=prepared,
    ),
)
