"""``~`` of paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from cases.command_line import refused
from pyharness.system import folders


def test_homes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert folders.expanded("~/x") == tmp_path / "x"
    assert folders.expanded("a/~") == Path("a/~")
    assert folders.expanded("~no-such-user/x") == Path("~no-such-user/x")


@pytest.mark.parametrize(
    "arguments",
    [
        ("encode", "~no-such-user/x.json"),
        ("run", "-t", "raw_bytes", "-c", "path:~no-such-user/x", "-b", "compression"),
        ("gate", "--base", "~no-such-user", "--head", "raw_bytes"),
    ],
)
def test_a_user_that_is_not_known_is_a_name_like_others(arguments: tuple[str, ...], tmp_path: Path) -> None:
    assert "~no-such-user" in refused(*arguments, cwd=tmp_path)
