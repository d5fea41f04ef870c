"""What was measured: compressed JSON, the setting and then a line for each model. Tables are computed from it alone."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pyharness.system import atomic_file
from pyharness.types import InputError

BASE = "base"  # the method that leaves the tokenizer as it is
BEFORE, SURGERY, TRAINED = "before", "surgery", "trained"


class Key(NamedTuple):
    """A model that is scored."""

    seed: int
    method: str
    stage: str


def wanted(seeds: Sequence[int], methods: Sequence[str]) -> list[Key]:
    """Everything that is to be measured."""
    stages = [(BASE, BEFORE), *((one, SURGERY) for one in methods), *((one, TRAINED) for one in (BASE, *methods))]
    return [Key(seed, *stage) for seed in seeds for stage in stages]


@dataclass
class Results:
    """A file of results; what is added is on disk when the call returns."""

    path: Path
    setting: Mapping[str, Any] = field(default_factory=dict)
    lines: dict[Key, Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Results:
        """Read a file, if there is one.

        Raises:
            InputError: it is of something else.
        """
        if not path.is_file():
            return cls(path)
        try:
            setting, *lines = (json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines())
            by_key = {Key(line["seed"], line["method"], line["stage"]): line for line in lines}
            return cls(path, setting["setting"], by_key)
        except (gzip.BadGzipFile, EOFError, zlib.error, ValueError, KeyError, TypeError):
            raise InputError(f"{path} holds no results of this study; name another file with --results") from None

    def settle(self, asked: Mapping[str, Any]) -> None:
        """Take a setting; that of a file must be what is asked for.

        Raises:
            InputError: it is another one.
        """
        for name, value in asked.items() if self.setting else ():
            if self.setting.get(name) != value:
                raise InputError(
                    f"{self.path} was measured with {name} = {self.setting.get(name)!r}, and now it is {value!r}; "
                    "name another file with --results"
                )
        self.setting = asked

    def add(self, line: Mapping[str, Any]) -> None:
        """Keep what was measured of a model."""
        self.lines[Key(line["seed"], line["method"], line["stage"])] = line
        content = ({"setting": self.setting}, *self.lines.values())
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lines = "".join(json.dumps(one) + "\n" for one in content)
        atomic_file.write(self.path, gzip.compress(lines.encode(), mtime=0), overwrite=True)
