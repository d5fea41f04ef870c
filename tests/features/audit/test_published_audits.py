"""``pyharness audit`` on published files: none of them fails, and faults planted in copies of them do."""

from __future__ import annotations

import json
import os
from functools import cache
from pathlib import Path

import pytest

from audited import damage
from layout.thoroughness import examples
from pyharness.features.audit.auditing import BENCHMARKS, CHECKS, audit

DATA = Path(os.environ.get("PYHARNESS_DATA", "/nowhere")) / "tokenizers"
FILES = ["bert_base_cased/tokenizer.json", "gpt2/tokenizer.json", "deepseek_v3/tokenizer.json",
         "mistral/mistral02_tokenizer.json"]  # fmt: skip
ROWS = ["tiktoken/o200k_base.tiktoken", "mistral/mistral_instruct_tokenizer_240323.model.v3", *FILES]
FEW = examples(1000) < 1000
FILES = FILES[: 1 if FEW else None]  # all of them with -m ''
ROWS = ROWS[1:2] if FEW else ROWS
KINDS = [*damage.KINDS][:: 8 if FEW else 1]

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="PYHARNESS_DATA has no tokenizer files")


@cache
def folder(name: str) -> damage.Files:
    return damage.folder_of(json.loads((DATA / name).read_text(encoding="utf-8")))


@pytest.mark.parametrize("name", ROWS)
def test_a_published_file_has_no_fault(name: str) -> None:
    slow = (*BENCHMARKS, *(("code points", "offsets", "batches", "threads", "reachable") if FEW else ()))
    audited = audit(str(DATA / name), [check for check in CHECKS if check not in slow])
    assert [(line.check.name, line.result.faults) for line in audited.lines if line.result.status == "fail"] == []
    assert audited.exit_status == 0


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_in_a_copy_fails_by_name(kind: str, name: str, tmp_path: Path) -> None:
    planted = damage.KINDS[kind](folder(name))
    if planted is None:
        pytest.skip("no fault of this kind")
    audited = audit(str(damage.write_folder(planted.files, tmp_path / "bad")), [planted.check])
    faults = {fault.name: fault for line in audited.lines for fault in reversed(line.result.faults)}
    assert faults[planted.fault].status == "fail"
    assert faults[planted.fault].witness
