"""Whatever differs between two arms is named; planted one at a time."""

from __future__ import annotations

import importlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gating.arms import here, made
from pyharness.features.gate.builds.arms import Arm
from pyharness.features.gate.drivers import workloads
from pyharness.features.gate.types import ArmFacts
from pyharness.features.gate.verdicts.self_test import differences

FACTS: dict[str, Any] = {
    "python": "3.11.4",
    "environment_bytes": 812,
    "environment": {"HOME": 5, "PATH": 40},
    "prefix_length": 30,
    "executable_length": 41,
    "folder_length": 30,
    "arguments_length": 90,
    "hash_seed": "0",
    "affinity": [0, 1],
    "nice": 0,
    "limits": {"RLIMIT_STACK": [8388608, -1], "RLIMIT_AS": [-1, -1]},
    "address_randomisation": "2",
    "personality": "00000000",
}
LIBRARIES = {"pyharness": "0.1", "numpy": "2.3.5", "Tokenizers": "0.23.3", "pip": "25"}
BASE = ArmFacts("base", "HEAD~1", "a" * 40, FACTS, LIBRARIES)
HEAD = ArmFacts("head", "HEAD", "b" * 40, FACTS, {**LIBRARIES, "pyharness": "0.2"})


def compared(facts: dict[str, Any] | None = None, libraries: dict[str, str] | None = None) -> Any:
    head = replace(HEAD, facts={**FACTS, **(facts or {})}, libraries={**HEAD.libraries, **(libraries or {})})
    return differences(BASE, head, under_test="PyHarness", measured=("pyharness", "tokenizers"))


def test_alike_but_for_what_is_under_test() -> None:
    assert compared().faults == ()
    assert compared().notes == ()


@pytest.mark.parametrize(
    ("planted", "fault"),
    [
        ({"environment_bytes": 812 + 4096}, "the head's environment is 4,096 bytes larger"),
        ({"environment_bytes": 800}, "the head's environment is 12 bytes smaller"),
        ({"environment": {"HOME": 5, "PATH": 44}}, "variables .*: PATH$"),
        ({"environment": {"HOME": 5, "PATH": 40, "NEW": 0}}, "variables .*: NEW$"),
        ({"python": "3.12.1"}, "version of Python: 3.11.4 for base, 3.12.1 for head"),
        ({"prefix_length": 31}, r"the head's path .*\(prefix\) is 1 characters? longer"),
        ({"executable_length": 31}, "the head's path .* interpreter is 10 characters shorter"),
        ({"folder_length": 70}, "the head's path .* working folder is 40 characters longer"),
        ({"arguments_length": 100}, "the head's command line is 10 bytes larger"),
        ({"hash_seed": "random"}, "hash seed: 0 for base, random for head"),
        ({"affinity": [1]}, r"\(affinity\): \[0, 1\] for base, \[1\] for head"),
        ({"nice": 5}, "niceness: 0 for base, 5 for head"),
        (
            {"limits": {"RLIMIT_STACK": [1024, -1], "RLIMIT_AS": [-1, -1]}},
            r"limits: RLIMIT_STACK: \[8388608, -1\] for base, \[1024, -1\] for head",
        ),
        ({"personality": "00040000"}, r"\(personality\): 00000000 for base, 00040000 for head"),
        ({"something_new": 1}, "something_new: None for base, 1 for head"),
    ],
)
def test_a_planted_difference_is_named(planted: dict[str, Any], fault: str) -> None:
    (found,) = compared(planted).faults
    assert re.search(fault, found)


def test_a_fact_that_only_one_side_has() -> None:
    facts = {name: value for name, value in FACTS.items() if name != "nice"}
    assert differences(BASE, replace(HEAD, facts=facts), under_test="pyharness").faults == (
        "niceness: 0 for base, None for head",
    )


def test_another_library_is_said_and_a_fault_where_it_is_measured() -> None:
    found = compared(libraries={"Tokenizers": "0.24.0", "numpy": "2.4"})
    ((fault,), (note,)) = found.faults, found.notes
    assert re.match(r"tokenizers .*\b0\.23\.3 for base, 0\.24\.0 for head", fault)
    assert re.match(r"numpy .*\b2\.3\.5 for base, 2\.4 for head", note)
    base = replace(BASE, libraries={"pyharness": "0.1"})
    assert "not installed for base, 25 for head" in str(differences(base, HEAD, under_test="pyharness").notes)


def test_an_arm_without_what_is_under_test() -> None:
    assert differences(BASE, replace(HEAD, libraries={}), under_test="pyharness").faults == ("head has no pyharness",)


def test_two_tokenizers_differ_in_no_library() -> None:
    (fault,) = differences(BASE, HEAD, under_test="", measured=("pyharness",)).faults
    assert re.match(r"pyharness .*\b0\.1 for base, 0\.2 for head", fault)


def as_it_says(folder: Path, arm: Arm) -> ArmFacts:
    """Facts of an arm that is a process, by the driver of the gate."""
    worker = made(folder, arm, "")
    try:
        return worker.facts()
    finally:
        worker.close()


@pytest.mark.parametrize(
    ("variables", "folder", "said"),
    [
        ({}, "head", ()),
        (
            {"PADDING": "x" * (4096 - len("PADDING=") - 1)},
            "head",
            ("environment is 4,096 bytes larger", "variables .*: PADDING$"),
        ),
        ({"PYTHONHASHSEED": "1"}, "head", ("hash seed: 0 for base, 1 for head",)),
        ({}, "head" + "x" * 40, ("working folder is 40 characters longer",)),
    ],
)
def test_planted_in_real_processes(
    tmp_path: Path, variables: dict[str, str], folder: str, said: tuple[str, ...]
) -> None:
    for name in ("base", folder):
        (tmp_path / name).mkdir()
    base, head = here(tmp_path / "base"), here(tmp_path / folder, "head")
    head = replace(head, variables={**head.variables, **variables})
    found = differences(as_it_says(tmp_path, base), as_it_says(tmp_path, head), under_test="pyharness")
    assert len(found.faults) == len(said)
    assert all(re.search(one, fault) for one, fault in zip(said, found.faults, strict=True))
    assert found.notes == ()


def test_every_public_name_that_workloads_look_up_is_there() -> None:
    """Nothing else in the package may read it: a gate runs the same look-up in other revisions."""
    written = Path(workloads.__file__).read_text(encoding="utf-8")
    looked_up = re.findall(r'_face\("(pyharness[.a-z]*)", ((?:"\w+"(?:, )?)+)', written)
    looked_up += [("pyharness.tokenizers", f'"{name}"') for name in ("timed_single", "timed_call")]  # of a loop
    assert len(looked_up) > 10
    for module, names in looked_up:
        library = importlib.import_module(module)
        assert any(hasattr(library, name) for name in re.findall(r"\w+", names)), (module, names)
