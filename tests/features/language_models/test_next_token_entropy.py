"""The benchmark against a float64 loop, token by token; batches, windows, padding and pairing."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import language_models as tiny
from language_models import TEXTS, measured, values
from oracles.word_positions import length_class, places
from pyharness import tokenizers
from pyharness.benchmarks import Findings, benchmarks
from pyharness.features.language_models import loader
from pyharness.features.language_models import metrics as language_model
from pyharness.features.language_models.next_token_entropy import Scoring, own_tokenizer
from pyharness.kernels import devices
from pyharness.statistics.jackknife import interval
from pyharness.tokenizers.families.raw_bytes import RawBytes
from pyharness.types import Case, Tokens, Unsupported, Vocabulary

pytest.importorskip("torch", reason="needs the extra torch")
pytest.importorskip("transformers", reason="needs the extra hub")

Folder = Callable[..., Path]


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Models of two layers are faster without handing work around."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """Folder of a tiny model by kind and changes, each built once."""
    built: dict[str, Path] = {}

    def folder(kind: str = "gpt2", **changes: Any) -> Path:
        key = f"{kind} {sorted(changes.items())}"
        if key not in built:
            built[key] = tiny.build(tmp_path_factory.mktemp("model"), kind, **changes)
        return built[key]

    return folder


def expected(
    folder: Path, texts: list[str], bos: int | None, context: int, stride: int, columns: int | None = None
) -> Mapping[tuple[str, str | None], float]:
    """The same numbers from the oracle, with words found byte by byte."""
    tokenizer: Any = tokenizers.load(f"file:{folder / 'tokenizer.json'}")
    table = tokenizer.vocabulary()
    tokens: dict[str | None, list[tuple[float, float]]] = {None: []}  # by place; None: all of them
    of_length: dict[str, list[tuple[float, int]]] = {}
    size = 0
    for text in texts:
        ids = tokenizer.encode_batch([text]).ids
        pieces = [table[token] for token in ids.tolist()]
        scores = list(zip(*tiny.oracle(folder, ids, bos, context, stride, columns), strict=True))
        for place, score, piece in zip(places(text, pieces), scores, pieces, strict=True):
            if not math.isnan(score[0]):
                tokens.setdefault(place, []).append(score)
                tokens[None].append(score)
                size += len(piece)
                of_length.setdefault(length_class(len(piece)), []).append((score[1], len(piece)))
    found: dict[tuple[str, str | None], float] = {}
    for part, of in tokens.items():
        for column, bits in enumerate(("entropy", "nll")):
            name = f"next_token_{bits}" if part is None else f"word_position_{bits}"
            found[name, part] = math.fsum(score[column] for score in of) / len(of)
    for part, pairs in of_length.items():
        total = math.fsum(score for score, _ in pairs)
        found["token_length_nll", part] = total / len(pairs)
        found["token_length_bits_per_byte", part] = total / sum(length for _, length in pairs)
    return found | {("bits_per_byte", None): math.fsum(score[1] for score in tokens[None]) / size}


# ---------------------------------------------------------------------------------------------- the numbers


@pytest.mark.parametrize("kind", ["gpt2", "llama", "gemma2"])
@pytest.mark.parametrize(("context", "stride"), [(0, 0), (8, 8), (7, 1), (2, 2)])
def test_equals_a_loop_in_double_precision(model: Folder, kind: str, context: int, stride: int) -> None:
    folder = model(kind)
    findings = measured(folder, TEXTS, context=context, stride=stride)
    oracle = expected(folder, TEXTS, tiny.END_OF_TEXT, context or tiny.CONTEXT, stride or tiny.CONTEXT // 2)
    assert values(findings) == pytest.approx(oracle, abs=2e-5)
    assert findings.details["model"]["stores_logits"] is False
    assert findings.details["unscored_tokens"] == 0


def test_batches_do_not_matter_and_the_same_run_gives_the_same_bits(model: Folder) -> None:
    texts = TEXTS + [f"he{n} " * n for n in range(1, 9)]
    one, some, all_ = (measured(model(), texts, batch_tokens=size) for size in (1, 100, 100_000))
    assert values(one) == pytest.approx(values(some), abs=1e-5)
    assert values(one) == pytest.approx(values(all_), abs=1e-5)
    again = measured(model(), texts, batch_tokens=100)
    assert again.measurements == some.measurements
    assert again.details == some.details
    for name in ("bytes", "documents", "tokens", "tokens 0", "tokens outside"):
        assert one.details["groups"][name] == all_.details["groups"][name]


def test_without_a_first_token_to_predict_from(model: Folder) -> None:
    folder = model("gpt2", bos_token_id=None, eos_token_id=None)
    findings = measured(folder, TEXTS, context=8, stride=4)
    assert values(findings) == pytest.approx(expected(folder, TEXTS, None, 8, 4), abs=2e-5)
    assert findings.details["unscored_tokens"] == len(TEXTS)
    scored_bytes = sum(findings.details["groups"]["bytes"])
    assert scored_bytes < sum(len(text.encode()) for text in TEXTS) - len(TEXTS) + 1
    alone = measured(folder, ["h", "x"])
    assert alone.measurements
    assert all(one.value is None and "scored" in str(one.reason) for one in alone.measurements)


def test_a_configuration_that_names_an_impossible_first_token(model: Folder) -> None:
    findings = measured(model("gpt2", bos_token_id=50256), ["hello"])
    assert findings.details["model"]["bos"] is None


@pytest.mark.parametrize("kind", ["llama", "gemma2"])
def test_padding_columns_count_unless_they_are_ignored(model: Folder, kind: str) -> None:
    folder = model(kind, vocab_size=320)
    whole, ignored = (measured(folder, TEXTS, ignore_padding=ignore) for ignore in (False, True))
    half = tiny.CONTEXT // 2
    assert values(whole) == pytest.approx(expected(folder, TEXTS, 261, tiny.CONTEXT, half), abs=2e-5)
    assert values(ignored) == pytest.approx(expected(folder, TEXTS, 261, tiny.CONTEXT, half, tiny.IDS), abs=2e-5)
    assert values(ignored)["bits_per_byte", None] < values(whole)["bits_per_byte", None]
    assert (whole.details["model"]["counted_columns"], ignored.details["model"]["counted_columns"]) == (320, tiny.IDS)


def test_half_precision_is_close_and_said(model: Folder) -> None:
    exact, half = (measured(model("llama"), TEXTS, dtype=dtype) for dtype in ("float32", "bfloat16"))
    assert half.details["model"]["dtype"] == "bfloat16"
    apart = abs(values(half)["bits_per_byte", None] - values(exact)["bits_per_byte", None])
    assert 0 < apart < 0.05


@pytest.mark.cuda
@pytest.mark.parametrize(("dtype", "error"), [("float32", 1e-4), ("bfloat16", 0.05)])
@pytest.mark.parametrize("kind", ["llama", "gemma2"])
def test_a_gpu_gives_the_same_numbers(model: Folder, kind: str, dtype: str, error: float) -> None:
    import torch

    if (reason := devices.cuda_reason()) is not None or not torch.cuda.is_available():
        pytest.skip(reason or "this torch has no CUDA")
    there = values(measured(model(kind), TEXTS, device="cuda", dtype=dtype))
    assert there == pytest.approx(values(measured(model(kind), TEXTS)), abs=error)


def test_intervals_and_merging(model: Folder) -> None:
    texts = [f"he said hello to {n} wheels, {'hello ' * (n % 5)}" for n in range(120)]
    findings = measured(model(), texts)
    for one in findings.measurements:
        if one.metric in ("bits_per_byte", "next_token_entropy"):
            low, high = interval(one.value, one.replicates) or (0.0, 0.0)
            assert low < float(one.value) < high
    parts = [rebuilt(measured(model(), half)) for half in (texts[:50], texts[50:])]
    parts[0].merge(parts[1])
    merged = {(one.metric, one.part): one.value for one in language_model.measure(parts[0]) if one.value is not None}
    assert merged == pytest.approx(values(findings), abs=1e-5)


def test_every_number_comes_again_without_the_model(model: Folder) -> None:
    findings = measured(model(), [f"he said hello to {n} wheels" for n in range(70)])
    rederive = benchmarks()["next_token_entropy"].rederive
    assert rederive is not None
    again = rederive(findings.state, Case("next_token_entropy", "row", "text"))
    assert again.measurements == findings.measurements
    assert again.details == {"groups": findings.details["groups"]}


def rebuilt(findings: Findings) -> Any:
    """The state of a pass, from what a record keeps of it."""
    state = language_model.empty()
    state.counters.update({name: np.array(sums, np.int64) for name, sums in findings.details["groups"].items()})
    return state


def test_scripts_without_spaces_have_no_word_positions(model: Folder) -> None:
    by_part = {one.metric: one for one in measured(model(), ["日本語の文章です"]).measurements if one.part == "0"}
    assert by_part["word_position_nll"].value is None
    assert "without spaces" in str(by_part["word_position_nll"].reason)


def test_a_row_brings_its_own_model(model: Folder, tmp_path: Path) -> None:
    folder = model("llama")
    assert values(measured(folder, TEXTS, model="")) == values(measured(folder, TEXTS))
    with pytest.raises(Unsupported, match=r"'raw_bytes'.*\bnext_token_entropy\?model="):
        measured(folder, TEXTS, row="raw_bytes", model="")
    (tmp_path / "config.json").write_text("{}", "utf-8")  # of the tokenizer alone: no weights
    (tmp_path / "tokenizer.json").write_text((folder / "tokenizer.json").read_text("utf-8"), "utf-8")
    with pytest.raises(Unsupported, match=rf"'{re.escape(f'file:{tmp_path}')}.*\bnext_token_entropy\?model="):
        measured(tmp_path, TEXTS, model="")


class Silent(RawBytes):
    """Makes nothing of spaces."""

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        return super().encode_batch([text.replace(" ", "") for text in texts])


@pytest.mark.parametrize("bos", [tiny.END_OF_TEXT, None])
def test_documents_without_tokens_and_with_one(model: Folder, bos: int | None) -> None:
    loaded = loader.load(str(model("gpt2", bos_token_id=bos, eos_token_id=bos)), "cpu", "float32")
    scoring = Scoring(loaded, Silent(), None, tiny.IDS, 8, 4, 64)
    scoring.read([" ", "a", " b", "cd"], [0, 0, 1, 1])
    scoring.read([], [])
    totals = {name: int(sums.sum()) for name, sums in scoring.state.counters.items()}
    expected = (4, 4, 2, 6) if bos is not None else (4, 1, 2, 2)  # of " ", and the d of "cd"
    assert tuple(totals[name] for name in ("documents", "tokens", "spelled", "bytes")) == expected
    assert (scoring.documents, scoring.unscored, scoring.unspelled) == (4, 0 if bos is not None else 3, 2)


class Wordy(RawBytes):
    """Claims that every byte is a long token, which spells nothing."""

    def vocabulary(self) -> Vocabulary:
        return Vocabulary.from_tokens({byte: bytes(50) for byte in range(256)}, {})


def test_a_first_token_cannot_leave_out_more_than_its_document(model: Folder) -> None:
    loaded = loader.load(str(model("gpt2", bos_token_id=None, eos_token_id=None)), "cpu", "float32")
    scoring = Scoring(loaded, Wordy(), None, tiny.IDS, 8, 4, 64)
    scoring.read(["abc"], [0])
    assert int(scoring.state.counters["bytes"].sum()) == 0


# ---------------------------------------------------------------------------------------------- no number


def test_a_tokenizer_that_is_not_the_models(model: Folder, tmp_path: Path) -> None:
    findings = measured(model(), ["hello, wheel"], row="raw_bytes")
    assert (findings.status, findings.measurements) == ("failed", ())
    assert "document 1 begins [104, 101" in str(findings.reason)
    beyond = measured(model(), ["hello"], row="mistral:v3")
    assert "is beyond the 263 ids" in str(beyond.reason)


def test_the_same_tokenizer_elsewhere_and_a_model_that_ships_none(model: Folder, tmp_path: Path) -> None:
    other = tmp_path / "tokenizer.json"
    other.write_text((model() / "tokenizer.json").read_text("utf-8") + "\n", "utf-8")
    findings = measured(model(), TEXTS, row=f"file:{other}")
    assert findings.details["pairing"].startswith("ids compared with tokenizer.json")
    assert values(findings) == values(measured(model(), TEXTS))
    bare = tiny.build(tmp_path / "bare", tokenizer=False)
    findings = measured(bare, TEXTS, row=f"file:{other}")
    assert re.search(rf"^not checked\b.*{re.escape(str(bare))}", findings.details["pairing"])
    assert values(findings) == values(measured(model(), TEXTS))


def test_an_engine_is_compared_with_the_models_tokenizer(model: Folder) -> None:
    """It has been verified on the text of the integrity check alone."""
    loaded = loader.load(str(model()), "cpu", "float32")
    home = tokenizers.resolve(f"file:{model() / 'tokenizer.json'}")
    assert own_tokenizer(loaded, home)[0] is None
    own, said = own_tokenizer(loaded, replace(home, name=f"gigatoken+{home.name}"))
    assert own is not None
    assert said.startswith("ids compared with tokenizer.json")


@pytest.mark.parametrize("value", [math.nan, math.inf, 1e30])
def test_a_model_whose_predictions_are_no_probabilities(tmp_path: Path, value: float) -> None:
    import safetensors.torch

    folder = tiny.build(tmp_path)
    weights = safetensors.torch.load_file(folder / "model.safetensors")
    weights["transformer.wte.weight"][ord("w"), 0] = value
    safetensors.torch.save_file(weights, folder / "model.safetensors", {"format": "pt"})
    findings = measured(folder, ["hello", "hello world"])
    assert (findings.status, findings.measurements) == ("failed", ())
    assert "no probabilities" in str(findings.reason)
