"""The JSON Schemas of records are those of the types; renew them with the command in ``layout/schemas.py``."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

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
