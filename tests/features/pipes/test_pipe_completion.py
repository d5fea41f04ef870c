"""Shells complete the rows of ``pyharness encode``."""

from __future__ import annotations

from pathlib import Path

import pytest

from cases.command_line import completed


def test_names_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))
    assert completed("encode", "native+dee") == ["native+deepseek"]
    assert completed("encode", "raw") == ["raw_bytes"]
