"""The check for machines with a GPU profiles every kernel, dtype and shape that docs/gpu.md makes a promise about."""

from __future__ import annotations

import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from device import stages
from device.stages import Part, Place

from pyharness.features.profiling.kernels.entropy import torch_peers
from pyharness.features.profiling.plan import parse_shape, plan
from pyharness.features.profiling.types import Problem, Profile, Shape, profiles

ROOT = Path(__file__).parents[3]


def every(stage: str) -> list[Part]:
    return [part for part in stages.parts(Place(ROOT, ROOT / "work", sys.executable)) if part.stage == stage]


def test_every_kernel_is_checked_and_profiled() -> None:
    cases: dict[str, Any] = {}
    text = (ROOT / stages.CASES).read_text(encoding="utf-8")
    exec(compile(text, "cases", "exec"), {"__name__": "cases"}, cases)  # noqa: S102 -- ours
    assert set(stages.KERNELS) == set(profiles()) == set(stages.ONCE)
    assert set(stages.CHECKED) == set(cases["CASES"]) == {*profiles(), "yardsticks"}
    wanted = {(name, dtype) for name, profile in profiles().items() for dtype in profile.default_dtypes}
    assert {(kernel, dtype) for kernel, dtype, *_ in stages.PROFILES} == wanted
    for kernel, (dtype, shape) in stages.ONCE.items():
        assert dtype in profiles()[kernel].dtypes
        parse_shape(profiles()[kernel], shape)


def test_profiles_have_the_shapes_that_are_promised_something() -> None:
    """docs/gpu.md "Goals": those of a stage are the defaults of its kernel."""
    shapes = {name: profile.shapes["cuda"] for name, profile in profiles().items()}
    assert {(16384, 32000), (16384, 128256), (16384, 256000), (64, 128256), (1 << 20, 260)} <= set(shapes["entropy"])
    assert (16384, 4096, 128256) in shapes["linear_entropy"]
    assert (10**9, 131072) in shapes["pair_histogram"]
    for name, profile in profiles().items():
        for dtype in profile.default_dtypes:
            plain = [
                shapes_of(options, profile)
                for kernel, of, _, options in stages.PROFILES
                if (kernel, of) == (name, dtype) and "--variant" not in options
            ]
            assert set().union(*plain) >= set(profile.shapes["cuda"]), (name, dtype)


def shapes_of(options: tuple[str, ...], profile: Profile) -> set[Shape]:
    """The shapes of a call: all defaults unless some are named."""
    named = {parse_shape(profile, shape) for option, shape in pairwise(options) if option == "--shape"}
    return named or set(profile.shapes["cuda"])


def test_slow_peers_are_left_out_of_the_largest_text_and_measured_at_another() -> None:
    """They would leave ours fewer samples than its ten."""
    large, small = (options for *_, which, options in stages.PROFILES if which in ("1e9", "1e8"))
    slow = {"cupy.unique", "cupy sort", "our sort"}
    assert slow <= set(profiles()["pair_histogram"].peers)
    assert "1e9x131072" in large
    assert slow <= set(large)
    assert not slow & set(small)


def test_every_variant_and_every_option_is_one_of_its_kernel() -> None:
    asked: dict[str, set[str]] = {name: set() for name in profiles()}
    for kernel, dtype, _, options in stages.PROFILES:
        named = {
            kind: [value for option, value in pairwise(options) if option == f"--{kind}"]
            for kind in ("shape", "variant", "without")
        }
        plan(kernel, named["shape"], [dtype], "cuda", left_out=named["without"], variants=named["variant"])
        asked[kernel] |= set(named["variant"])
    assert asked == {name: set(profile.variants) for name, profile in profiles().items()}


def test_torch_compile_is_measured_at_one_shape_alone() -> None:
    logits = np.zeros((1, 1), np.float32)
    names = [peer.name for peer in torch_peers(logits, Problem((1, 1), "fp32", "cuda", 1))]
    assert stages.COMPILED in names
    *others, last = [part for part in every("profile") if part.words[1] == "entropy"]
    assert all(stages.COMPILED in part.command for part in others)
    assert stages.COMPILED not in last.command
    assert parse_shape(profiles()["entropy"], stages.COMPILED_SHAPE) in profiles()["entropy"].shapes["cuda"]
