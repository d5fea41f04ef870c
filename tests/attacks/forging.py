"""Makes hostile files of good ones: ``forging.py SOURCE TARGET CHANGE``.

A change is one of ``CHANGES``, or ``PLACE=VALUE`` for JSON: the value at a place (keys and indices with dots; ``*`` is
the first of any name) is replaced, or added. A value is JSON as it stands, valid or not, or one of ``VALUES``; none
removes what is there.
"""

from __future__ import annotations

import io
import json
import lzma
import struct
import sys
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

VALUES: Mapping[str, Callable[[], str]] = {
    "DEEP": lambda: "[" * 100_000 + "]" * 100_000,
    "NESTED": lambda: '{"a":' * 60 + "1" + "}" * 60,
    "LONG": lambda: f'"{"x" * 50_000_000}"',
    "MANY": lambda: "[" + "1," * 2_800_000 + "1]",
    "DIGITS": lambda: "9" * 1_000_000,
    "CONTROLS": lambda: json.dumps("\x1b[31m\r\n\u202e" * 50),
}
_MARK = "value-of-the-forger"


def main() -> None:
    """Write the target."""
    source, target, change = sys.argv[1:]
    content = Path(source).read_bytes()
    made = CHANGES[change](content) if change in CHANGES else _edited(content, *change.split("=", 1))
    Path(target).write_bytes(made)


def _edited(content: bytes, place: str, value: str) -> bytes:
    data: Any = json.loads(content)
    *path, last = place.split(".")
    holder = data
    for part in path:
        holder = holder[_key(holder, part)]
    if value:
        holder[_key(holder, last)] = _MARK
    else:
        del holder[_key(holder, last)]
    text = json.dumps(data)
    return text.replace(f'"{_MARK}"', VALUES[value]() if value in VALUES else value).encode()


def _key(holder: Any, part: str) -> Any:
    if part == "*":
        return next(iter(holder)) if isinstance(holder, dict) else 0
    return int(part) if isinstance(holder, list) else part


def _archive(index: Any, *arrays: bytes, packing: int = zipfile.ZIP_DEFLATED, name: str = "index.json") -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing, compresslevel=9) as archive:
        archive.writestr(name, index if isinstance(index, bytes) else json.dumps(index))
        for number, array in enumerate(arrays):
            archive.writestr(f"arrays/{number:032x}.npy", array)
    return file.getvalue()


def _zeros(size: int) -> bytes:
    text = f"{{'descr': '<i8', 'fortran_order': False, 'shape': ({size},), }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode() + bytes(8 * size)


def _with_state(content: bytes) -> bytes:
    """An archive with the cases of another, each of them one array."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        cases = json.loads(archive.read("index.json"))["cases"]
    return _archive(_index({case: dict.fromkeys(names, "0" * 32) for case, names in cases.items()}), _zeros(1 << 24))


def _index(cases: Any) -> dict[str, Any]:
    return {"format": "pyharness-state", "version": 1, "cases": cases}


def _directory(content: bytes, at: int, value: bytes) -> bytes:
    place = content.index(b"PK\x01\x02") + at
    return content[:place] + value + content[place + len(value) :]


def _repacked(content: bytes, packing: int) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(file, "w", packing) as after:
        for name in before.namelist():
            after.writestr(name, before.read(name))
    return file.getvalue()


def _bomb(packing: int) -> bytes:
    """A few kB that are 4 GB."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as archive, archive.open("index.json", "w", force_zip64=True) as member:
        for _ in range(1 << 8):
            member.write(bytes(1 << 20))
    return file.getvalue()


def _xz_of_a_giant_window(content: bytes) -> bytes:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": (1 << 30) + (1 << 29)}]
    return lzma.compress(content, filters=filters)


CHANGES: Mapping[str, Callable[[bytes], bytes]] = {
    "as it is": bytes,
    "empty": lambda _: b"",
    "cut": lambda content: content[: len(content) // 2],
    "cut by one": lambda content: content[:-2],
    "goes on": lambda content: content + content,
    "binary": lambda _: bytes(range(256)) * 40,
    "zeros": lambda content: bytes(len(content)),
    "utf-16": lambda content: content.decode(errors="replace").encode("utf-16"),
    "with a mark": lambda content: b"\xef\xbb\xbf" + content,
    "latin": lambda content: content[:-3] + b"\xe9\xff\xfe",
    "deep": lambda _: b"[" * 1_000_000,
    "deep objects": lambda _: b'{"a":' * 200_000,
    "long line": lambda content: content + b'{"a": "' + b"x" * 600_000_000 + b'"}\n',
    "long lines": lambda content: content + (b'{"result": "' + b"x" * 30_000_000 + b'"}\n') * 20,
    "many values": lambda content: content + b'{"result": [' + b"{}," * 2_900_000 + b"1]}\n",
    "many values, often": lambda content: content + (b'{"result": [' + b"[]," * 990_000 + b"1]}\n") * 9,
    "numbers": lambda content: content + b"1\n2\n" * 9,
    "not finite": lambda content: content + b'{"result": NaN}\n',
    "of no object": lambda content: content + b'{"result": 5}\n{"result": {"key": []}}\n{"round": "x", "result": {}}\n',
    "a case of no kind": lambda content: content + b'{"result": {"key": "x", "status": "ok"}, "state": 5}\n',
    "surrogates": lambda content: content + b'{"result": {"key": "\\ud800"}}\n',
    "xz": lzma.compress,
    "xz, cut": lambda content: lzma.compress(content)[:-9],
    "xz of xz": lambda content: lzma.compress(lzma.compress(content)),
    "xz of a giant window": _xz_of_a_giant_window,
    "xz of 4 GB": lambda _: lzma.compress(bytes(1 << 26), preset=0) * 64,
    "xz of 200 MB": lambda _: lzma.compress(bytes(200_000_000), preset=0),
    "xz of spaces": lambda content: lzma.compress(content + b" " * 60_000_000, preset=0),
    "bzip2 members": lambda content: _repacked(content, zipfile.ZIP_BZIP2),
    "lzma members": lambda content: _repacked(content, zipfile.ZIP_LZMA),
    "stored members": lambda content: _repacked(content, zipfile.ZIP_STORED),
    "bzip2 bomb": lambda _: _bomb(zipfile.ZIP_BZIP2),
    "deflate bomb": lambda _: _bomb(zipfile.ZIP_DEFLATED),
    "deep index": lambda _: _archive(b"[" * 1_000_000),
    "wide index": lambda _: _archive(b"[" + b"[]," * 9_000_000 + b"1]"),
    "index of nothing": lambda _: _archive(_index([])),
    "index of no names": lambda _: _archive(_index({"a": {"x": 5}})),
    "index of no case": lambda _: _archive(_index({})),
    "no index": lambda _: _archive(b"{}", name="other.json"),
    "of a newer version": lambda _: _archive(_index({}) | {"version": 9}),
    "large arrays": _with_state,
    "packed by a method of none": lambda content: _directory(content, 10, b"\x63\x00"),
    "encrypted": lambda content: _directory(content, 8, b"\x01\x00"),
    "another sum": lambda content: _directory(content, 16, b"\0\0\0\1"),
    "claims of a size": lambda content: _directory(content, 24, struct.pack("<I", (1 << 32) - 2)),
    "directory elsewhere": lambda content: content[:-6] + struct.pack("<I", len(content) // 3) + content[-2:],
    "giant directory": lambda content: content[:-10] + struct.pack("<I", (1 << 31) - 1) + content[-6:],
    "many members": lambda _: _many_members(),
}


def _many_members() -> bytes:
    """A directory of a million members: 46 bytes each, which become hundreds as objects."""
    entry = b"PK\x01\x02" + bytes(42)
    count = 1_000_000
    end = struct.pack("<4sHHHHIIH", b"PK\x05\x06", 0, 0, 0xFFFF, 0xFFFF, len(entry) * count, 0, 0)
    return entry * count + end


if __name__ == "__main__":
    main()
