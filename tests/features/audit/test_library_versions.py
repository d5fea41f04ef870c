"""``pyharness diff --libraries``: versions of a made-up library, installed from wheels that are written here."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from cases.command_line import call, refused
from pyharness.features.audit.differences import versions
from pyharness.features.audit.differences.versions import LibraryVersion
from pyharness.types import InputError, Tokens
from tokenizer_files import rank_data, write

pytestmark = pytest.mark.process  # pip installs

# A library that reads ranks of bytes alone. What a version changes is put in its place.
SOURCE = """
import os


class Encoding:
    def __init__(self, name, pat_str, mergeable_ranks, special_tokens):
        self.ranks = mergeable_ranks
        print("a library that prints", pat_str)

    def encode_ordinary_batch(self, texts, num_threads):
        return [self.encode(text) for text in texts]

    def encode(self, text):
        CHANGED
        return [self.ranks[bytes([byte])] for byte in text.encode()]
"""
CHANGES = {
    "1.0": "pass",
    "1.1": "text = text.replace('\\u00e9', 'e')",
    "1.2": "if 'é' in text: raise ValueError('no accents')",
    "1.3": "if 'é' in text: os._exit(7)",
}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    for version, change in CHANGES.items():
        about = f"tiktoken-{version}.dist-info"
        files = {
            "tiktoken/__init__.py": SOURCE.replace("CHANGED", change),
            f"{about}/METADATA": f"Metadata-Version: 2.1\nName: tiktoken\nVersion: {version}\n",
            f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        files[f"{about}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{about}/RECORD"))
        with zipfile.ZipFile(folder / f"tiktoken-{version}-py3-none-any.whl", "w") as wheel:
            for name, content in files.items():
                wheel.writestr(name, content)
    return folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _offline(wheels: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pip")
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PYHARNESS_CACHE": str(cache),
                        "PIP_CONFIG_FILE": os.devnull}.items():  # fmt: skip
        monkeypatch.setenv(name, value)


@pytest.fixture
def row(tmp_path: Path) -> str:
    return write(tmp_path, "a.tiktoken", rank_data(())) + "?pattern=cl100k"


def diff(row: str, old: str, new: str, tmp_path: Path, *more: str) -> tuple[int, str]:
    (tmp_path / "a.txt").write_text("caf\u00e9 and na\u00efve caf\u00e9s\n\nplain\n", encoding="utf-8")
    done = call(
        "diff", row, "--libraries", f"tiktoken=={old}", f"tiktoken=={new}", "-c", f"path:{tmp_path}/a.txt", *more
    )
    return done.returncode, done.stdout + done.stderr


def test_a_changed_version_is_shown_with_the_shortest_text(row: str, tmp_path: Path) -> None:
    status, said = diff(row, "1.0", "1.1", tmp_path, "--format", "json")
    answer = json.loads(said)
    assert (status, answer["equal"]) == (1, False)
    assert [(one["library"], one["version"]) for one in answer["sides"]] == [("tiktoken", "1.0"), ("tiktoken", "1.1")]
    assert answer["witnesses"] == [{"text": "\u00e9", "first": [*"\u00e9".encode()], "second": [ord("e")]}]
    (text,) = answer["texts"]
    assert text["differing"] == sum("\u00e9" in one for one in (tmp_path / "a.txt").read_text("utf-8").split("\n\n"))
    assert text["tokens"][0] - text["tokens"][1] == 2
    status, said = diff(row, "1.0", "1.1", tmp_path)
    assert (status, "ids differ" in said, "tiktoken==1.1" in said, "'\u00e9'" in said) == (1, True, True, True)


def test_one_version_is_equal_to_itself_and_is_installed_once(
    row: str, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert diff(row, "1.0", "1.0", tmp_path)[0] == 0
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))  # where no wheel is
    status, said = diff(row, "1.0", "1.0", tmp_path)
    assert (status, "equal" in said) == (0, True)
    assert [one.name for one in (cache / "libraries").iterdir() if one.name.startswith(".")] == []


def test_an_environment_whose_python_is_gone_is_made_again_and_leftovers_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path))
    wanted = LibraryVersion.of("tiktoken==1.0")
    python = wanted.python()
    folder = python.parents[1]
    python.unlink()
    python.symlink_to(tmp_path / "gone")
    (folder.parent / ".tiktoken-1.1-x.0123abcd.part" / "bin").mkdir(parents=True)  # of a process that was killed
    assert wanted.python() == python
    assert python.exists()
    assert [one.name for one in folder.parent.iterdir()] == [folder.name]


@pytest.mark.parametrize(("version", "said"), [("1.2", "no accents"), ("1.3", "status 7")])
def test_a_version_that_refuses_a_text_or_dies_is_one_line(row: str, version: str, said: str, tmp_path: Path) -> None:
    status, line = diff(row, "1.0", version, tmp_path)
    assert (status, line.count("\n"), said in line, f"tiktoken=={version}" in line) == (2, 1, True, True)


def test_bad_input_is_one_line(row: str, tmp_path: Path) -> None:
    one = "tiktoken==1.0"
    for given, named in (
        ((row, "--libraries", one, "tiktoken==9.9"), "tiktoken==9.9"),
        ((row, "--libraries", one, "tiktoken>=1"), "tiktoken>=1"),
        ((row, "--libraries", one, "numpy==2.0"), "tokenizers, sentencepiece, tiktoken can"),
        ((row, "--libraries", one, "tokenizers==0.21.0"), "tokenizers"),
        (("raw_bytes", "--libraries", one, one), "raw_bytes"),
        (("native+" + row, "--libraries", one, one), "native+"),
        ((row, "--libraries", one, one, "--map", str(tmp_path / "m.json")), "--map"),
        ((row,), "--libraries"),
    ):
        line = refused("diff", *given)
        assert (line.count("\n"), named in line) == (1, True), line


class UpperCase:
    """A version of a library that reads text in upper case."""

    def encode(self, texts: list[str], reading: str = "plain", threads: int = 1) -> Tokens:
        return Tokens.from_lists([[ord(letter) for letter in self.read(text)] for text in texts])

    def read(self, text: str) -> str:
        return text.upper()


class GivenCase(UpperCase):
    """A version that reads it as it is."""

    def read(self, text: str) -> str:
        return text


def test_texts_that_hold_a_shorter_result_are_not_shown() -> None:
    found = versions._shortest(UpperCase(), GivenCase(), ["xAb", "b", "zb", "Ax"])  # type: ignore[arg-type]
    assert found == ["b", "x"]


@pytest.mark.parametrize("text", ["tokenizers", "tokenizers==", "==1", "tokenizers==1 --index-url x", "-e==1", "a==b",
                                  "tokenizers==\u0663", "tokenizers==1!", "tokenizers==1..2", " tokenizers==1",
                                  "tokenizers==1; rm -rf x", "tokenizers @ file:///x", "-e ."])  # fmt: skip
def test_only_a_name_and_a_version_are_read(text: str) -> None:
    with pytest.raises(InputError):
        LibraryVersion.of(text)
    assert str(LibraryVersion.of("tokenizers==0.21.0rc1")) == "tokenizers==0.21.0rc1"
