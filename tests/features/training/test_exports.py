"""What a training says of its exports: how the library that each is for loads it, and gives the same ids."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pyharness import tokenizers
from pyharness.cli import main


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tiktoken keeps what it has read."""
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


def train(*arguments: object) -> str:
    result = CliRunner().invoke(main, ["train", "bpe", "-c", "sample:prose", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def tokenizer_of(line: str) -> Any:
    """Run a line that was printed."""
    names: dict[str, Any] = {}
    exec(line, names)  # noqa: S102
    return names["tokenizer"]


@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k", "none"])
def test_an_export_says_what_loads_it_with_which_pattern_and_special_tokens(tmp_path: Path, pattern: str) -> None:
    special, out = ["<|end|>", "it's \"\\\N{LINE SEPARATOR}"], tmp_path / "m\u00f5ne"
    names = [part for one in special for part in ("--special", one)]
    kinds = ["--export", "tokenizer.json", "--export", "tiktoken"]
    said = train("--vocab-size", 500, "--pattern", pattern, *names, *kinds, "--out", out)
    first, second = re.findall(r"^load with +(.*)$", said, re.MULTILINE)
    texts = ["to be or\nnot to be, that's 12345", "  ja s\u00f5na \u4f60\u597d"]
    own = tokenizers.load(f"file:{out / 'model.json'}")
    ids = [own.encode_batch([text]).ids.tolist() for text in texts]
    library = tokenizer_of(first)
    assert [library.get_vocab()[one] for one in special] == [498, 499]
    assert [library.encode(text, add_special_tokens=False).ids for text in texts] == ids
    encoding = tokenizer_of(second)
    assert (encoding.name, encoding.special_tokens_set) == ("m\u00f5ne", set(special))
    assert [encoding.encode(text) for text in texts] == ids
    assert encoding.encode(special[1], allowed_special="all") == [499]


def test_a_path_that_tiktoken_has_read_before_is_read_again(tmp_path: Path) -> None:
    given = ("--export", "tiktoken", "--out", tmp_path / "m", "--force")
    for size in (300, 400):
        (line,) = re.findall(r"^load with +(.*)$", train("--vocab-size", size, *given), re.MULTILINE)
        assert tokenizer_of(line).n_vocab == size


def test_an_export_to_minbpe_says_what_its_load_does_not(tmp_path: Path) -> None:
    out = tmp_path / "m"
    said = train("--vocab-size", 300, "--special", "<|end|>", "--export", "minbpe", "--out", out)
    (line,) = re.findall(r"^load with +(.*)$", said, re.MULTILINE)
    _, made, loaded = line.split("; ")
    assert loaded == f"tokenizer.load({str(out / 'minbpe.model')!r})"
    expression = re.fullmatch(r"tokenizer = minbpe\.RegexTokenizer\((.*)\)", made)
    assert expression is not None
    assert ast.literal_eval(expression[1]) == (out / "minbpe.model").read_text(encoding="utf-8").split("\n")[1]
