"""``--device``: refused before anything runs, handed to what can use it, and no part of what a case is."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyharness import kernels, store, suite
from pyharness.benchmarks import Work, benchmarks
from pyharness.commands import session
from pyharness.corpora import open_corpus
from pyharness.kernels import devices
from pyharness.metrics import distribution
from pyharness.running.runner import Run
from pyharness.running.schedule import Schedule
from pyharness.tokenizers import load, resolve
from pyharness.types import Case, InputError, Measurement, Tokens

RUN = [sys.executable, "-P", "-m", "pyharness", "run", "-t", "raw_bytes", "-c", "sample:prose", "-b", "compression"]


def test_cuda_without_a_gpu_is_one_error_before_anything_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "cuda_reason", lambda: "there is no driver")
    with pytest.raises(devices.CudaUnavailable, match=r"'cuda'.*: there is no driver; .*'cpu'"):
        session.run(["raw_bytes"], ["sample:prose"], ["compression"], output=tmp_path / "r.json", device="cuda")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(devices.cuda_reason() is None, reason="there is a GPU")
def test_the_command_line_says_why_and_exits_with_two(tmp_path: Path) -> None:
    done = subprocess.run([*RUN, "--device", "cuda"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert len(done.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_a_suite_names_its_device_and_the_command_overrides_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = 'tokenizers = ["raw_bytes"]\ncorpora = ["sample:prose"]\nbenchmarks = ["compression"]\n'
    path.write_text(text + 'device = "cuda"\n', encoding="utf-8")
    declared = suite.read(path)
    assert declared.device == declared.as_json()["device"] == "cuda"
    assert suite.declare(base=declared).device == "cuda"
    on_cpu = suite.declare(base=declared, device="cpu")
    assert "device" not in on_cpu.as_json(), "a run that an older version began must go on"
    assert on_cpu.digest != declared.digest
    assert suite.declare(base=declared, device="cpu").device == "cpu"
    path.write_text(text + 'device = "gpu"\n', encoding="utf-8")
    with pytest.raises(InputError, match="unknown device 'gpu'; known: cpu, cuda"):
        suite.plan(suite.read(path))
    path.write_text(text + 'device = ""\n', encoding="utf-8")
    with pytest.raises(InputError, match="unknown device ''"):
        suite.plan(suite.read(path))
    path.write_text(text + "device = 0\n", encoding="utf-8")
    with pytest.raises(InputError, match="device = 0 is not text"):
        suite.read(path)


def test_it_reaches_the_worker_and_leaves_keys_alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(devices, "cuda_reason", lambda: None)
    plans = [suite.plan(suite.declare(["raw_bytes"], ["sample"], ["compression"], device=d)) for d in ("cpu", "cuda")]
    keys = [[case.key for case in plan.cases] for plan in plans]
    assert keys[0] == keys[1] == ["compression | raw_bytes | sample | list_unused=False"]
    for plan in plans:
        with store.Journal(tmp_path / "record.json") as journal:
            going = Run(plan, Schedule.of(plan), session.SilentListener(), tmp_path, journal)
            assert going.request(plan.cases[0]).device == plan.suite.device


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_pairs_are_counted_there(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = kernels.pair_histogram

    def counting(*arguments: Any, device: str | None = None, **options: Any) -> kernels.PairHistogram:
        asked.append(device or "cpu")
        return real(*arguments, **options)

    monkeypatch.setattr(kernels, "pair_histogram", counting)
    case, spec = Case("compression", "raw_bytes", "sample:prose", {}), resolve("raw_bytes")
    work = Work(case, spec, lambda: load(spec), open_corpus("sample:prose"), 1)
    there, here = (benchmarks()["compression"].run(one) for one in (replace(work, device=device), work))
    assert asked == [device, "cpu"]
    assert there == here


def counted(tokens: Tokens, device: str = "cpu") -> list[Measurement]:
    return distribution.measure_pairs(distribution.count_pairs(tokens, device=device))


def test_the_kernels_count_what_the_core_counts() -> None:
    pytest.importorskip("pyharness._emulated", reason="no emulated kernels")
    tokens = Tokens.from_lists([np.random.default_rng(n).zipf(1.4, 300).clip(max=5000) for n in range(9)])
    assert counted(tokens, "emulated") == counted(tokens)
    nothing = Tokens.from_lists([[1], [], [2]])
    assert counted(nothing, "emulated") == counted(nothing)
    assert all(one.value is None for one in counted(nothing))


@pytest.mark.cuda
def test_a_gpu_counts_what_the_core_counts() -> None:
    if (reason := devices.cuda_reason()) is not None:
        pytest.skip(reason)
    tokens = Tokens.from_lists([np.random.default_rng(n).zipf(1.4, 30_000).clip(max=60_000) for n in range(9)])
    assert counted(tokens, "cuda") == counted(tokens)
