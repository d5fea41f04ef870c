"""One tokenizer under two versions of its library: an environment of its own for each, and the texts that differ.

An environment has the version and what it requires, and is kept in the cache. No pyharness is in it: ``version_child``
runs there alone.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import sys
import tempfile
import time
import venv
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyharness import tokenizers
from pyharness.features.audit.differences import sources
from pyharness.features.audit.differences.comparison import DifferingTexts, TextCount, count_texts
from pyharness.features.audit.differences.definitions import HOME_LIBRARIES
from pyharness.features.audit.differences.sides import Reading, unequal
from pyharness.features.audit.differences.witnesses import general_texts, shrink
from pyharness.system import folders, program
from pyharness.system.child_process import Child, ChildDied
from pyharness.tokenizers.families import tiktoken
from pyharness.tokenizers.source import VocabularyFile
from pyharness.types import InputError, Tokens
from pyharness.vocabularies import rank_file
from pyharness.vocabularies.huggingface.file import read_file

MOST_WITNESSES = 8
INSTALL_SECONDS = ANSWER_SECONDS = 600.0
_CHILD = Path(__file__).with_name("version_child.py")
_NUMBER = r"(\d+!)?\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?(\+[a-z0-9]+([.][a-z0-9]+)*)?"  # PEP 440
_WANTED = re.compile(rf"(?P<library>[A-Za-z0-9][\w.-]*)==(?P<version>{_NUMBER})", re.ASCII)
_PYTHON = f"Python {sys.version_info.major}.{sys.version_info.minor}"


@dataclass(frozen=True, slots=True)
class LibraryVersion:
    """A version of a library, as pip names it."""

    library: str
    version: str

    @classmethod
    def of(cls, text: str) -> LibraryVersion:
        """Read ``tokenizers==0.21.0``.

        Raises:
            InputError: it names no version, or a library whose files are not read here.
        """
        parts = _WANTED.fullmatch(text)
        if parts is None:
            raise InputError(f"{text!r} names no version of a library; write it as tokenizers==0.21.0")
        if parts["library"] not in HOME_LIBRARIES.values():
            comparable = ", ".join(dict.fromkeys(HOME_LIBRARIES.values()))
            raise InputError(f"versions of {parts['library']!r} cannot be compared; those of {comparable} can")
        return cls(parts["library"], parts["version"])

    def __str__(self) -> str:
        return f"{self.library}=={self.version}"

    def python(self) -> Path:
        """Return the interpreter of its environment, which is made unless the cache has it.

        Raises:
            InputError: pip cannot install it, or the cache cannot be written.
        """
        place = folders.cache() / "libraries" / f"{self.library}-{self.version}-{sys.implementation.cache_tag}"
        python = place / "bin" / "python"
        if not python.exists():  # never made, or the Python that it links to is gone
            with folders.caching("libraries", place):
                place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                folders.clear_abandoned(place.parent.glob(".*.part"))
                with folders.make_beside(place) as draft:  # it has its name when it is whole
                    venv.EnvBuilder(symlinks=True, with_pip=False).create(draft)
                    self._install(draft / "bin" / "python")
                    if not python.exists():  # another process may have been quicker
                        shutil.rmtree(place, ignore_errors=True)
                        draft.rename(place)
        return python

    def _install(self, python: Path) -> None:
        if importlib.util.find_spec("pip") is None:
            raise InputError(f"{self} has to be installed, which needs pip: {sys.executable} -m ensurepip")
        command = (sys.executable, "-P", "-m", "pip", "--python", str(python), "--disable-pip-version-check", "install",
                   "--quiet", "--no-input", "--only-binary", ":all:", "--", str(self))  # fmt: skip
        variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        try:
            ran = program.run(command, variables, seconds=INSTALL_SECONDS)
        except program.OutOfTime as ended:
            raise InputError(f"{self} cannot be installed: {ended}") from None
        if ran.status:
            lines = [line.strip() for line in ran.complaints.splitlines() if line.strip()]
            reason = next((line for line in reversed(lines) if "No matching distribution" in line), "".join(lines[-1:]))
            advice = f"name a version that has a wheel for {_PYTHON}"
            raise InputError(f"{self} cannot be installed: {reason.removeprefix('ERROR: ')[:200]}; {advice}")


class VersionedTokenizer:
    """A tokenizer's file in one version of its library, in a process of its own."""

    thread_safe = False

    def __init__(self, spec: str, wanted: LibraryVersion, child: Child) -> None:
        self.spec, self.wanted, self._child = spec, wanted, child

    def ask(self, asked: Mapping[str, Any]) -> Any:
        """Send a request and return the answer; raise ``InputError`` if the library or its process fails."""
        try:
            _, answer = self._child.ask(json.dumps(asked).encode(), lambda _: False, time.monotonic() + ANSWER_SECONDS)
        except ChildDied as death:
            raise InputError(f"{self.spec} in {self.wanted}: the process {death}") from None
        if "error" in answer:
            raise InputError(f"{self.spec} was refused by {self.wanted}: {answer['error']}")
        return answer

    def encode(self, texts: Sequence[str], reading: Reading = "plain", threads: int = 1) -> Tokens:
        """Encode texts; special tokens in them are text."""
        del reading, threads
        return Tokens.from_lists(self.ask({"texts": list(texts)})["ids"])


@contextmanager
def opened(spec: str, wanted: LibraryVersion, threads: int) -> Iterator[VersionedTokenizer]:
    """Load a row's file into a version of its library, until the block ends.

    Raises:
        InputError: the row is not one file of that library, the version cannot be installed, or it refuses the file.
    """
    with tempfile.TemporaryDirectory(prefix="pyharness-") as folder, sources.readable(spec) as place:
        row = tokenizers.obtain(place)
        file = row.load
        if not isinstance(file, VocabularyFile):
            raise InputError(f"{spec!r} is no file that {wanted.library} itself reads: name a file, without an engine")
        if (own := HOME_LIBRARIES.get(file.kind, row.library)) != wanted.library:
            raise InputError(f"{spec!r} is a file of {own}, not of {wanted.library}: name two versions of {own}")
        asked = {"library": wanted.library, "threads": threads, **_written(file, Path(folder))}
        child = Child([str(_CHILD)], program=(str(wanted.python()), "-I"), asked=True,
                      environment={"RAYON_NUM_THREADS": str(threads), "TOKENIZERS_PARALLELISM": "true"})  # fmt: skip
        try:
            loaded = VersionedTokenizer(spec, wanted, child)
            loaded.ask(asked)
            yield loaded
        finally:
            child.close()


def _written(file: VocabularyFile, folder: Path) -> dict[str, Any]:
    """Write a file for the child, and return what it has to know of it."""
    path, data = folder / "file", file.fetch()
    about: dict[str, Any] = {"path": str(path)}
    if file.kind == "huggingface":
        about["dropout"] = bool(read_file(data, file.label).model.get("dropout"))
    elif file.kind != "sentencepiece":
        ranks = tiktoken.read(file)
        data, about["pattern"] = rank_file.write_ranks(ranks.ranks), ranks.pattern
    path.write_bytes(data)
    return about


# ---------------------------------------------------------------------------------------------- the comparison


@dataclass(frozen=True, slots=True)
class VersionComparison:
    """Two versions of a library on a tokenizer: counts of each text, and the shortest texts with other ids."""

    specs: tuple[str, str]
    versions: tuple[LibraryVersion, LibraryVersion]
    texts: Sequence[TextCount]
    witnesses: Sequence[tuple[str, Sequence[int], Sequence[int]]]  # a text, and both sides' ids
    tried: int  # texts made to differ

    @property
    def equal(self) -> bool:
        """Whether no text was found on which ids differ."""
        return not self.witnesses and not any(count.differing for count in self.texts)


def compare_versions(
    specs: tuple[str, str], versions: tuple[LibraryVersion, LibraryVersion], corpora: Sequence[str], threads: int = 1
) -> VersionComparison:
    """Encode texts, and short ones over all classes of characters, in both versions.

    Raises:
        InputError: a version cannot be installed, or refuses the file; or a corpus cannot be read.
    """
    with opened(specs[0], versions[0], threads) as first, opened(specs[1], versions[1], threads) as second:
        kept = DifferingTexts()
        counts = [count for name in corpora for count in count_texts(first, second, name, threads, kept)]
        made = [*general_texts()]
        differing = [text for text, differs in zip(made, unequal(first, second, made), strict=True) if differs]
        shortest = _shortest(first, second, [*differing, *kept.documents])
        ids = [tuple(side.encode([text]).ids.tolist() for side in (first, second)) for text in shortest]
        witnesses = [(text, *both) for text, both in zip(shortest, ids, strict=True)]
        return VersionComparison(specs, versions, counts, witnesses, len(made))


def _shortest(first: VersionedTokenizer, second: VersionedTokenizer, texts: Sequence[str]) -> list[str]:
    """Shrink texts, the shortest first; a text that holds an earlier result shows nothing new."""
    witnesses: dict[str, None] = {}
    for text in sorted(texts, key=len):
        if len(witnesses) < MOST_WITNESSES and not any(one in text for one in witnesses):
            witnesses[shrink(text, lambda some: unequal(first, second, some))] = None
    return list(witnesses)
