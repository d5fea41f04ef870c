"""The benchmark of adaptations: what it counts is what a reader of ids and files finds."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from adapted.bases import NEW, OLD, write_base
from bpe_files import FILES
from pyharness import tokenizers
from pyharness.benchmarks import Findings, Work, benchmarks
from pyharness.corpora import open_corpus
from pyharness.features.adaptation.benchmark import changes
from pyharness.features.adaptation.benchmark import other as other_adaptation
from pyharness.features.training import training_process
from pyharness.statistics.jackknife import MIN_GROUPS, interval
from pyharness.types import Case, CaseResult, InputError, Measurement, Unsupported

ADAPTATION = benchmarks()["adaptation"]
HELD_OUT = [f"{line} {number} {other}" for number in range(40) for line, other in zip(NEW[:2], OLD[:2], strict=True)]


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(training_process, "run", training_process.train_and_keep)
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))


def corpus(folder: Path, name: str, lines: list[str]) -> str:
    path = folder / f"{name}.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return f"path:{path}?split=line"


def measured(row: str, text: str, against: str = "", *, pipeline: bool = False) -> tuple[Case, Findings]:
    spec = tokenizers.obtain(row)
    parameters = {"against": against, "pipeline": pipeline}
    case = Case("adaptation", row, text, ADAPTATION.settle(parameters, spec, "cpu"))
    assert case.parameters == {"against": against, **({"pipeline": True} if pipeline else {})}
    if (loaded := other_adaptation(parameters, spec)) is not None:
        tokenizers.obtain(loaded)
    return case, ADAPTATION.run(Work(case, spec, lambda: tokenizers.load(spec), open_corpus(text), 1))


def numbers(found: Findings) -> dict[str, Measurement]:
    return {one.metric + (f" {one.part}" if one.part else ""): one for one in found.measurements}


def encoded(row: str, texts: list[str]) -> list[int]:
    return [int(token) for token in tokenizers.load(row).encode_batch(texts).ids]


@pytest.mark.parametrize("engine", ["", "native+"])
def test_an_extension_beside_its_base_and_a_naive_one(tmp_path: Path, engine: str) -> None:
    base, text = write_base(tmp_path), corpus(tmp_path, "held-out", HELD_OUT)
    options = f"?base={base}&corpus={corpus(tmp_path, 'new', NEW)}&tokens=25".replace("?split", "%3Fsplit")
    row = f"{engine}trained:continued-bpe{options}"
    case, found = measured(row, text, "naive-extension")
    result = numbers(found)
    mine = encoded(row, HELD_OUT)
    for part, other in (("base", f"file:{base}"), ("naive-extension", f"trained:naive-extension{options}")):
        gain = result[f"compression_gain {part}"]
        assert gain.value == len(encoded(other, HELD_OUT)) / len(mine) - 1
        known = [one for one in gain.replicates if one is not None]
        assert len(known) >= MIN_GROUPS
        assert min(known) <= gain.value <= max(known)
        bounds = interval(gain.value, gain.replicates)
        assert (bounds is None) == bool(gain.no_interval), "it has an interval, or says why not"
        assert bounds is None or bounds[0] < gain.value < bounds[1]
    assert (result["compression_gain base"].value or 0) > 0.1
    assert sum(found.details["groups"]["documents"]) == len(HELD_OUT), "comparisons look at them"
    added = list(range(273, 298))
    assert (result["added_tokens"].value, result["removed_tokens"].value) == (25, 0)
    assert result["unused_added"].value == sum(token not in mine for token in added) / 25
    size = sum(len(line.encode()) for line in HELD_OUT)
    uses = result["added_token_uses"].value
    assert uses == pytest.approx(sum(token >= 273 for token in mine) / 25 / size * 1e6)
    assert result["newly_unreachable_model"].value == 0
    assert result["newly_unreachable_graph"].value == 0
    assert ADAPTATION.rederive is not None
    assert ADAPTATION.rederive(found.state, case).measurements == found.measurements


def test_what_was_read_of_a_base_is_not_taken_for_another_text_or_file(tmp_path: Path) -> None:
    base, text = write_base(tmp_path), corpus(tmp_path, "held-out", HELD_OUT)
    row = f"trained:continued-bpe?base={base}&corpus={corpus(tmp_path, 'new', NEW)}&tokens=25".replace(
        "?split", "%3Fsplit"
    )
    gains = []
    for lines in (HELD_OUT, HELD_OUT[::-1] + OLD, HELD_OUT):
        corpus(tmp_path, "held-out", lines)
        gains.append(numbers(measured(row, text)[1])["compression_gain base"].value)
        assert gains[-1] == len(encoded(f"file:{base}", lines)) / len(encoded(row, lines)) - 1
    content = json.loads(base.read_text(encoding="utf-8"))
    content["model"]["merges"] = content["model"]["merges"][:5]
    base.write_text(json.dumps(content), encoding="utf-8")
    gains.append(numbers(measured(row, text)[1])["compression_gain base"].value)
    assert gains[-1] == len(encoded(f"file:{base}", HELD_OUT)) / len(encoded(row, HELD_OUT)) - 1
    assert len(set(gains)) == 3


def test_dead_tokens_of_a_naive_extension_are_found(tmp_path: Path) -> None:
    base, text = write_base(tmp_path), corpus(tmp_path, "held-out", HELD_OUT)
    words = ["txe"] * 50 + ["atxe"] * 10  # "at" is the first rule of the base, and no rule joins it with "xe"
    options = f"base={base}&corpus={corpus(tmp_path, 'new', words)}&tokens=3"
    naive = numbers(measured(f"native+trained:naive-extension?{options}", text, "naive-extension", pipeline=True)[1])
    case, found = measured(f"native+trained:continued-bpe?{options}", text, pipeline=True)
    continued = numbers(found)
    assert ADAPTATION.rederive is not None
    assert ADAPTATION.rederive(found.state, case).measurements == found.measurements
    layer_3 = [
        (one["added_unreachable_pipeline"].value, one["added_without_witness"].value) for one in (naive, continued)
    ]
    assert layer_3 == [(1, 0), (0, 0)]
    tokenizer = tokenizers.load(f"native+trained:naive-extension?{options}")
    assert [len(tokenizer.encode_batch([text]).ids) for text in ("tx", "txe", "atxe")] == [1, 1, 3]
    assert (naive["newly_unreachable_graph"].value, naive["newly_unreachable_model"].value) == (0, 1)
    assert continued["newly_unreachable_model"].value == 0
    assert "compression_gain naive-extension" not in naive, "of itself"
    assert "added_without_witness" not in numbers(measured(case.tokenizer, text)[1]), "not asked for"
    worse = tokenizers.resolve(f"trained:naive-extension?{options}").path
    again = f"base={worse}&corpus={corpus(tmp_path, 'other', NEW)}&tokens=9"
    later = numbers(measured(f"native+trained:continued-bpe?{again}", text)[1])
    assert later["newly_unreachable_model"].value == 0, "it was dead before"


def test_a_pruning_beside_another(tmp_path: Path) -> None:
    base, text = write_base(tmp_path), corpus(tmp_path, "held-out", HELD_OUT)
    options = f"base={base}&corpus={corpus(tmp_path, 'old', OLD)}&vocab_size=264"
    result = numbers(measured(f"native+trained:leaf-pruning?{options}", text, "frequency-pruning")[1])
    assert (result["added_tokens"].value, result["removed_tokens"].value) == (0, 9)
    assert (result["compression_gain base"].value or 0) < 0
    for metric in ("unused_added", "added_token_uses"):
        assert (result[metric].value, "added" in str(result[metric].reason)) == (None, True)
    assert result["newly_unreachable_model"].value == 0
    assert result["compression_gain frequency-pruning"].value is not None


def test_rows_that_lack_characters_of_their_text_are_named(tmp_path: Path) -> None:
    base = tmp_path / "tokenizer.model"
    base.write_bytes(FILES["sentencepiece, byte fallback"])
    learnt = corpus(tmp_path, "new", ["hello õõ 日", "we hello"]).replace("?split", "%3Fsplit")
    rows = [f"trained:{trainer}?base={base}&corpus={learnt}&tokens=2{more}&min_frequency=1"
            for trainer in ("continued-bpe", "leaf-pruning") for more in ("", "&character_coverage=0.9")]  # fmt: skip
    rows.append(f"trained:continued-bpe?base={write_base(tmp_path)}&corpus={learnt}&tokens=2&min_frequency=1")
    results = []
    for row in rows:
        case, found = measured(row, corpus(tmp_path, "held-out", ["hello we"] * 40))
        results.append(CaseResult(case, "ok", measurements=found.measurements, details=found.details))
    notes = [
        note
        for one in ADAPTATION.tables[0].notes
        if callable(one)
        for note in one(results, {"tokenizers": {}, "corpora": {}})
    ]
    (told,) = [note for note in notes if "character_coverage" in note]
    # three of ▁hello▁õõ▁日 and ▁we▁hello, of 11 and 9 characters
    assert re.search(r"\b2 characters, 15 %.*\bbytes\b.*character_coverage=0\.99995", told)
    assert [row for row in rows if row in told] == [rows[0], rows[2]]


def test_other_rows_are_skipped_with_the_reason(tmp_path: Path) -> None:
    for row in ("raw_bytes", "trained:bpe?corpus=sample&vocab_size=300"):
        with pytest.raises(Unsupported, match=r"trained:\.\.\.\?base=\.\.\."):
            ADAPTATION.settle({"against": ""}, tokenizers.resolve(row), "cpu")


def test_what_was_added_must_be_known(tmp_path: Path) -> None:
    base = write_base(tmp_path)
    spec = tokenizers.obtain(f"trained:continued-bpe?base={base}&corpus={corpus(tmp_path, 'new', NEW)}&tokens=9")
    added, removed, learnt = changes(spec)
    assert (added.tolist(), removed) == (list(range(273, 282)), 0)
    assert (learnt["whole_piece_lookup"], learnt["asked"]["whole_pieces"]) == (False, None)
    assert spec.path is not None
    record = Path(spec.path).parent / "adaptation.json"
    said = json.loads(record.read_text(encoding="utf-8"))
    for ids in ([[273, 290]], [[0, 1 << 60]], "x", None):
        record.write_text(json.dumps({**said, "added_ids": ids}), encoding="utf-8")
        with pytest.raises(InputError, match=rf"adaptation\.json .*'{re.escape(spec.name)}'"):
            changes(spec)
    record.unlink()
    with pytest.raises(InputError, match=r"adaptation\.json"):
        changes(spec)


def test_arrays_that_lack_something_are_refused(tmp_path: Path) -> None:
    base, text = write_base(tmp_path), corpus(tmp_path, "held-out", HELD_OUT)
    row = f"native+trained:continued-bpe?base={base}&corpus={corpus(tmp_path, 'new', NEW)}&tokens=9"
    case, found = measured(row, text)
    assert ADAPTATION.rederive is not None
    for name in ("numbers", "uses"):
        with pytest.raises(InputError, match=f"'{name}'"):
            ADAPTATION.rederive({key: value for key, value in found.state.items() if key != name}, case)
    with pytest.raises(InputError, match="has the shape"):
        ADAPTATION.rederive({**found.state, "numbers": np.zeros(3, np.int64)}, case)
