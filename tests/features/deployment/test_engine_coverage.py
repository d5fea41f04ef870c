"""Engines against tokenizers: equal, differing with a short witness, refused with a reason, failed alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cases.command_line import call, refused
from pyharness import tokenizers
from pyharness.features.deployment import coverage
from pyharness.features.deployment.auto import CONFIG
from pyharness.features.deployment.coverage import CoverageCell, as_json, cells, engines, measured, sheets, shortened
from pyharness.types import InputError
from tokenizer_files import byte_level, write


@pytest.fixture
def home(tmp_path: Path) -> str:
    return write(tmp_path, "tokenizer.json", byte_level())


@pytest.fixture
def text(tmp_path: Path) -> str:
    (tmp_path / "a.txt").write_text("hello world\n" * 5 + "x hello y", encoding="utf-8")
    return f"path:{tmp_path / 'a.txt'}?split=line"


@given(st.text(st.sampled_from("ab"), max_size=40), st.text(st.sampled_from("ab"), max_size=40))
def test_a_witness_keeps_what_differs_and_loses_its_ends(before: str, behind: str) -> None:
    assert shortened(f"{before}x{behind}", lambda text: "x" in text) == "x"


def test_our_engine_is_equal(home: str, text: str) -> None:
    assert measured(home, "native", f"native+{home}", [text]) == CoverageCell(home, "native", "equal", 6)


def test_another_vocabulary_differs_with_a_witness(home: str, text: str, tmp_path: Path) -> None:
    content = byte_level()
    content["model"]["merges"] = content["model"]["merges"][:-1]  # no token " w"
    other = write(tmp_path, "other.json", content)
    cell = measured(home, "other", other, [text])
    assert (cell.state, cell.documents, cell.differing, cell.witness) == ("differs", 6, 5, " w")
    assert cell.expected == tuple(tokenizers.load(home).encode_batch([" w"]).ids.tolist())
    assert len(cell.got) == 2
    shown = sheets([cell], [text])
    assert any("' w'" in row for sheet in shown for row in sheet.texts)
    assert json.loads(json.dumps(as_json([cell], [text])))["cells"][0]["witness"] == " w"


def test_what_an_engine_cannot_run_is_refused(home: str, text: str) -> None:
    cell = measured(home, "rs_bpe", f"rs_bpe+{home}", [text])
    assert cell.state == "refused"
    assert "rs_bpe" in cell.reason


def test_an_engine_that_met_no_text_is_not_equal(home: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizers, "mapped_strings", lambda _: ("o",))  # which each line has
    cell = measured(home, "native", f"native+{home}", [text])
    assert (cell.state, cell.documents) == ("refused", 0)
    assert cell.reason


def test_what_a_library_prints_is_no_answer(home: str) -> None:
    script = (
        "import os; from pyharness.features.deployment import coverage\n"
        "coverage.measured = lambda *_: os.write(1, b'noise') and coverage.CoverageCell('a', 'b', 'equal', 1)\n"
        "coverage.main()"
    )
    command = [sys.executable, "-c", script, json.dumps([home, "native", home])]
    done = subprocess.run(command, capture_output=True, check=True)
    assert json.loads(done.stdout)["state"] == "equal"
    assert b"noise" in done.stderr


def test_cells_have_processes_of_their_own(home: str, text: str) -> None:
    assert [cell.state for cell in cells([home], [text], ["native"], 60, None)] == ["equal"]


def test_a_cell_over_its_limit_fails_alone(home: str, text: str) -> None:
    (cell,) = cells([home], [text], ["native"], 0.01, None)
    assert (cell.state, cell.differing) == ("failed", 0)


def test_a_model_folder_has_more_engines(home: str, tmp_path: Path) -> None:
    names = [name for name, _ in engines(home)]
    assert coverage.AUTO not in names
    (tmp_path / CONFIG).write_text("{}")
    assert [name for name, _ in engines(home)] == [*names, coverage.AUTO, coverage.SLOW]
    with pytest.raises(InputError, match="native"):
        engines(home, ["mine"])


def test_the_command_ends_with_one_where_ids_differ(home: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    states = {"native": "equal", "tokie": "differs"}
    made = [CoverageCell(home, name, state) for name, state in states.items()]  # type: ignore[arg-type]
    monkeypatch.setattr(coverage, "cells", lambda *_: iter(made))
    assert call("coverage", home, "-c", text).returncode == 1
    monkeypatch.setattr(coverage, "cells", lambda *_: iter(made[:1]))
    done = call("coverage", home, "-c", text, "--format", "json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["cells"][0]["state"] == "equal"


def test_wrong_names_are_refused_before_anything_runs(home: str, text: str) -> None:
    refused("coverage", "no-such-row", "-c", text)
    refused("coverage", home, "-c", "path:/no/such/file")
    refused("coverage", home, "-c", text, "-e", "mine")
    assert CONFIG in refused("coverage", home, "-c", text, "-e", "auto")
    refused("coverage", home, "-c", text, "--memory-limit", "much")
    for seconds in ("nan", "inf", "0"):
        refused("coverage", home, "-c", text, "--seconds", seconds)


def test_a_file_that_its_library_cannot_load_is_refused_before_anything_runs(home: str, text: str) -> None:
    Path(home.removeprefix("file:")).write_text(json.dumps(byte_level() | {"model": {"type": "Mine"}}))
    told = refused("coverage", home, "-c", text)
    assert len(told.splitlines()) == 1
    assert "Mine" in told


def test_a_library_that_crashes_on_a_file_does_not_take_the_command_with_it(
    home: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child loads a plug-in whose row ends the process."""
    folder = Path(home.removeprefix("file:")).parent
    (folder / "crashing.py").write_text(
        "import os, pyharness.types\n"
        "TOKENIZERS = (pyharness.types.TokenizerSpec('crashing', load=lambda _: os.abort(), library='numpy'),)\n"
    )
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv("PYHARNESS_PLUGINS", "crashing")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]))
    with pytest.raises(InputError, match="signal 6"):
        coverage.check_home("crashing", 60, None)
    coverage.check_home(home, 60, None)
    with pytest.raises(InputError, match="time"):
        coverage.check_home(home, 0.01, None)


# ------------------------------------------------------------------------------------------------- AutoTokenizer


def test_a_folder_that_brings_code_is_refused(home: str, tmp_path: Path) -> None:
    (tmp_path / CONFIG).write_text(json.dumps({"auto_map": {"AutoTokenizer": ["mine.Mine", None]}}))
    with pytest.raises(InputError, match="auto_map"):
        tokenizers.resolve(f"auto:{tmp_path}")
    del home


@pytest.mark.parametrize("name", ["missing", "a file", "empty", "no JSON", "slow=2"])
def test_what_is_no_folder_of_a_tokenizer_is_refused(name: str, home: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    if name != "missing":
        folder.mkdir()
    if name in ("no JSON", "slow=2"):
        (folder / CONFIG).write_text("{" if name == "no JSON" else "{}")
    path = home.removeprefix("file:") if name == "a file" else str(folder)
    with pytest.raises(InputError) as error:
        tokenizers.resolve(f"auto:{path}{'?slow=2' if name == 'slow=2' else ''}")
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_transformers_gives_the_ids_of_the_file(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    home = write(tmp_path, "tokenizer.json", byte_level() | {"padding": None})  # its pad token would become special
    (tmp_path / CONFIG).write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
    row = tokenizers.load(f"auto:{tmp_path}")
    assert row.vocab_size == tokenizers.load(home).vocab_size
    texts = ["hello w", "", "é 中", "a<|endoftext|>b"]
    assert np.array_equal(row.encode_batch(texts).ids, tokenizers.load(home).encode_batch(texts).ids)
    assert row.decode(row.encode_batch(["hello é"]).ids) == "hello é".encode()
    with pytest.raises(InputError, match="slow"):
        tokenizers.load(f"auto:{tmp_path}?slow=1")
