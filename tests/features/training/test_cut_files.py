"""Tokenizer files that were cut off: what the format lets one notice is noticed, and the rest is known.

``python tests/features/training/test_cut_files.py`` cuts every format at 100 places, and at the ends of 100 lines, and
says how many still load and why that cannot be noticed.
"""

from __future__ import annotations

import base64
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path

import pytest

from cases.trained_rows import asked
from pyharness import tokenizers
from pyharness.bpe.formats.exports import export_model
from pyharness.bpe.formats.own_file import load_bytes
from pyharness.features.training import trainers
from pyharness.features.training.trainers.native import MODEL
from pyharness.types import InputError
from pyharness.vocabularies import encodings

CUTS = 15  # of each kind, where nobody watches
SIZE = 600
UNNOTICED = {
    "ranks": "any beginning of a rank file, cut between two lines, is a vocabulary, and its name is not known",
    "minbpe": "any beginning of a list of merges, cut between two lines, is a model; without special tokens no id is "
    "missing",
}


@cache
def text() -> tuple[str, ...]:
    words = [bytes([97 + n % 26, 97 + n // 26 % 26, 97 + n % 7]).decode() * (1 + n % 3) for n in range(400)]
    chosen = random.Random(9).choices(words, k=6000)
    return tuple(" ".join(chosen[start : start + 60]) for start in range(0, len(chosen), 60))


@cache
def trained(special: bool) -> bytes:
    request = asked("bpe", texts=lambda: iter(text()), vocab_size=SIZE, special=("<|end|>",) if special else ())
    return trainers.train(trainers.resolve("bpe"), request).files[MODEL]


def exported(kind: str, special: bool) -> bytes:
    return export_model(load_bytes(trained(special), MODEL), kind)  # type: ignore[arg-type]


def sentencepiece() -> bytes:
    pytest.importorskip("sentencepiece")
    request = asked("sentencepiece-bpe", texts=lambda: iter(text()), vocab_size=SIZE)
    return next(iter(trainers.train(trainers.resolve("sentencepiece-bpe"), request).files.values()))


def tekken() -> bytes:
    ranks = [line.split()[0].decode() for line in exported("tiktoken", False).splitlines()]
    vocab = [{"rank": rank, "token_bytes": token} for rank, token in enumerate(ranks)]
    config = {"pattern": encodings.TEKKEN, "default_vocab_size": len(vocab) + 2, "default_num_special_tokens": 2}
    return json.dumps({"config": config, "vocab": vocab}, indent=1).encode()


# format -> content, name of the file, options
FORMATS: dict[str, tuple[Callable[[], bytes], str, str]] = {
    "model.json": (lambda: trained(False), "model.json", ""),
    "tokenizer.json": (lambda: exported("tokenizer.json", False), "tokenizer.json", ""),
    "tekken": (tekken, "tekken.json", ""),
    "sentencepiece": (sentencepiece, "tokenizer.model", ""),
    "ranks": (lambda: exported("tiktoken", False), "mine.tiktoken", "?pattern=gpt2"),
    "minbpe": (lambda: exported("minbpe", False), "minbpe.model", ""),
    "minbpe with special tokens": (lambda: exported("minbpe", True), "minbpe.model", ""),
}


def cuts(data: bytes, count: int) -> Iterator[tuple[str, bytes]]:
    """Beginnings of a file: ``count`` at any byte, ``count`` at ends of lines."""
    draw = random.Random(len(data))
    ends = [place + 1 for place in range(len(data) - 1) if data[place : place + 1] == b"\n"]
    for place in (*draw.sample(range(1, len(data)), count), *draw.sample(ends, min(count, len(ends)))):
        yield "line" if data[place - 1 : place + 1].count(b"\n") else "byte", data[:place]  # or just before its end


def outcome(path: Path, options: str) -> str:
    """What becomes of a file: refused, noted, or loaded without a word."""
    try:
        tokenizer = tokenizers.load(f"file:{path}{options}")
    except InputError as error:
        return "refused" if "\n" not in str(error) and len(str(error)) < 800 else "refused at length"
    return "noted" if any("cut off" in note for note in tokenizer.notes) else "loaded"


def outcomes(name: str, folder: Path, count: int) -> Counter[tuple[str, str]]:
    make, file, options = FORMATS[name]
    data, path = make(), folder / file
    path.write_bytes(data)
    assert outcome(path, options) == "loaded", "whole, it loads without a word"
    found: Counter[tuple[str, str]] = Counter()
    for kind, beginning in cuts(data, count):
        path.write_bytes(beginning)
        found[kind, outcome(path, options)] += 1
    return found


@pytest.mark.parametrize("name", FORMATS)
def test_cut_files_are_noticed_where_the_format_tells(name: str, tmp_path: Path) -> None:
    if name in ("tokenizer.json", "ranks", "tekken"):
        pytest.importorskip("tokenizers" if name == "tokenizer.json" else "tiktoken")
    found = outcomes(name, tmp_path, CUTS)
    assert found.total() > CUTS or name in ("tokenizer.json", "sentencepiece", "model.json")
    if name not in UNNOTICED:
        assert {kind for (_, kind), count in found.items() if count} <= {"refused", "noted"}
    assert not found["byte", "loaded"]


def ranks(count: int) -> bytes:
    tokens = [bytes([byte]) for byte in range(256)] + [b"%d" % number for number in range(1000, 1000 + count)]
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens[:count]))


def test_a_rank_file_with_a_known_name_is_whole_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "cl100k_base.tiktoken"
    path.write_bytes(ranks(300))
    with pytest.raises(InputError, match=r"cl100k_base.*100,256.*300.* cut off"):
        tokenizers.resolve(f"file:{path}")
    with pytest.raises(InputError, match=r"cl100k_base.*100,256"):
        tokenizers.resolve(f"native+file:{path}")
    assert tokenizers.resolve(f"file:{path}?pattern=cl100k_base").path == str(path)


@pytest.mark.parametrize(
    ("last", "says"), [(b"MTAwMA== 29", "b'1000' .*twice"), (b"MTIzNDU= 3", r"rank 3\b.*b'12345'")]
)
def test_a_last_rank_that_lost_its_digits(last: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / "x.tiktoken"
    path.write_bytes(ranks(290) + last)
    with pytest.raises(InputError, match=says):
        tokenizers.load(f"file:{path}?pattern=gpt2")
    path.write_bytes(ranks(290) + base64.b64encode(b"new") + b" 2900")
    with pytest.raises(InputError, match=r"rank 2900\b.*289\b"):
        tokenizers.load(f"file:{path}?pattern=gpt2")
    path.write_bytes(ranks(290).rstrip())
    assert tokenizers.load(f"file:{path}?pattern=gpt2").vocab_size == 290, "only the newline is missing"


@pytest.mark.data
@pytest.mark.parametrize("file", ["tiktoken/cl100k_base.tiktoken", "kimi_k2/kimi_k2.tiktoken"])
def test_published_files_that_were_cut(data: Path, file: str, tmp_path: Path) -> None:
    pytest.importorskip("tiktoken")
    whole = (data / "tokenizers" / file).read_bytes()
    (tmp_path / "own.tiktoken").write_bytes(b"".join(whole.splitlines(keepends=True)[:5000]))
    name = Path(file).stem
    tokenizer = tokenizers.load(f"file:{tmp_path / 'own.tiktoken'}?pattern={name}")
    assert any(re.search(rf"\b{name}\b.*5,000", note) for note in tokenizer.notes)


@pytest.mark.data
def test_what_is_known_of_published_files(data: Path) -> None:
    for path in (data / "tokenizers").glob("*/*.tiktoken"):
        content = path.read_bytes()
        name = encodings.STEMS[path.stem]
        published, beginning = encodings._PUBLISHED[name]
        assert content.count(b"\n") == published
        if beginning is not None:
            assert sha256(content[: encodings._BEGINNING_BYTES]).hexdigest().startswith(beginning)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        for one in FORMATS:
            counts = outcomes(one, Path(place), 100)
            loaded = {kind: counts[kind, "loaded"] for kind in ("byte", "line")}
            tried = {kind: sum(n for (where, _), n in counts.items() if where == kind) for kind in loaded}
            said = "; ".join(f"cut at a {kind}: {loaded[kind]} of {tried[kind]} load" for kind in loaded)
            print(f"{one:28} {said}" + (f" ({UNNOTICED[one]})" if one in UNNOTICED else ""))
