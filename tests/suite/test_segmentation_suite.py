"""The suites of units: every row is measured on every text, and parity is that of aligned ones."""

from __future__ import annotations

import pytest

from pyharness import suite


@pytest.mark.parametrize("name", ["segmentation", "segmentation-full"])
def test_raw_bytes_and_three_tokenizers_are_measured_on_every_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_DATA", "/data")
    declared = suite.read(suite.find(name))
    rows = [entry.spec for entry in declared.tokenizers]
    assert rows[0] == "raw_bytes"
    assert sum(row.startswith(("tiktoken:", "mistral:", "file:")) for row in rows) == 3
    units = {"patches:static?size=4", "patches:space", "patches:space?reading=paper"}
    assert units | {"units:sentence", "units:word", "units:character"} <= set(rows)
    assert [one.benchmark for one in declared.selections] == ["segmentation", "fairness"]
    aligned = [entry.label for entry in declared.corpora if entry.spec.startswith(("parallel:", "sample"))]
    assert len(aligned) == 1
    if name == "segmentation-full":
        languages = {entry.spec.split("language=")[-1] for entry in declared.corpora if entry.label not in aligned}
        assert languages == {"en", "code", "ar", "de", "et", "fi", "hi", "ja", "ko", "ru", "th", "zh"}
        assert len(declared.selections[0].corpora or ()) == len(languages)
    else:
        assert all(entry.spec.startswith(("sample", "installed:")) for entry in declared.corpora), "offline"
