"""The machine as the harness sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyharness.system import environment


def test_available_memory_knows_the_control_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A group's page cache counts as used, but is given back."""
    free = environment.available_memory_bytes()
    assert free is not None
    monkeypatch.setattr(environment, "CONTROL_GROUP", tmp_path)
    for name, text in (("max", "5000000"), ("current", "4900000"), ("stat", "anon 1900000\ninactive_file 3000000\n")):
        (tmp_path / f"memory.{name}").write_text(text)
    assert environment.available_memory_bytes() == 3100000
    (tmp_path / "memory.max").write_text("max")
    assert (environment.available_memory_bytes() or 0) > 3100000
