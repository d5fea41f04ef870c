"""``pyharness show`` in a pipe and in a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from bpe_files import FILES
from pyharness.cli import console, main


def call(*arguments: str, code: int = 0, given: bytes | str = b"") -> Result:
    result = CliRunner().invoke(main, ["show", *arguments], input=given)
    assert result.exit_code == code, result.output
    return result


def test_a_pipe_gets_json() -> None:
    said = json.loads(call("-t", "raw_bytes", "-t", "mistral:v3", "né", "ne").stdout)
    assert said["texts"] == ["né", "ne"]
    assert [(row["tokenizer"], row["text"], row["bytes"]) for row in said["rows"]] == [
        ("raw_bytes", 0, 3), ("mistral:v3", 0, 3), ("raw_bytes", 1, 2), ("mistral:v3", 1, 2)
    ]  # fmt: skip
    assert said["rows"][0]["units"][1] == {"id": 195, "text": "\\xc3", "bytes": "c3", "merges": None, "moved": True}


def test_json_is_json_where_the_output_has_not_every_character() -> None:
    arguments = ["show", "-t", "raw_bytes", "né 日"]
    shown = {name: CliRunner(charset=name).invoke(main, arguments).stdout_bytes for name in ("latin-1", "utf-8")}
    assert json.loads(shown["latin-1"]) == json.loads(shown["utf-8"])
    assert "日".encode() in shown["utf-8"]


def test_rows_are_called_by_their_names_and_a_file_with_an_equals_sign_is_no_name(tmp_path: Path) -> None:
    path = tmp_path / "a=b.json"
    path.write_text(json.dumps(FILES["byte level"]), encoding="utf-8")
    said = json.loads(call("-t", "bytes=raw_bytes", "-t", str(path), "HE").stdout)
    assert [row["tokenizer"] for row in said["rows"]] == ["bytes", str(path)]


def test_a_terminal_gets_tables_in_colours_unless_it_wants_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(console, "is_terminal", lambda: True)
    monkeypatch.setattr(console, "width", lambda: 80)
    monkeypatch.delenv("NO_COLOR", raising=False)
    colored = call("-t", "mistral:v3", "a cat sat", "a bat sat").stdout
    assert "\x1b[1;7m[·bat]\x1b[0m" in colored
    monkeypatch.setenv("NO_COLOR", "1")
    plain = call("-t", "mistral:v3", "a cat sat", "a bat sat").stdout
    assert "\x1b" not in plain
    assert plain.startswith("mistral:v3      3  ·a|[·cat]|·sat\n\nmistral:v3      3  ·a|[·bat]|·sat\n")
    assert "10521  [·bat]  20 62 61 74  a+t, ▁+b, ▁b+at" in plain
    assert max(map(len, plain.splitlines())) <= 80


def test_text_is_read_from_standard_input() -> None:
    assert json.loads(call("-t", "raw_bytes", "-", given="né\n").stdout)["texts"] == ["né\n"]


def test_a_row_that_changes_the_text_says_so(tmp_path: Path) -> None:
    content = dict(FILES["byte level"])
    (tmp_path / "tokenizer.json").write_text(json.dumps({**content, "normalizer": {"type": "Lowercase"}}))
    said = call("-t", str(tmp_path / "tokenizer.json"), "HE", "--format", "text").stdout
    assert "not spell" in said


@pytest.mark.parametrize(
    ("arguments", "given", "parts"),
    [
        (("-t", "nonsense", "x"), b"", ["unknown tokenizer 'nonsense'"]),
        (("-t", "./missing.json", "x"), b"", ["'./missing.json': there is no such file"]),
        (("-t", "raw_bytes", "-"), b"ab\xff", ["UTF-8", "byte 2"]),
        (("-t", "raw_bytes", "-"), b"x" * (2 << 20), ["1,048,576 bytes"]),
        (("-t", "raw_bytes", "-"), "é".encode() * 600_000, ["1,048,576 bytes"]),
    ],
)
def test_what_is_refused(arguments: tuple[str, ...], given: bytes, parts: list[str]) -> None:
    said = call(*arguments, code=2, given=given).stderr
    assert all(part in said for part in parts), said
    assert said.count("\n") == 1
