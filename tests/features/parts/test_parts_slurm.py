"""Arrays of a batch system do the parts of a script: a stand-in for Slurm, and a real one where it answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from cases.command_line import call
from divided import runs as divided
from divided.batch import Batch, answers
from pyharness import store

SECONDS = 900.0  # for all tasks
NO_SLURM = pytest.mark.skipif(not answers(), reason="no Slurm with a free node answers here")


@pytest.mark.slow
@pytest.mark.parametrize("real", [False, pytest.param(True, marks=NO_SLURM)])
def test_an_array_has_the_numbers_of_one_process(tmp_path: Path, real: bool) -> None:
    divided.write_texts(tmp_path)
    suite = divided.write_suite(tmp_path, divided.LIBRARIES)
    expected = divided.in_one_process(suite, tmp_path / "whole.json")
    folder, output, batch = tmp_path / "run", tmp_path / "record.json", Batch(tmp_path, real=real)
    divided.planned(suite, 7, folder)
    divided.worked(folder, 4)  # which the array leaves out
    batch.submit(folder, at_once=2)
    assert batch.is_done_within(SECONDS)
    merged = call("merge", str(folder), "-q", "-o", str(output))
    assert merged.returncode == 0, merged.stderr
    divided.assert_equal(store.read(output), expected)
