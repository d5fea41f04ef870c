"""Passes of a model over the parts of a text, kept as arrays and taken up again, are the pass over the whole text."""

from __future__ import annotations

from pathlib import Path

import pytest

import language_models as tiny
from pyharness import tokenizers
from pyharness.benchmarks import Pass, Work, benchmarks
from pyharness.corpora import open_corpus
from pyharness.corpora.parts import part_name
from pyharness.features.language_models.next_token_entropy import settle
from pyharness.types import Case, InputError


def started(benchmark: str, work: Work) -> Pass:
    starts = benchmarks()[benchmark].starts
    assert starts is not None
    return starts(work)


def test_scores_of_a_model_add_up(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs the extra torch")
    pytest.importorskip("transformers", reason="needs the extra hub")
    folder = tiny.build(tmp_path / "gpt2")
    text = tiny.written(
        tmp_path / "texts.jsonl", [f"he said hello to {n} wheels, {'hello ' * (n % 5)}" for n in range(90)]
    )
    spec = tokenizers.resolve(f"file:{folder / 'tokenizer.json'}")
    tokenizer = tokenizers.load(spec)
    declared = benchmarks()["next_token_entropy"]
    case = Case(declared.name, spec.name, text, settle({**declared.parameters, "model": str(folder)}, spec, "cpu"))

    def work(corpus: str) -> Work:
        return Work(case, spec, lambda: tokenizer, open_corpus(corpus), 1)

    expected = declared.run(work(text))
    passes = [started(declared.name, work(part_name(text, index, 4))) for index in range(4)]
    kept = []
    for index, passed in enumerate(passes):
        passed.read(open_corpus(part_name(text, index, 4)), 1, lambda _: None)
        kept.append(passed.arrays())
    whole, other = started(declared.name, work(text)), started(declared.name, work(text))
    whole.restore(kept[0])
    for arrays in kept[1:]:
        other.restore(arrays)
        whole.merge(other)
    found = whole.findings()
    assert found.tally == expected.tally
    assert {**found.details, "groups": 0} == {**expected.details, "groups": 0}
    for one, due in zip(found.measurements, expected.measurements, strict=True):  # sums of a model's floats
        assert (one.metric, one.part, one.reason) == (due.metric, due.part, due.reason)
        assert one.value == (None if due.value is None else pytest.approx(due.value, rel=1e-5)), one.metric
    other.restore(passes[0].arrays())
    assert other.findings() == passes[0].findings()
    with pytest.raises(InputError):
        other.restore({**kept[0], "model": kept[0]["model"][::-1]})
