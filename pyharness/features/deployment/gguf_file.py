"""The metadata of a GGUF file: a bounded reader of keys and values, which stops before the tensors.

The ``gguf`` package also maps all tensors, and takes sizes from the file before it checks them. Here every size is
checked against the bytes that are left, and keys that are not wanted are passed over. Layout: GGUF 2 and 3.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import TypeAlias

from pyharness.system import bounded_file
from pyharness.types import InputError

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MOST_KEYS = 1 << 16
MOST_BYTES = 512 << 20  # of metadata
LONGEST_STRING = 64 << 20
MOST_ITEMS = 1 << 23  # of a list
Value: TypeAlias = "str | int | float | bool | list[str] | list[int] | list[float]"

_STRING, _LIST, _BOOL = 8, 9, 7
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", _BOOL: "B", 10: "Q", 11: "q", 12: "d"}
_SKIPPED_AT_ONCE = 1 << 20


@dataclass(slots=True)
class GgufReader:
    """What is left of an open file of ``size`` bytes."""

    file: BufferedReader
    label: str
    size: int
    order: str = "<"  # of bytes, as struct writes it
    position: int = 0

    def take(self, count: int, what: str) -> bytes:
        """Read bytes.

        Raises:
            InputError: the file does not have as many, or the metadata has too many.
        """
        self._check(count, what)
        data = self.file.read(count)
        if len(data) != count:
            raise InputError(f"{self.label} is cut off: it ends in {what}")
        self.position += count
        return data

    def skip(self, count: int, what: str) -> None:
        """Pass over bytes."""
        self._check(count, what)
        while count:
            count -= len(self.take(min(count, _SKIPPED_AT_ONCE), what))

    def _check(self, count: int, what: str) -> None:
        if count > self.size - self.position:
            raise InputError(
                f"{self.label} is cut off or broken: {what} claims {count:,} bytes, {self.size - self.position:,} "
                "are left"
            )
        if self.position + count > MOST_BYTES:
            raise InputError(f"{self.label}: its metadata has more than {MOST_BYTES:,} bytes, the most that is read")

    def number(self, form: str, what: str) -> int | float:
        """Read one number; ``form`` is its letter in ``struct``."""
        value: int | float
        (value,) = struct.unpack(self.order + form, self.take(struct.calcsize(f"<{form}"), what))
        return value

    def length(self, what: str, most: int) -> int:
        """Read a length; raise ``InputError`` if it is more than ``most``."""
        count = int(self.number("Q", what))
        if count > most:
            raise InputError(f"{self.label}: {what} has {count:,} entries or bytes; at most {most:,} are read")
        return count

    def string(self, what: str) -> str:
        """Read a text; raise ``InputError`` where it is not UTF-8."""
        data = self.take(self.length(what, LONGEST_STRING), what)
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise InputError(f"{self.label}: {what} is not valid UTF-8") from None

    def value(self, kind: int, what: str) -> Value:
        """Read a value of a type."""
        if kind == _STRING:
            return self.string(what)
        if kind == _LIST:
            return self._list(what)
        number = self.number(_form(kind, what, self.label), what)
        return bool(number) if kind == _BOOL else number

    def _list(self, what: str) -> Value:
        kind, count = self._items(what)
        if kind == _STRING:
            return [self.string(f"{what}[{place}]") for place in range(count)]
        form = _form(kind, what, self.label)
        data = self.take(count * struct.calcsize(f"<{form}"), what)
        return list(struct.unpack(f"{self.order}{count}{form}", data))

    def _items(self, what: str) -> tuple[int, int]:
        kind = int(self.number("I", what))
        return kind, self.length(what, MOST_ITEMS)

    def skip_value(self, kind: int, what: str) -> None:
        """Pass over a value of a type."""
        if kind == _STRING:
            self.skip(self.length(what, LONGEST_STRING), what)
        elif kind == _LIST:
            of, count = self._items(what)
            if of != _STRING:
                self.skip(count * struct.calcsize(f"<{_form(of, what, self.label)}"), what)
            else:
                for _ in range(count):
                    self.skip(self.length(what, LONGEST_STRING), what)
        else:
            self.skip(struct.calcsize(f"<{_form(kind, what, self.label)}"), what)


def _form(kind: int, what: str, label: str) -> str:
    if kind not in _NUMBERS:
        raise InputError(
            f"{label}: {what} has the type {kind}, which GGUF {VERSIONS[0]} and {VERSIONS[-1]} do not have"
        )
    return _NUMBERS[kind]


def read_metadata(path: Path, wanted: Callable[[str], bool]) -> Mapping[str, Value]:
    """Read the metadata of a GGUF file: the values of wanted keys. Nothing behind the metadata is read.

    Raises:
        InputError: it is no GGUF file, is cut off in the metadata, or of another version.
    """
    try:
        with bounded_file.opened(path) as file:
            return _read(GgufReader(file, str(path), path.stat().st_size), wanted)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from None


def _read(reader: GgufReader, wanted: Callable[[str], bool]) -> Mapping[str, Value]:
    if reader.size < len(MAGIC) or reader.take(len(MAGIC), "the magic number") != MAGIC:
        raise InputError(f"{reader.label} is not a GGUF file: it does not begin with GGUF")
    version = int(reader.number("I", "the version"))
    if version & 0xFFFF == 0:  # written on a machine with the other order of bytes
        reader.order, version = ">", int.from_bytes(version.to_bytes(4, "big"), "little")
    if version not in VERSIONS:
        raise InputError(
            f"{reader.label} is GGUF {version}; versions {VERSIONS[0]} and {VERSIONS[-1]} are read: convert it again"
        )
    reader.number("Q", "the number of tensors")
    count = reader.length("the list of keys", MOST_KEYS)
    values: dict[str, Value] = {}
    for _ in range(count):
        key = reader.string("a key")
        name = repr(key[:60])
        kind = int(reader.number("I", f"the type of {name}"))
        if not wanted(key):
            reader.skip_value(kind, name)
        elif key in values:
            raise InputError(f"{reader.label} has the key {name} twice")
        else:
            values[key] = reader.value(kind, name)
    return values
