"""The line that tells why a build failed."""

from __future__ import annotations

import re

import pytest

from pyharness.features.gate.builds.workshop import missing, telling

PIP_END = """  note: This error originates from a subprocess, and is likely not a problem with pip.
  ERROR: Failed building wheel for pyharness
Failed to build pyharness
ERROR: Failed to build one or more wheels
"""
CXX = """Processing ./tree-head
  error: subprocess-exited-with-error
  × Building wheel for pyharness (pyproject.toml) did not run successfully.
  │ exit code: 1
  ╰─> [40 lines of output]
      FAILED: CMakeFiles/pyharness_core.dir/csrc/core/merging/bpe_encoder.cpp.o
      /t/bpe_encoder.cpp:17:3: error: 'foo' was not declared in this scope
      /t/bpe_encoder.cpp:18:3: error: 'bar' was not declared in this scope
      ninja: build stopped: subcommand failed.
      *** CMake build failed
      [end of output]
"""
PYTHON = """  × Getting requirements to build wheel did not run successfully.
  │ exit code: 1
  ╰─> [5 lines of output]
      Traceback (most recent call last):
        File "setup.py", line 3, in <module>
          import gone
      ModuleNotFoundError: No module named 'gone'
      [end of output]
"""
OFFLINE = """WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError(...)': /simple/pybind11/
ERROR: Could not find a version that satisfies the requirement pybind11>=3 (from versions: none)
ERROR: No matching distribution found for pybind11>=3
"""


@pytest.mark.parametrize(
    ("log", "line"),
    [
        (CXX + PIP_END, "/t/bpe_encoder.cpp:17:3: error: 'foo' was not declared in this scope"),
        (PYTHON + PIP_END, "ModuleNotFoundError: No module named 'gone'"),
        ("all is\nwell\n", "well"),
        ("", ""),
        (PIP_END, ""),
    ],
)
def test_the_telling_line(log: str, line: str) -> None:
    assert telling(log) == line


def test_a_long_line_is_cut() -> None:
    assert len(telling("error: " + "x" * 10_000)) == 300


def test_what_could_not_be_fetched() -> None:
    last = OFFLINE.splitlines()[-1]
    assert re.search(rf"\bnetwork \({re.escape(last.removeprefix('ERROR: '))}\)$", missing(OFFLINE))
    assert missing(last) == last.removeprefix("ERROR: ")
    assert missing(CXX) == missing("") == ""


def test_values_that_were_let_through_are_masked_in_the_line_and_spoil_nothing_else() -> None:
    passed = {"CI": "1", "KIND": "error: ", "TOKEN": "hunter2hunter2", "KEY": "begin\nlong line of a key\nend\n"}
    assert telling(CXX + PIP_END, passed) == telling(CXX + PIP_END)
    assert telling("error: no hunter2hunter2, long line of a key", passed) == "error: no $TOKEN, $KEY"
    assert telling("error: " + "x" * 285 + "hunter2hunter2", passed).endswith("xx$TOKEN")
    nothing = OFFLINE.splitlines()[-1].replace("pybind11>=3", "hunter2hunter2")
    assert missing(nothing, passed).endswith("for $TOKEN")
    assert "$TOKEN" in missing("NewConnectionError: hunter2hunter2", passed)
