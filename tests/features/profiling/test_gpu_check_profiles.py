"""The check for machines with a GPU profiles every kernel, dtype and shape that docs/gpu.md makes a promise about."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
from device import stages
from device.stages import Part, Place

from pyharness.features.profiling.kernels.entropy import torch_peers
from pyharness.features.profiling.plan import parse_shape
from pyharness.features.profiling.types import Problem, profiles

ROOT = Path(__file__).parents[3]


def every(stage: str) -> list[Part]:
    return [part for part in stages.parts(Place(ROOT, ROOT / "work", sys.executable)) if part.stage == stage]


def test_every_kernel_is_checked_and_profiled() -> None:
    cases: dict[str, Any] = {}
    text = (ROOT / stages.CASES).read_text(encoding="utf-8")
    exec(compile(text, "cases", "exec"), {"__name__": "cases"}, cases)  # noqa: S102 -- ours
    assert set(stages.KERNELS) == set(cases["CASES"]) == set(profiles()) == set(stages.ONCE)
    wanted = {(name, dtype) for name, profile in profiles().items() for dtype in profile.default_dtypes}
    assert set(stages.PROFILES) == wanted
    for kernel, (dtype, shape) in stages.ONCE.items():
        assert dtype in profiles()[kernel].dtypes
        parse_shape(profiles()[kernel], shape)


def test_profiles_have_the_shapes_that_are_promised_something() -> None:
    """docs/gpu.md "Goals": those of a stage are the defaults of its kernel."""
    shapes = {name: profile.shapes["cuda"] for name, profile in profiles().items()}
    assert {(16384, 32000), (16384, 128256), (16384, 256000), (64, 128256), (1 << 20, 260)} <= set(shapes["entropy"])
    assert (16384, 4096, 128256) in shapes["linear_entropy"]
    assert (10**9, 131072) in shapes["pair_histogram"]
    for part in every("profile")[: len(stages.PROFILES)]:
        assert "--shape" not in part.command, part.words


def test_torch_compile_is_measured_at_one_shape_alone() -> None:
    logits = np.zeros((1, 1), np.float32)
    names = [peer.name for peer in torch_peers(logits, Problem((1, 1), "fp32", "cuda", 1))]
    assert stages.COMPILED in names
    *others, last = [part for part in every("profile") if part.words[1] == "entropy"]
    assert all(stages.COMPILED in part.command for part in others)
    assert stages.COMPILED not in last.command
    assert parse_shape(profiles()["entropy"], stages.COMPILED_SHAPE) in profiles()["entropy"].shapes["cuda"]
