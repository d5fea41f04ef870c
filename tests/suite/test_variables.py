"""Variables of a suite: one text in many specifications, and what stands in for data that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyharness import suite
from pyharness.types import InputError

SUITE = """
tokenizers = [{ name = "t", spec = "trained:bpe?vocab_size=300&corpus=${TEXT}" }, "raw_bytes"]
corpora = [{ name = "text", spec = "${TEXT}" }]
benchmarks = ["compression"]
[variables]
TEXT = ["${SOME_CORPUS}", "path:${SOME_FOLDER}/a&b.txt", "sample:prose"]
"""


def read(tmp_path: Path, text: str = SUITE) -> suite.Suite:
    path = tmp_path / "suite.toml"
    path.write_text(text, encoding="utf-8")
    return suite.read(path)


@pytest.mark.parametrize(
    ("environment", "text"),
    [
        ({}, "sample:prose"),
        ({"SOME_FOLDER": "/data"}, "path:/data/a&b.txt"),
        ({"SOME_FOLDER": "/data", "SOME_CORPUS": "sample:code"}, "sample:code"),
        ({"SOME_FOLDER": ""}, "sample:prose"),
    ],
)
def test_the_first_that_is_set_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], text: str
) -> None:
    for name in ("SOME_CORPUS", "SOME_FOLDER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    found = read(tmp_path)
    assert found.corpora[0].spec == text
    assert found.tokenizers[0].spec.endswith(f"&corpus={text.replace('&', '%26')}")


def test_the_last_one_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_FOLDER", raising=False)
    with pytest.raises(InputError, match=r"environment variable SOME_FOLDER\b"):
        read(tmp_path, SUITE.replace(', "sample:prose"]', "]"))


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ("TEXT = 3", r"TEXT = 3\b"),
        ("TEXT = []", r"TEXT = \[\]"),
        ('TEXT = [""]', r"TEXT = \[''\]"),
    ],
)
def test_what_is_no_text_is_refused(tmp_path: Path, variables: str, says: str) -> None:
    start = SUITE[: SUITE.index("TEXT = [")]
    with pytest.raises(InputError, match=says):
        read(tmp_path, start + variables)
    with pytest.raises(InputError, match=r"variables = 3\b"):
        read(tmp_path, "variables = 3\n" + SUITE[: SUITE.index("[variables]")])


@pytest.mark.parametrize("name", sorted({"encoding", "training"} & set(suite.shipped())))
@pytest.mark.parametrize("has_data", [True, False])
def test_tables_of_the_readme_run_with_data_and_without(
    monkeypatch: pytest.MonkeyPatch, name: str, has_data: bool
) -> None:
    monkeypatch.delenv("PYHARNESS_TRAINING_TEXT", raising=False)
    monkeypatch.setenv("PYHARNESS_DATA", "/data" if has_data else "")
    found = suite.read(suite.find(name))
    texts = [entry.spec for entry in (*found.corpora, *found.tokenizers)]
    assert any("/data/corpora" in text for text in texts) == has_data
    in_turns = [one for one in found.selections if one.parameters.get("rounds")]
    assert in_turns
    for one in in_turns:
        assert one.tokenizers is not None
        assert one.parameters["reference"] in one.tokenizers
