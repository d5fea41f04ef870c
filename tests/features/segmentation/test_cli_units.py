"""Rows of units at the command line: invalid UTF-8, and models that are none of bytes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from pyharness import store, tokenizers
from pyharness.cli import main
from pyharness.features.segmentation.symbol_models import SymbolModel

BROKEN = (
    b"One word\xff\xfe here. caf\xc3 and \xe6\x97 end.\n\xf0\x9f\x98 \xed\xa0\x80 half? ", b"\x80" * 300, b"\xf4\x90",
    "日本。語".encode()[:-1],
)  # fmt: skip
ROWS = (
    "units:word", "units:sentence", "units:character", "patches:static", "patches:space", "patches:space?reading=paper",
    "patches:entropy?corpus=sample:prose",
)  # fmt: skip


def call(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(main, list(map(str, arguments)))
    assert result.exit_code == code, result.output
    return result


def test_units_of_invalid_utf8_are_those_of_what_stands_in_for_it(tmp_path: Path) -> None:
    path, record = tmp_path / "broken.txt", tmp_path / "record.json"
    path.write_bytes(b"\n".join(BROKEN))
    text = path.read_bytes().decode(errors="replace")
    size, replaced = len(text.encode()), text.count("\ufffd")
    rows = [option for row in ROWS for option in ("-t", row)]
    said = call("run", *rows, "-c", f"path:{path}", "-b", "segmentation", "-o", record).stdout
    assert f"{replaced} invalid UTF-8" in said
    found = {one.case.tokenizer: one for one in store.read(record).of("segmentation")}
    assert tuple(found) == ROWS
    for row, result in found.items():
        assert result.tally is not None, result.reason
        assert (result.tally.bytes, result.tally.replaced_sequences) == (size, replaced), row
        counted = {name: sum(groups) for name, groups in result.details["groups"].items()}
        spec = tokenizers.resolve(row)
        assert spec.instead is not None
        ends = spec.instead.make(spec).segment_batch([text]).ends
        assert ends[-1] == size, row
        assert (counted["bytes"], counted["units"], counted["unspelled"]) == (size, len(ends), 0), row
    assert sum(found["units:character"].details["groups"]["units"]) == len(text)


@pytest.fixture
def of_ids(tmp_path: Path) -> Path:
    path = tmp_path / "ids.symbols"
    SymbolModel.train([(np.array([0, 299], np.uint32), np.array([0, 2]))], 300, 2).save(path)
    return path


@pytest.mark.parametrize("command", ["run -c sample:prose -b segmentation", "show text"])
def test_a_model_whose_alphabet_is_not_bytes_is_refused_in_one_line(of_ids: Path, command: str) -> None:
    said = call(*command.split(), "-t", f"patches:entropy?model={of_ids}", code=2)
    assert said.stdout == ""
    assert re.fullmatch(rf"error: '{of_ids}' .*\b300 symbols.*\b256\n", said.stderr)


def test_files_that_are_no_model_are_refused_in_one_line(of_ids: Path) -> None:
    cut = of_ids.with_name("cut.symbols")
    cut.write_bytes(of_ids.read_bytes()[:-9])
    for path, why in ((cut, "cut off|symbols, not of 256"), (of_ids.with_name("none"), "no language model")):
        row = f"patches:entropy?model={path}&target=4.5&calibration=sample:dialogue"
        said = call("run", "-t", row, "-c", "sample:prose", "-b", "segmentation", code=2).stderr
        assert re.fullmatch(rf"error: .*{re.escape(str(path))}.*({why}).*\n|error: .*({why}).*{path}.*\n", said), said
