"""Plan of a profile: shapes, dtypes and a device, checked before data are made."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from pyharness import corpora, tokenizers
from pyharness.features.profiling.types import DeviceKind, Problem, Profile, Shape, TextSource, profiles
from pyharness.plugins.registry import pick, suggest
from pyharness.system.environment import cores
from pyharness.types import InputError

_NUMBER = re.compile(r"([0-9]{1,15})(?:e([0-9]{1,2}))?")
LARGEST = 1 << 62  # elements: far beyond any memory
MOST_THREADS = 1024


@dataclass(frozen=True, slots=True)
class ProfilePlan:
    """Problems of one kernel on one device."""

    profile: Profile
    problems: tuple[Problem, ...]
    device: DeviceKind
    threads: int
    left_out: tuple[str, ...] = ()  # names of peers


def plan(
    kernel: str,
    shapes: Sequence[str] = (),
    dtypes: Sequence[str] = (),
    device: DeviceKind = "cpu",
    threads: int | None = None,
    corpus: str | None = None,
    tokenizer: str | None = None,
    left_out: Sequence[str] = (),
    variants: Sequence[str] = (),
) -> ProfilePlan:
    """Check everything that needs no data; raise ``InputError`` for an unusable value."""
    profile: Profile = pick("kernel", kernel, profiles())
    count = min(cores(), MOST_THREADS) if threads is None else threads
    if not 1 <= count <= MOST_THREADS:
        raise InputError(f"cannot run on {count} threads; give --threads from 1 to {MOST_THREADS}")
    for name in left_out:
        if name not in profile.peers:
            raise suggest(f"peer of {profile.name}", name, profile.peers)
    for name in variants:
        if not profile.variants:
            raise InputError(f"{profile.name} has no variants; leave out --variant")
        if name not in profile.variants:
            raise suggest(f"variant of {profile.name}", name, profile.variants)
    text = _text(profile, shapes, corpus, tokenizer)
    chosen = [parse_shape(profile, shape) for shape in shapes] or list(profile.shapes[device])
    problems = [
        Problem(shape, dtype, device, count, text, variant)
        for shape in ([()] if text else dict.fromkeys(chosen))
        for variant in dict.fromkeys(variants or ("",))
        for dtype in _dtypes(profile, dtypes)
    ]
    return ProfilePlan(profile, tuple(problems), device, count, tuple(left_out))


def parse_shape(profile: Profile, text: str) -> Shape:
    """Read ``16384x32000`` or ``1e9x131072``.

    >>> parse_shape(profiles()["entropy"], "1e3x50257")
    (1000, 50257)
    """
    numbers = [_NUMBER.fullmatch(part.replace("_", "")) for part in text.split("x")]
    shape = tuple(int(number[1]) * 10 ** int(number[2] or 0) for number in numbers if number is not None)
    form, example = "x".join(axis.name for axis in profile.axes), "x".join(map(str, profile.shapes["cpu"][0]))
    if len(shape) != len(profile.axes) or len(numbers) != len(shape):
        raise InputError(f"shape {text!r} is not {form}; write it like {example}")
    for axis, number in zip(profile.axes, shape, strict=True):
        if number < axis.least:
            raise InputError(f"shape {text!r} is too small: {axis.name} must be at least {axis.least}")
        if number > axis.most:
            raise InputError(f"shape {text!r} is too large: {axis.name} can be {axis.most} at most")
    if prod(shape) > LARGEST:
        raise InputError(f"shape {text!r} has more than 2**62 elements; no memory holds them")
    return shape


def _dtypes(profile: Profile, wanted: Sequence[str]) -> list[str]:
    for dtype in wanted:
        if dtype not in profile.dtypes:
            raise suggest(f"dtype of {profile.name}", dtype, profile.dtypes)
    return list(dict.fromkeys(wanted)) or list(profile.default_dtypes)


def _text(profile: Profile, shapes: Sequence[str], corpus: str | None, tokenizer: str | None) -> TextSource | None:
    if corpus is None and tokenizer is None:
        return None
    if not profile.reads_text:
        raise InputError(f"{profile.name} reads no text; leave out --corpus and --tokenizer")
    if corpus is None or tokenizer is None:
        raise InputError("real tokens need both: --corpus for the text and --tokenizer for its ids")
    if shapes:
        raise InputError("the text decides the shape; leave out --shape, and cap the corpus with ?max_bytes=50MB")
    corpora.open_corpus(corpus)  # raises for an unknown corpus; reads nothing yet
    tokenizers.resolve(tokenizer)
    return TextSource(corpus, tokenizer)


def human_bytes(count: float) -> str:
    """Format a size for a message."""
    return f"{count / 1e9:.3g} GB" if count >= 1e9 else f"{count / 1e6:.3g} MB"


def check_memory(profile: Profile, problem: Problem, free: int | None) -> None:
    """Refuse a problem whose data and our own call do not fit the free memory."""
    needed = profile.needs(problem)
    if free is not None and needed > free:
        raise InputError(
            f"{profile.name} {problem.label} needs {human_bytes(needed)} on the {problem.device}, "
            f"{human_bytes(free)} are free; give a smaller --shape"
        )
