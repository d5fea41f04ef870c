"""Names of rows and corpora that stand before their specifications, and files whose path is written in two ways."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from pyharness import suite
from pyharness.commands import session
from pyharness.suite import Entry
from pyharness.types import InputError


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        ("mine=tiktoken:gpt2", Entry("mine", "tiktoken:gpt2")),
        ("my row=gigatoken+file:/a=b/x?pattern=gpt2", Entry("my row", "gigatoken+file:/a=b/x?pattern=gpt2")),
        ("a=b=c", Entry("a", "b=c")),
        # No names: the "=" belongs to a path, to options, or has nothing on one of its sides.
        ("file:/a=b/x.json", Entry("file:/a=b/x.json", "file:/a=b/x.json")),
        ("raw_bytes?x=1", Entry("raw_bytes?x=1", "raw_bytes?x=1")),
        ("./a=b.json", Entry("./a=b.json", "./a=b.json")),
        ("=raw_bytes", Entry("=raw_bytes", "=raw_bytes")),
        ("name=", Entry("name=", "name=")),
    ],
)
def test_a_name_stands_before_the_specification(text: str, entry: Entry) -> None:
    assert suite.entries([text]) == suite.entries([text], "corpora") == (entry,)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("a,b", "'a,b'.*comma"),
        (" ", "' '.*blank"),
        (" a", "' a'.*white space"),
        ("a\N{NO-BREAK SPACE}", "'a.*'.*white space"),
        ("a\nb", "'a.*b'.*line end"),
        ("a\N{LINE SEPARATOR}b", "'a.*b'.*line end"),
        ("a\x1b[31m", "'a.*'.*control character"),
    ],
)
def test_a_name_fits_in_a_line_and_in_a_list(name: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as raised:
        suite.entries([f"{name}=raw_bytes"])
    assert "\n" not in str(raised.value)
    if "," in name:  # a suite file has lists of its own
        assert suite.entries([{"name": name, "spec": "raw_bytes"}])[0].label == name
    else:
        with pytest.raises(InputError, match=says):
            suite.entries([{"name": name, "spec": "raw_bytes"}])


def test_a_run_is_called_by_its_names(tmp_path: Path) -> None:
    result = session.run(["mine=raw_bytes"], ["text=sample:prose"], ["compression"])
    assert {(one.case.tokenizer, one.case.corpus) for one in result.record.results if one.case.corpus} == {
        ("mine", "text")
    }
    assert result.record.data["suite"]["tokenizers"] == {"mine": "raw_bytes"}


def test_a_name_is_given_once() -> None:
    with pytest.raises(InputError, match=r"the name 'a' is used twice.*NAME=SPEC"):
        suite.entries(["a=raw_bytes", "a=deepseek"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "deep").mkdir()
    (tmp_path / "x.json").write_text("{}", encoding="utf-8")
    (tmp_path / "link.json").symlink_to("x.json")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("other", ["file:./x.json", "file:deep/../x.json", "file:link.json", "file:{folder}/x.json"])
def test_a_file_has_one_spelling(folder: Path, other: str) -> None:
    other = other.format(folder=folder)
    with pytest.raises(InputError, match=rf"'file:x\.json'.*'{re.escape(other)}'.*\bNAME=SPEC"):
        suite.entries(["file:x.json", other])
    assert len(suite.entries(["file:x.json", f"again={other}"])) == 2
    assert len(suite.entries(["file:x.json", {"name": "again", "spec": other}])) == 2


@pytest.mark.parametrize(
    ("written", "spec"),
    [
        ("x.json", "file:x.json"),
        ("./x.json?pattern=gpt2", "file:./x.json?pattern=gpt2"),
        ("native+deep/../x.json", "native+file:deep/../x.json"),
        ("file:x.json", "file:x.json"),
        ("raw_bytes", "raw_bytes"),  # a name, though there is such a file
        ("no.json", "no.json"),
    ],
)
def test_a_path_needs_no_family(folder: Path, written: str, spec: str) -> None:
    (folder / "raw_bytes").touch()
    assert suite.entries([written]) == (Entry(written, spec),)
    (named,) = suite.entries([f"mine={written}"])
    assert (named.label, named.spec) == ("mine", spec)


def test_a_path_of_text_needs_no_family(folder: Path) -> None:
    assert [one.spec for one in suite.entries(["x.json?max_bytes=1kB", "deep"], "corpora")] == [
        "path:x.json?max_bytes=1kB",
        "path:deep",
    ]
    with pytest.raises(InputError, match="are one file"):
        suite.entries(["path:x.json", "x.json"], "corpora")


def test_a_text_has_one_spelling(folder: Path) -> None:
    with pytest.raises(InputError, match="are one file"):
        suite.entries(["path:x.json", f"path:.{os.sep}x.json"], "corpora")


@pytest.mark.parametrize(
    "other", ["file:deep/x.json", "file:./x.json?pattern=gpt2", "gigatoken+file:./x.json", "file:no.json"]
)
def test_other_files_options_and_engines_are_other_rows(folder: Path, other: str) -> None:
    assert len(suite.entries(["file:x.json", other])) == 2
