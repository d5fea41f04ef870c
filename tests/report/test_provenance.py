"""The command under a record: it declares the same suite, or there is none."""

from __future__ import annotations

import dataclasses
import json
import shlex
from typing import Any

import pytest

from pyharness import suite
from pyharness.cli.run import run
from pyharness.report.provenance import command

QUICK = suite.read(suite.find("quick"))


def recorded(declared: suite.Suite) -> dict[str, Any]:
    """What a record says of the suite."""
    about = declared.as_json() | {"digest": declared.digest}
    return {"kind": "pyharness-run", "suite": json.loads(json.dumps(about))}


def read_back(line: str) -> suite.Suite:
    """The suite that the command line declares."""
    given = run.make_context("run", shlex.split(line)[2:]).params
    chosen = [suite.benchmark(text) for text in given["chosen"]]
    base = None if given["suite_name"] is None else suite.read(suite.find(given["suite_name"]))
    return suite.declare(
        given["rows"], given["texts"], chosen, base, given["device"], given["memory"], reference=given["reference"]
    )


def test_a_shipped_suite_is_named() -> None:
    line = command(recorded(QUICK))
    assert line == "pyharness run quick"


@pytest.mark.parametrize(
    ("benchmarks", "options"),
    [
        (["compression"], {}),
        (["compression"], {"reference": "a", "device": "cuda", "memory_limit": "4GB"}),
        (["throughput?threads=1,2&tokenizers=a", "integrity?bytes=2MB", "load"], {}),
        (["training?corpora=x,sample:prose"], {}),
    ],
)
def test_a_suite_of_options_is_read_back_as_the_same(benchmarks: list[str], options: dict[str, Any]) -> None:
    rows, texts = ["mistral:v3", "a=raw_bytes", "b c=file:/x y.json?special=%26"], ["sample:prose", "x=sample:code"]
    declared = suite.declare(rows, texts, [suite.benchmark(one) for one in benchmarks], **options)
    for named in (declared, dataclasses.replace(declared, name="nightly", summary="of a file")):
        line = command(recorded(named))
        assert line is not None
        again = read_back(line)
        assert again.as_json() == declared.as_json()


@pytest.mark.parametrize(
    "declared",
    [
        suite.override(QUICK, suite.entries(["mistral:v3"]), (), ()),
        dataclasses.replace(suite.declare(["raw_bytes"]), time_limit_seconds=5.0),
        suite.declare(["raw_bytes"], (), [{"name": "x", "share": [0.5]}]),
        suite.declare(["raw_bytes"], (), [{"name": "x", "against": "a,b"}]),
        suite.declare(["raw_bytes"], (), [{"name": "x", "against": "1"}]),
        suite.declare(["raw_bytes"], ["sample:prose"], ["load"], max_bytes="2kB"),
    ],
)
def test_what_no_command_line_declares_has_none(declared: suite.Suite) -> None:
    line = command(recorded(declared))
    assert line is None


@pytest.mark.parametrize("about", [{}, {"name": []}, {"name": "quick"}, {"name": "x", "tokenizers": 1}])
def test_what_a_stranger_wrote_has_none(about: dict[str, Any]) -> None:
    assert command({"kind": "pyharness-run", "suite": about}) is None
    assert command(recorded(QUICK) | {"kind": "profile"}) is None
