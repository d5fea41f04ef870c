"""The suites of units: every row is measured on every text, and parity is that of aligned ones."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from pyharness import suite
from pyharness.corpora.texts import Text
from pyharness.features.segmentation.calibration import TOLERANCE
from pyharness.features.segmentation.entropy_patches import EntropyPatches
from pyharness.plugins.specification import TOKENIZER
from pyharness.types import Corpus, ParallelCorpus, Tally


@pytest.mark.parametrize("name", ["segmentation", "segmentation-full"])
def test_raw_bytes_and_three_tokenizers_are_measured_on_every_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_DATA", "/data")
    declared = suite.read(suite.find(name))
    rows = [entry.spec for entry in declared.tokenizers]
    assert rows[0] == "raw_bytes"
    assert sum(row.startswith(("tiktoken:", "mistral:", "file:")) for row in rows) == 3
    units = {"patches:static?size=4", "patches:space", "patches:space?reading=paper"}
    assert units | {"units:sentence", "units:word", "units:character"} <= set(rows)
    aligned = [entry.label for entry in declared.corpora if entry.spec.startswith(("parallel:", "sample"))]
    assert len(aligned) == 1
    if name == "segmentation-full":
        languages = {entry.spec.split("language=")[-1] for entry in declared.corpora if entry.label not in aligned}
        assert languages == {"en", "code", "ar", "de", "et", "fi", "hi", "ja", "ko", "ru", "th", "zh"}
        assert [one.benchmark for one in declared.selections] == ["segmentation", "fairness"]
        assert len(declared.selections[0].corpora or ()) == len(languages)
    else:
        assert [one.benchmark for one in declared.selections] == ["segmentation", "segmentation", "fairness"]
        assert all(entry.spec.startswith(("sample", "installed:")) for entry in declared.corpora), "offline"


@pytest.fixture
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> suite.Plan:
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path))
    return suite.plan(suite.read(suite.find("segmentation")))


def entropy_rows(plan: suite.Plan) -> dict[str, dict[str, str]]:
    parsed = {entry.label: TOKENIZER.parse(entry.spec) for entry in plan.suite.tokenizers}
    return {
        label: dict(row.options) for label, row in parsed.items() if (row.name, row.argument) == ("patches", "entropy")
    }


def texts_of(corpus: Corpus, benchmark: str) -> set[str]:
    if benchmark == "segmentation":
        return set(corpus.documents(Tally()))
    assert isinstance(corpus, ParallelCorpus)
    return {text for row in corpus.rows(Tally()) for text in row.values()}


def test_patches_by_entropy_alone_lack_a_text(planned: suite.Plan) -> None:
    rows = entropy_rows(planned)
    assert {row["target"] for row in rows.values()} == {"4.5", "6"}
    assert {row["order"] for row in rows.values()} == {"5"}
    measured = {(one.tokenizer, one.corpus) for one in planned.cases if one.benchmark == "segmentation"}
    everything = set(product(planned.tokenizers, planned.corpora))
    assert everything - measured == {(row, "sample") for row in rows}
    assert {one.tokenizer for one in planned.cases if one.benchmark == "fairness"} == set(planned.tokenizers)


def test_patches_by_entropy_are_measured_on_no_text_that_they_learnt_from(planned: suite.Plan) -> None:
    rows = entropy_rows(planned)
    learnt = {label: set(Text.of([row["corpus"], row["calibration"]]).documents()) for label, row in rows.items()}
    assert all(learnt.values())
    for case in planned.cases:
        if case.tokenizer in rows and case.corpus is not None:
            assert learnt[case.tokenizer].isdisjoint(texts_of(planned.corpora[case.corpus], case.benchmark)), case
    assert not learnt["entropy-6"].isdisjoint(texts_of(planned.corpora["sample"], "segmentation")), "why it is left out"


def test_targets_are_met_on_the_calibration_text(planned: suite.Plan) -> None:
    for label, row in entropy_rows(planned).items():
        spec = planned.tokenizers[label]
        assert spec.instead is not None
        patches = spec.instead.make(spec)
        assert isinstance(patches, EntropyPatches)
        assert abs(patches.settings["calibration"]["mean"] / float(row["target"]) - 1) < TOLERANCE
