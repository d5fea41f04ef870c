"""What a page is written with lies in the wheel, beside the modules that read it."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from pyharness.report.page import markup

ROOT = Path(__file__).parents[3]


def test_the_wheel_has_templates_and_assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = pytest.importorskip("scikit_build_core.build", reason="the backend that builds wheels is not installed")
    monkeypatch.chdir(ROOT)
    name = backend.build_wheel(str(tmp_path), {"wheel.cmake": "false"})  # nothing is compiled
    with zipfile.ZipFile(tmp_path / name) as wheel:
        held = set(wheel.namelist())
    folder = Path(markup.__file__).parent
    files = [one for part in ("templates", "assets") for one in (folder / part).iterdir()]
    assert {one.suffix for one in files} == {".j2", ".css", ".js"}
    assert {f"pyharness/report/page/{one.relative_to(folder)}" for one in files} <= held


def test_what_a_page_is_written_with_is_plain() -> None:
    for name in ("style.css", "script.js"):
        text = markup._asset(name)
        assert text.isascii()
        assert "</" not in text, "it would end the element that it stands in"
        assert "http" not in text
        assert "@import" not in text
        assert "url(" not in text
