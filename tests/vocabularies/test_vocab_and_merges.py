"""vocab.json and merges.txt are read as tokenizers reads them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from bpe_models import TEXT, sample
from layout.thoroughness import examples
from pyharness import tokenizers
from pyharness.bpe.encoding.tokenizer import BpeTokenizer
from pyharness.bpe.formats.imports import import_model
from pyharness.types import InputError
from pyharness.vocabularies.files import vocabulary_file
from pyharness.vocabularies.files.byte_alphabet import BYTE_ALPHABET
from tokenizer_files import byte_level

FILE = byte_level()["model"]
MERGES = "#version: 0.2\n" + "".join(f"{merge}\n" for merge in FILE["merges"])


def write(folder: Path, vocab: Any = None, merges: str | bytes = MERGES, name: str = "") -> Path:
    path = folder / f"{name}vocab.json"
    path.write_text(json.dumps(FILE["vocab"] if vocab is None else vocab), encoding="utf-8")
    (folder / f"{name}merges.txt").write_bytes(merges if isinstance(merges, bytes) else merges.encode())
    return path


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, BpeTokenizer]:
    library = pytest.importorskip("tokenizers", reason="tokenizers is what this is about")
    folder = tmp_path_factory.mktemp("trained")
    trainer = library.ByteLevelBPETokenizer()
    trainer.train_from_iterator(sample()[:500], vocab_size=900, show_progress=False)
    trainer.save_model(str(folder), "my")
    home = library.ByteLevelBPETokenizer(str(folder / "my-vocab.json"), str(folder / "my-merges.txt"))
    return home, BpeTokenizer(import_model(folder))


@settings(max_examples=examples(200), deadline=None)
@given(text=TEXT)
def test_same_ids_and_text(trained: tuple[Any, BpeTokenizer], text: str) -> None:
    home, ours = trained
    ids = ours.encode(text)
    assert ids.tolist() == home.encode(text).ids
    assert ours.decode(ids).decode() == text == home.decode(ids.tolist(), skip_special_tokens=False)


def test_the_sample(trained: tuple[Any, BpeTokenizer]) -> None:
    home, ours = trained
    for text in sample()[:300]:
        assert ours.encode(text).tolist() == home.encode(text).ids
    assert ours.round_trip == "exact"
    assert [ours.id_to_token(token) for token in range(ours.id_limit)] == [
        home.id_to_token(token) for token in range(home.get_vocab_size())
    ]


@pytest.mark.data
def test_real_files(data: Path, tmp_path: Path) -> None:
    """GPT-2's, from its tokenizer.json."""
    model = json.loads((data / "tokenizers/gpt2/tokenizer.json").read_bytes())["model"]
    merges = "".join(f"{merge if isinstance(merge, str) else ' '.join(merge)}\n" for merge in model["merges"])
    path = write(tmp_path, model["vocab"], merges)
    ours = BpeTokenizer(import_model(path, special={"<|endoftext|>": 50256}))
    home = BpeTokenizer(import_model(data / "tokenizers/gpt2/tokenizer.json"))
    for text in (f"{text}<|endoftext|>" for text in sample()[::20]):
        assert ours.encode(text, allowed_special="all").tolist() == home.encode(text, allowed_special="all").tolist()


def test_rows(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers", reason="tokenizers runs the row")
    path = write(tmp_path)
    for spec in (f"file:{path}", f"file:{tmp_path}"):
        home, ours = tokenizers.load(spec), tokenizers.load(f"native+{spec}")
        assert ours.encode_batch(["hello w"]).ids.tolist() == home.encode_batch(["hello w"]).ids.tolist() == [259, 260]
    assert tokenizers.resolve(f"file:{path}").library == "tokenizers"


def test_pattern_and_special_tokens(tmp_path: Path) -> None:
    path = write(tmp_path)
    ours = BpeTokenizer(import_model(path, pattern="cl100k", special={"<|x|>": 261}))
    assert ours.model.splitter == "cl100k"
    assert ours.encode("hello<|x|>", allowed_special={"<|x|>"}).tolist() == [259, 261]
    assert BpeTokenizer(import_model(path)).model.splitter == "gpt2"
    with pytest.raises(InputError, match=r"\\w\+"):
        import_model(path, pattern=r"\w+")
    with pytest.raises(InputError, match=r"id 5000\b.* 261\b"):
        import_model(path, special={"<|x|>": 5000})


@pytest.mark.parametrize(
    ("merges", "message"),
    [
        ("h e\n\nl l\n", "line 2: ''"),
        ("h e\nl l x\n", "line 2: 'l l x'"),
        ("h e\nl q\n", r"merge 1 \('l' \+ 'q'\).*'lq'.*vocabulary"),
        (b"h e\n\xff l\n", "UTF-8"),
        ("h e\nl l\nll", "line 3: 'll'"),
    ],
)
def test_damaged_merges(tmp_path: Path, merges: str | bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        import_model(write(tmp_path, merges=merges))


def test_windows_ends_of_lines(tmp_path: Path) -> None:
    path = write(tmp_path, merges=MERGES.replace("\n", "\r\n"))
    assert BpeTokenizer(import_model(path)).encode("hello").tolist() == [259]


def test_what_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path)
    with pytest.raises(InputError, match=r"merges\.txt.*path"):
        import_model(path.read_bytes())
    with pytest.raises(InputError, match=r"merges.*vocab\.json"):
        import_model(tmp_path / "merges.txt")
    (tmp_path / "merges.txt").unlink()
    with pytest.raises(InputError, match=r"merges\.txt .*missing"):
        import_model(path)
    path.rename(tmp_path / "other.json")
    with pytest.raises(InputError, match=r"other\.json.*vocab\.json"):
        import_model(tmp_path / "other.json")
    lacking = dict(FILE["vocab"])
    del lacking["a"]
    with pytest.raises(InputError, match=r"byte-level.*'a'"):
        import_model(write(tmp_path, lacking))
    marked = FILE["vocab"] | {f"{letter}</w>": 300 + byte for byte, letter in BYTE_ALPHABET.items()}
    with pytest.raises(InputError, match=r"byte-level.*'</w>'"):
        import_model(write(tmp_path, marked))
    with pytest.raises(InputError, match=r"id .*'a' .*'x'"):
        import_model(write(tmp_path, FILE["vocab"] | {"a": "x"}))


def test_a_tokenizer_json_that_begins_with_a_number_is_one() -> None:
    assert vocabulary_file.detect(b'{"version": 1, "model": {"type": "BPE"}}', "file") == "huggingface"
    assert vocabulary_file.detect(b'{"model": 7, "a": 8}', "file") == "vocab_and_merges"
