"""Archives of states that are damaged, hostile or another run's."""

from __future__ import annotations

import json
import os
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cases.state_archives import written
from pyharness.store import states
from pyharness.store.states import NoState, StateReader
from pyharness.system import bounded_file


def header(shape: str, kind: str = "<i8") -> bytes:
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()


def archive(path: Path, array: bytes = b"", index: Any = None) -> Path:
    """A file of states of one case with one array, of these bytes."""
    good = {"format": states.FORMAT, "version": states.VERSION, "cases": {"case": {"x": "0" * 32}}}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr(f"arrays/{'0' * 32}.npy", array)
        file.writestr("index.json", json.dumps(good if index is None else index))
    return path


def test_such_an_archive_is_read(tmp_path: Path) -> None:
    path = archive(tmp_path / "s", header("(2,)") + bytes(16))
    with StateReader(path) as reader:
        assert reader.of("case")["x"].tolist() == [0, 0]
        with pytest.raises(NoState, match="no case 'other'"):
            reader.of("other")


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (b"", "damaged"),
        (b"\x93NUMPY\x01\x00", "damaged"),
        (header("(2,)") + bytes(15), "'x' is cut"),
        (header("(2,)") + bytes(17), "'x' is cut"),
        (header("(1 << 60,)") + bytes(8), "damaged"),
        (header(f"({1 << 60},)") + bytes(8), "'x'.*integers"),
        (header("(-1, -1)") + bytes(8), "damaged"),
        (header("(2,)", "<f8") + bytes(16), "'x'.*integers"),
        (header("(2,)", "|O") + bytes(16), "damaged|'x'.*integers"),
        (header("(2,)", "S8") + bytes(16), "'x'.*integers"),
        (b"\x93NUMPY\x03\x00" + header("(2,)")[8:] + bytes(16), "another version"),
    ],
)
def test_a_damaged_array_is_not_read(tmp_path: Path, array: bytes, message: str) -> None:
    with StateReader(archive(tmp_path / "s", array)) as reader, pytest.raises(NoState, match=message):
        reader.of("case")


@pytest.mark.parametrize(
    "index",
    [
        [],
        {"format": "other"},
        {"format": states.FORMAT, "version": 2, "cases": {}},
        {"format": states.FORMAT, "version": 1, "cases": []},
        {"format": states.FORMAT, "version": 1, "cases": {"a": {"x": 1}}},
        {"format": states.FORMAT, "version": 1, "cases": {"a": {"x": "../" * 11}}},
    ],
)
def test_a_damaged_index_is_not_read(tmp_path: Path, index: Any) -> None:
    with pytest.raises(NoState, match="is damaged"):
        StateReader(archive(tmp_path / "s", index=index))


def test_every_cut_and_changed_byte_is_noticed_or_harmless(tmp_path: Path) -> None:
    """Without the record's digest, even: what is read is what was written, or nothing."""
    state: dict[str, Any] = {"x": np.arange(300, dtype=np.int64), "y": np.arange(7, dtype=np.uint8)}
    whole = written(tmp_path / "s", {"case": state}).read_bytes()
    generator, path = random.Random(4), tmp_path / "damaged"
    for _ in range(300):
        data = bytearray(whole)
        if generator.random() < 0.3:
            del data[generator.randrange(len(data)) :]
        else:
            data[generator.randrange(len(data))] ^= 1 << generator.randrange(8)
        path.write_bytes(data)
        try:
            with StateReader(path) as reader:
                if "case" not in reader:
                    continue
                arrays = reader.of("case")
        except NoState:
            continue
        for name in arrays.keys() & state.keys():
            assert np.array_equal(arrays[name], state[name])


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(states, "LARGEST_STATE", 1 << 20)
    path = archive(tmp_path / "s", header(f"({1 << 20},)") + bytes(8 << 20))
    assert path.stat().st_size < 1 << 16
    with StateReader(path) as reader, pytest.raises(NoState, match="more than 1,048,576 bytes"):
        reader.of("case")


@pytest.mark.parametrize(
    ("kind", "message"), [("missing", "No such file"), ("folder", "Is a directory"), ("fifo", "named pipe")]
)
def test_what_is_no_file_is_no_state(tmp_path: Path, kind: str, message: str) -> None:
    path = tmp_path / "s"
    if kind == "folder":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    with pytest.raises(NoState, match=f"cannot be read: .*{message}"):
        StateReader(path)


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("place", ["index", "array"])
def test_members_are_stored_or_deflated(tmp_path: Path, packing: int, place: str) -> None:
    """``zipfile`` unpacks nothing else within bounds: 4 kB of bzip2 become GB, whatever size is asked for."""
    index = {"format": states.FORMAT, "version": states.VERSION, "cases": {"case": {"x": "0" * 32}}}
    methods = {"index": (packing, zipfile.ZIP_STORED), "array": (zipfile.ZIP_STORED, packing)}[place]
    with zipfile.ZipFile(tmp_path / "s", "w") as file:
        file.writestr("index.json", json.dumps(index), methods[0])
        file.writestr(f"arrays/{'0' * 32}.npy", header("(2,)") + bytes(16), methods[1])
    with pytest.raises(NoState, match=f"method {packing}"), StateReader(tmp_path / "s") as reader:
        reader.of("case")


def test_an_array_that_ends_early_is_not_filled_up(tmp_path: Path) -> None:
    """Its directory says that it has all bytes, and the sum of those that are there is right."""
    content = header("(2,)") + bytes(16)
    path = archive(tmp_path / "s", content[:-8])
    data = path.read_bytes()
    at = data.index(b"PK\x01\x02")
    path.write_bytes(data[: at + 24] + len(content).to_bytes(4, "little") + data[at + 28 :])
    with StateReader(path) as reader, pytest.raises(NoState, match="damaged"):
        reader.of("case")


@pytest.mark.parametrize("index", [b"[" * 100_000, b"[]," * 2_000_000, b'{"format": NaN}'])
def test_an_index_is_read_within_bounds(tmp_path: Path, index: bytes) -> None:
    with zipfile.ZipFile(tmp_path / "s", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("index.json", index)
    with pytest.raises(NoState, match=r"nested too deeply|values; at most|finite number"):
        StateReader(tmp_path / "s")


def test_a_file_must_be_the_one_that_the_record_names(tmp_path: Path) -> None:
    path = written(tmp_path / "s", {"case": {"x": np.arange(9)}})
    size, digest = path.stat().st_size, bounded_file.digest(path)
    about = {"bytes": size, "sha256": digest}
    with StateReader(path, about) as reader:
        assert "case" in reader
    with pytest.raises(NoState, match=rf"\b{size:,} bytes\b.* 3\b"):
        StateReader(path, about | {"bytes": 3})
    with pytest.raises(NoState, match=rf"SHA-256 {digest}.* 0000"):
        StateReader(path, about | {"sha256": "0" * 64})
