"""Rows ``patches:entropy``: options, models from a corpus, a file or a folder, and what the record says of them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import pyharness
from pyharness import corpora, tokenizers
from pyharness.features.segmentation import entropy_patches
from pyharness.features.segmentation.byte_entropies import SymbolPredictor
from pyharness.features.segmentation.entropy_patches import EntropyPatches
from pyharness.features.segmentation.symbol_models import SymbolModel
from pyharness.features.training import recipe
from pyharness.types import InputError, Tally

BAD = {
    "": "needs either corpus=",
    "corpus=sample&model=m": "needs either corpus=",
    "corpus=sample:nothing": "nothing",
    "corpus=sample&threshold=nan": "threshold=nan .*not a number",
    "corpus=sample&threshold=inf": "threshold=inf .*not a number",
    "corpus=sample&threshold=high": "threshold=high .*not a number",
    "corpus=sample&order=0": r"order=0 .*whole number .*\b1 to 5\b",
    "corpus=sample&order=6": r"order=6 .*whole number .*\b1 to 5\b",
    "corpus=sample&mode=top": "mode=top .*global, monotonic, combined",
    "corpus=sample&threshold_add=1": "threshold_add= goes with mode=combined",
    "corpus=sample&max_patch_length=0": "max_patch_length=0 .*whole number",
    "corpus=sample&target=4.5": "target= goes with calibration=",
    "corpus=sample&calibration=sample": "calibration= goes with target=",
    "corpus=sample&target=0.5&calibration=sample:code": r"target=0\.5 .*\b1 or more",
    "corpus=sample&target=nan&calibration=sample:code": "target=nan .*not a number",
    "corpus=sample&target=4&threshold=1&calibration=sample:code": "threshold= .*target=",
    "model=m&order=3": "order= goes with corpus=",
    "corpus=sample&offset=4": "offset= goes with model=",
    "model=m&offset=x": r"offset=x .*whole number .*\b0 to ",
    "corpus=sample&size=4": "size",
}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe._TEXTS.clear()
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(("options", "message"), BAD.items())
def test_bad_options_are_refused_in_one_line(options: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        tokenizers.resolve(f"patches:entropy?{options}" if options else "patches:entropy")
    assert len(str(refused.value).splitlines()) == 1


def units(row: str, text: str) -> list[int]:
    spec = tokenizers.resolve(row)
    assert spec.instead is not None
    ends: list[int] = spec.instead.make(spec).segment_batch([text]).ends.tolist()
    return ends


def test_a_row_is_trained_once_it_is_obtained_and_again_when_its_text_changes(tmp_path: Path) -> None:
    path, text = tmp_path / "text.txt", "hello hello world, hello"
    path.write_text("hello world. " * 40, encoding="utf-8")
    row = f"patches:entropy?corpus=path:{path}&order=2"
    with pytest.raises(InputError, match=r"'patches:entropy.*text\.txt&order=2' .*'pyharness run'"):
        units(row, text)
    first = tokenizers.obtain(row)
    ends = units(row, text)
    assert ends[:1] == [1]
    assert ends[-1] == len(text)
    assert tokenizers.obtain(row).revision == first.revision
    path.write_text("world hello. " * 40, encoding="utf-8")
    recipe._TEXTS.clear()  # a text is read once in a process
    assert tokenizers.obtain(row).revision != first.revision


def test_a_file_gives_what_the_corpus_gives(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("hello world. " * 40, encoding="utf-8")
    data = np.frombuffer(path.read_bytes(), np.uint8)
    SymbolModel.train([(data, np.array([0, len(data)]))], 256, 3).save(tmp_path / "m.symbols")
    trained = f"patches:entropy?corpus=path:{path}&order=3"
    tokenizers.obtain(trained)
    of_file = units(f"patches:entropy?model={tmp_path / 'm.symbols'}&mode=monotonic&threshold=0.1", "hello, world")
    assert of_file == units(f"{trained}&mode=monotonic&threshold=0.1", "hello, world")


def test_files_that_are_no_model_of_bytes_are_refused(tmp_path: Path) -> None:
    ids = np.array([0, 299], np.uint32)
    whole = tmp_path / "ids.symbols"
    SymbolModel.train([(ids, np.array([0, 2]))], 300, 2).save(whole)
    cut = tmp_path / "cut.symbols"
    cut.write_bytes(whole.read_bytes()[:-9])
    for path in (whole, cut):
        with pytest.raises(InputError, match=re.escape(str(path))):
            units(f"patches:entropy?model={path}", "x")


def test_the_record_says_how_patches_were_cut_and_shared_text_is_refused() -> None:
    shard = "shard:{}/2:sample:prose"
    target = "target=4.5&corpus=sample:parallel&calibration="
    rows = [f"patches:entropy?{target}{shard.format(0)}"]
    record = pyharness.run(rows, [shard.format(1), "sample:prose"], ["segmentation"]).record
    found = {one.case.corpus: one for one in record.results if one.case.benchmark == "segmentation"}
    assert found[shard.format(1)].status == "ok"
    assert found["sample:prose"].status == "failed"
    assert re.search("calibrated on .*calibration=", str(found["sample:prose"].reason))
    said = record.data["tokenizers"][rows[0]]["units"]
    assert said["is_causal"] is True
    assert (said["target"], said["mode"]) == (4.5, "global")
    assert abs(said["calibration"]["mean"] / 4.5 - 1) < 0.02
    assert said["calibration"]["largest"] >= said["calibration"]["mean"]
    assert 0 < said["threshold"] < 6


@contextmanager
def predictions_refused(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing may be predicted meanwhile, and no row of this process is remembered."""

    def refuse(*_: object) -> None:
        raise AssertionError("predicted again")

    entropy_patches._load.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(SymbolPredictor, "entropies", refuse)
        yield


def settings(row: str) -> dict[str, object]:
    spec = tokenizers.resolve(row)
    assert spec.instead is not None
    patches = spec.instead.make(spec)
    assert isinstance(patches, EntropyPatches)
    return {**patches.settings, "rule": patches.rule, "on": patches.calibrated_on}


def test_a_threshold_is_found_once_when_its_row_is_obtained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calibration = tmp_path / "text.jsonl"
    dialogue = [json.dumps({"text": one}) for one in corpora.open_corpus("sample:dialogue").documents(Tally())]
    calibration.write_text("\n".join(dialogue), encoding="utf-8")
    row = f"patches:entropy?corpus=sample:prose&target={{}}&mode={{}}&calibration=path:{calibration}"
    first = row.format("4.5", "global")
    tokenizers.obtain(first)
    with predictions_refused(monkeypatch):
        kept = settings(first)
        tokenizers.obtain(first)
        for other in (row.format(6, "global"), row.format("4.5", "monotonic")):
            with pytest.raises(AssertionError, match="predicted again"):
                settings(other)
        calibration.write_text("\n".join(dialogue[1:]), encoding="utf-8")
        with pytest.raises(AssertionError, match="predicted again"):
            settings(first)
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "another"))
    calibration.write_text("\n".join(dialogue), encoding="utf-8")
    tokenizers.obtain(first)
    entropy_patches._load.cache_clear()
    assert settings(first) == kept


def test_a_target_that_was_missed_is_not_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    row = "patches:entropy?corpus=sample:code&target=1e6&calibration=sample:prose"
    tokenizers.obtain(row)
    with (
        predictions_refused(monkeypatch),
        pytest.raises(InputError, match=r"threshold .*\b1e\+06 bytes"),
    ):
        settings(row)


def test_a_target_that_no_threshold_reaches_costs_its_row() -> None:
    row = "patches:entropy?corpus=sample:code&target=1e6&calibration=sample:prose"
    record = pyharness.run([row], ["sample:parallel"], ["segmentation"]).record
    (case,) = record.of("segmentation")
    assert case.status == "failed"
    assert re.search(r"threshold .*\b1e\+06 bytes", str(case.reason))
