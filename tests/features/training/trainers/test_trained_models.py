"""A training gives its model back: what goes on with it need not parse the file that was just written."""

from __future__ import annotations

import dataclasses

import pytest

from bpe_models import same
from cases.trained_rows import asked
from pyharness.bpe import export_model
from pyharness.bpe.formats.own_file import load_bytes
from pyharness.features.training import commands as training
from pyharness.features.training import trainers

TEXTS = ["to be or not to be, that is the question", "tobe tobe 1234 é"]
EXTRAS: dict[str, dict[str, object]] = {
    "bytes": {},
    "special": {"special": ("<|end|>",), "vocab_size": 275},
    "characters": {"symbols": "characters", "vocab_size": 40, "unknown": "<unk>"},
    "suffix": {"symbols": "characters", "vocab_size": 60, "end_of_word_suffix": "</w>"},
    "scaffold": {"trainer": "scaffold-bpe"},
}


@pytest.mark.parametrize("name", EXTRAS)
def test_the_model_is_that_of_the_file(name: str) -> None:
    options = {"vocab_size": 270, **EXTRAS[name]}
    trainer = str(options.pop("trainer", "bpe"))
    request = asked(trainer, texts=lambda: TEXTS, **options)
    trained = trainers.train(trainer, request)
    assert trained.model is not None
    read = load_bytes(trained.files["model.json"], "model.json")
    assert same(trained.model, read)
    for kind in ("tokenizer.json", "tiktoken", "minbpe"):
        results = []
        for model in (trained.model, read):
            try:
                results.append(export_model(model, kind))
            except ValueError as error:
                results.append(str(error).encode())
        assert results[0] == results[1]


def test_an_export_without_a_model_is_refused() -> None:
    trained = trainers.train("bpe", asked("bpe", texts=lambda: TEXTS, vocab_size=270))
    without = dataclasses.replace(trained, model=None)
    files, (said,) = training._export(without, ["tiktoken"])
    assert files == {}
    assert said.startswith("--export tiktoken")
