"""The JSON Schemas of records are those of the types; renew them with the command in ``layout/schemas.py``."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from layout import schemas
from pyharness import store
from pyharness.features.gate.records import GATE_SCHEMA_FILE

RENEW = "PYHARNESS_RENEW_SCHEMAS"


@pytest.mark.parametrize(
    ("file", "generated"), [(store.SCHEMA_FILE, schemas.of_runs), (GATE_SCHEMA_FILE, schemas.of_gates)]
)
def test_the_schema_is_that_of_the_types(file: Path, generated: Callable[[], str]) -> None:
    text = generated()
    jsonschema.Draft202012Validator.check_schema(json.loads(text))
    if RENEW in os.environ:
        file.write_text(text, encoding="utf-8")
    assert file.read_text(encoding="utf-8") == text


MEASURED: dict[str, Any] = {
    "kind": store.KIND, "schema": store.SCHEMA, "created": "2026-01-01T00:00:00+00:00", "seconds": 1.5,
    "complete": True,
    "suite": {"name": "s", "summary": "", "reference": None, "time_limit_seconds": 1, "tokenizers": {"a": "raw_bytes"},
              "corpora": {"t": "sample"}, "benchmarks": [{"name": "load", "parameters": {}}], "digest": "0" * 64},
    "environment": dict.fromkeys(
        ("pyharness", "python", "system", "machine", "cpu", "cores", "memory_bytes", "libraries")),
    "tokenizers": {"a": {"spec": "raw_bytes", "source": "", "licence": "", "revision": None, "sha256": "0" * 64,
                         "vocabulary": None, "compared_with": None, "vocab_size": 256, "round_trip": "exact",
                         "units": {"is_causal": True}, "notes": ["n"]}},
    "corpora": {"t": {"spec": "sample", "language": "", "domain": "", "licence": "", "smoke_test": True, "whole": True,
                      "tally": {"documents": 1, "bytes": 2, "empty_documents": 0, "cut_documents": 0,
                                "replaced_sequences": 0, "digest": "0" * 32, "beginnings": ["0" * 32]}}},
    "metrics": {"m": {"unit": "", "direction": "higher", "summary": "", "deterministic": True, "tolerance": 0.0}},
    "state": {"file": "s.zip", "bytes": 3, "sha256": "0" * 64},
    "results": [{"key": "k", "benchmark": "load", "tokenizer": "a", "corpus": None, "parameters": {}, "status": "ok",
                 "reason": None, "measurements": [{"metric": "m", "value": 1.5, "part": "p"}], "details": {}}],
}  # fmt: skip
ROW, TEXT, RESULT = ("tokenizers", "a"), ("corpora", "t"), ("results", 0)
ABSENT = object()


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("seconds",), -1), (("extra",), 1), (("suite", "digest"), "x"), (("suite", "benchmarks"), ABSENT),
        (("suite", "benchmarks", 0, "parameters"), ABSENT), (("environment", "cpu"), ABSENT),
        ((*ROW, "sha256"), "x"), ((*ROW, "licence"), ABSENT), ((*ROW, "vocab_size"), -1), ((*ROW, "id_limit"), -1),
        ((*ROW, "round_trip"), "great"), ((*ROW, "units", "is_causal"), ABSENT), ((*ROW, "notes"), [1]),
        ((*ROW, "codec"), 1), ((*TEXT, "whole"), ABSENT), ((*TEXT, "tally", "bytes"), -1),
        ((*TEXT, "tally", "digest"), "0" * 31), ((*TEXT, "tally", "beginnings"), ["x"]),
        ((*TEXT, "tally", "cut_documents"), ABSENT), (("metrics", "m", "summary"), ABSENT),
        (("metrics", "m", "direction"), "up"), (("metrics", "m", "tolerance"), -1), (("state", "extra"), 1),
        (("state", "bytes"), -1), (("state", "sha256"), "x"), ((*RESULT, "key"), ABSENT), ((*RESULT, "extra"), 1),
        ((*RESULT, "status"), "failed"), ((*RESULT, "measurements", 0, "value"), None),
        ((*RESULT, "measurements", 0, "part"), None), ((*RESULT, "measurements", 0, "extra"), 1),
    ],
)  # fmt: skip
def test_a_record_that_nothing_here_writes_is_refused(place: tuple[str | int, ...], value: object) -> None:
    schema = json.loads(store.SCHEMA_FILE.read_text(encoding="utf-8"))
    jsonschema.validate(MEASURED, schema)
    data = copy.deepcopy(MEASURED)
    holder: Any = data
    for part in place[:-1]:
        holder = holder[part]
    if value is ABSENT:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema)
