"""What a language model makes of tokens by their length: older states, sums, and what has no bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import language_models as tiny
from language_models import TEXTS, measured
from pyharness.benchmarks import benchmarks
from pyharness.features.language_models import metrics as language_model
from pyharness.types import Case

pytest.importorskip("torch", reason="needs the extra torch")
pytest.importorskip("transformers", reason="needs the extra hub")


def test_an_older_state_has_no_sums_by_length_and_gives_none(tmp_path: Path) -> None:
    findings = measured(tiny.build(tmp_path / "model"), [f"he said hello to {n} wheels" for n in range(70)])
    assert findings.state is not None
    older = {name: array for name, array in findings.state.items() if " of " not in name}
    assert len(older) == len(findings.state) - 3 * len(language_model.LENGTHS)
    rederive = benchmarks()["next_token_entropy"].rederive
    assert rederive is not None
    again = rederive(older, Case("next_token_entropy", "row", "text"))
    assert again.measurements == tuple(one for one in findings.measurements if "length" not in one.metric)


def test_lengths_are_of_the_text_and_sums_are_those_of_the_whole(tmp_path: Path) -> None:
    state = language_model.empty()
    bits = np.array([1.0, 2.0, 4.0, 8.0, np.nan])
    sizes = np.array([0, 5, 4, 9, 1])
    language_model.update(state, 3, language_model.Scores("x" * 18, bits, bits, 0, np.full(5, 4), sizes))
    found = {(one.metric, one.part): one for one in language_model.measure(state) if one.metric.startswith("token_le")}
    assert found["token_length_nll", "4-5"].value == 3.0
    assert found["token_length_bits_per_byte", "4-5"].value == 6 / 9
    assert found["token_length_bits_per_byte", "9+"].value == 8 / 9
    assert (found["token_length_nll", "1"].value, found["token_length_nll", "1"].reason) == (
        None, "no token of 1 byte was scored",
    )  # fmt: skip
    groups = measured(tiny.build(tmp_path / "model"), TEXTS).details["groups"]
    for sums in ("tokens", "nll"):
        whole = [
            sum(parts) for parts in zip(*(groups[f"{sums} of {part}"] for part in language_model.LENGTHS), strict=True)
        ]
        assert whole == groups[sums]
