"""``pyharness bytes``: what it writes can be read back, and a wrong table is named id by id."""

from __future__ import annotations

import io
import json
import struct
from pathlib import Path

import numpy as np
import pytest

from cases.command_line import call, refused
from pyharness.features.audit import length_tables
from pyharness.features.audit.byte_lengths import load, naive_lengths
from pyharness.types import InputError
from tokenizer_files import byte_level, rank_data, sentencepiece_data, write


@pytest.fixture
def spec(tmp_path: Path) -> str:
    return write(tmp_path, "small.tiktoken", rank_data((b"he", b" w", b"\xe4\xb8", b"=1+1"))) + "?pattern=gpt2"


@pytest.mark.parametrize("name", ["out.npy", "out.csv", "out.json"])
def test_what_is_written_is_read_back_and_has_no_fault(spec: str, tmp_path: Path, name: str) -> None:
    out = tmp_path / name
    assert call("bytes", spec, "-o", str(out)).returncode == 0
    lengths, _ = load(spec)
    assert length_tables.read(out).tolist() == lengths.lengths.tolist()
    done = call("bytes", spec, "--check", str(out))
    assert done.returncode == 0, done.stdout
    assert refused("bytes", spec, "-o", str(out))
    assert call("bytes", spec, "-o", str(out), "--force").returncode == 0


def test_text_and_csv_have_a_line_for_each_id(spec: str) -> None:
    text, table = call("bytes", spec, "--format", "text").stdout, call("bytes", spec, "--format", "csv").stdout
    assert len(text.splitlines()) == len(table.splitlines()) == 261
    assert "'=1+1" in table  # a spreadsheet would run it
    assert "\\xe4\\xb8" in text


def test_the_summary_names_naive_lengths_and_the_claim(spec: str) -> None:
    facts = json.loads(call("bytes", spec, "--format", "json", "-c", "sample:prose").stdout)
    assert facts["adds_up"] == "every text"
    assert facts["losses"] == []
    assert facts["text_bytes"] == facts["total"] < facts["naive_total"]
    assert facts["naive_wrong_ids"] == 129  # 128 single bytes above 0x7F, and the part of a character
    assert len(facts["bytes"]) == facts["ids"] == 260
    assert "129" in call("bytes", spec, "-c", "sample:prose").stdout


def test_lengths_at_the_start_lack_the_dummy_space(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    spec = write(tmp_path, "m.model", sentencepiece_data(2, byte_fallback=True))
    for name, options in (("middle.npy", ()), ("start.npy", ("--at-start",)), ("zero.npy", ("--special", "zero"))):
        assert call("bytes", spec, "-o", str(tmp_path / name), *options).returncode == 0
    middle, start, zero = (np.load(tmp_path / f"{name}.npy") for name in ("middle", "start", "zero"))
    lengths, _ = load(spec)
    assert (middle - start).tolist() == lengths.leading.astype(int).tolist()
    assert (middle - zero)[:3].tolist() == [5, 3, 4]
    assert middle.dtype == np.int32
    assert call("bytes", spec, "--check", str(tmp_path / "zero.npy")).returncode == 0


def test_naive_and_other_usual_mistakes_are_named(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    spec = write(tmp_path, "m.model", sentencepiece_data(2, byte_fallback=True))
    lengths, tokenizer = load(spec)
    right, strings = lengths.lengths, lengths.vocabulary.strings()
    word, byte, letter = strings.index(b" w"), strings.index(b"\xe4"), strings.index(b"hell")
    path = tmp_path / "table.npy"

    def causes(table: np.ndarray) -> dict[int, str]:
        np.save(path, table)
        checked = length_tables.audit(
            length_tables.read(path), "t", lengths, lambda: naive_lengths(tokenizer, lengths.vocabulary)
        )
        return {one.id: one.cause for one in checked.wrong}

    assert causes(right) == {}
    naive = causes(naive_lengths(tokenizer, lengths.vocabulary))
    assert naive[word] == length_tables.LOST_SPACE
    assert naive[byte] == length_tables.REPLACED
    assert letter not in naive
    mistakes = (
        (word, 4, length_tables.SPACE_SIGN),
        (letter, 9, length_tables.OTHER),
        (byte, 6, length_tables.PIECE_NAME),
        (letter, -1, length_tables.NO_LENGTH),
    )
    for token, value, cause in mistakes:
        table = right.copy()
        table[token] = value
        assert causes(table) == {token: cause}


def test_wrong_lengths_end_with_status_1_and_all_are_in_json(spec: str, tmp_path: Path) -> None:
    lengths, _ = load(spec)
    table = lengths.lengths.tolist()
    table[7], table[258] = 5, None
    path = tmp_path / "table.json"
    path.write_text(json.dumps(table), encoding="utf-8")
    done = call("bytes", spec, "--check", str(path), "--format", "json")
    assert done.returncode == 1
    wrong = json.loads(done.stdout)["wrong_ids"]
    assert [(one["id"], one["bytes"], one["stated"]) for one in wrong] == [(7, 1, 5), (258, 2, None)]
    assert "'\\xe4\\xb8'" in call("bytes", spec, "--check", str(path)).stdout


def test_ids_beyond_and_short_tables_are_counted(spec: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,bytes\n0,1\n1,1\n900,3\n", encoding="utf-8")
    lengths, tokenizer = load(spec)
    checked = length_tables.audit(
        length_tables.read(path), "t", lengths, lambda: naive_lengths(tokenizer, lengths.vocabulary)
    )
    assert (len(checked.wrong), checked.beyond) == (258, 1)


def test_a_zero_of_a_special_id_is_a_convention_and_of_another_a_fault(tmp_path: Path) -> None:
    lengths, tokenizer = load(write(tmp_path, "tokenizer.json", byte_level()))
    table = lengths.without_special().copy()
    table[10] = 0
    checked = length_tables.audit(table, "t", lengths, lambda: naive_lengths(tokenizer, lengths.vocabulary))
    assert [one.id for one in checked.wrong] == [10]
    assert checked.zeros == 1


def head_of(shape: str, dtype: str = "<i4") -> bytes:
    head = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head


def pickled() -> bytes:
    file = io.BytesIO()
    np.save(file, np.array([{}], object), allow_pickle=True)
    return file.getvalue()


BROKEN = {
    "empty": b"",
    "text": b"no table\nof lengths\n",
    "an array of more than memory": head_of("(999999999999,)") + b"\0" * 8,
    "an array of pickles": pickled(),
    "an array of fractions": head_of("(1,)", "<f8") + b"\0" * 8,
    "a matrix": head_of("(1, 2)") + b"\0" * 8,
    "an array that is cut off": head_of("(3,)") + b"\0" * 8,
    "a header of code": head_of("__import__('os').getpid()"),
    "a header of a sum": head_of("(1+2,)"),
    "a header with an open bracket": head_of("((3,)"),
    "a header without end": b"\x93NUMPY\x01\x00\xff\xff{",
    "JSON that is cut off": b"[1, 2",
    "JSON of words": b'["a", 2]',
    "JSON of fractions": b"[1.5]",
    "JSON of truth": b"[true]",
    "nested JSON": b"[" * 100_000,
    "negative ids": b'{"-1": 3}',
    "a huge id": b"id,bytes\n99999999,1\n",
    "an id twice": b"id,bytes\n1,1\n1,1\n",
    "a key twice": b'{"0": 1, "0": 7}',
    "a negative length": b"id,bytes\n1,-7\n",
    "no number": b"id,bytes\n1,x\n",
    "not UTF-8": b"\xff\xfe\x00",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_tables_of_strangers_are_refused_by_name(kind: str, tmp_path: Path, spec: str) -> None:
    path = tmp_path / "theirs"
    path.write_bytes(BROKEN[kind])
    with pytest.raises(InputError, match="theirs"):
        length_tables.read(path)
    said = refused("bytes", spec, "--check", str(path))
    assert "theirs" in said
    assert "object at 0x" not in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("arguments", [("--format", "npy"), ("--at-start",), ("--check", "absent.npy"),
                                       ("--check", "x", "-o", "y")])  # fmt: skip
def test_what_cannot_be_asked_is_one_line(spec: str, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert refused("bytes", spec, *arguments, cwd=tmp_path).count("\n") == 1


def test_an_unknown_row_is_one_line() -> None:
    assert "o200k_base" in refused("bytes", "o200k_bass")
