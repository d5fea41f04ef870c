"""What the project cites of itself exists: paths, native files, sections, anchors; and the check sees what is dead."""

from __future__ import annotations

import importlib
import re
import subprocess
from pathlib import Path

import pytest

from layout.citations import OF_FEATURES, Tree, dead

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "pyharness"
# CHANGELOG.md is not read: it names files as they were called at the time.
READ = (".md", ".py", ".pyi", ".hpp", ".cpp", ".cu", ".toml", ".cmake", ".yml", ".yaml", ".sh", "CMakeLists.txt")
SCRIPTS = (".ci/",)


def tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    names = listed.stdout.split("\n") if listed.returncode == 0 else [str(p.relative_to(ROOT)) for p in _walked()]
    chosen = (name for name in names if name.endswith(READ) or name.startswith(SCRIPTS))
    return [name for name in chosen if name != "CHANGELOG.md" and (ROOT / name).is_file()]


def _walked() -> list[Path]:
    rooms = ("csrc", "pyharness", "tests", "bench", "studies", "docs", "cmake", ".ci", ".github")
    return [*ROOT.glob("*"), *(path for room in rooms for path in (ROOT / room).rglob("*"))]


def test_what_is_cited_exists() -> None:
    files = tracked()
    assert {"README.md", "docs/metrics.md", "csrc/bindings/core.cpp", ".ci/run"} <= set(files)
    assert dead(Tree(ROOT, files)) == []


def test_modules_named_in_documents_exist() -> None:
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for name in set(re.findall(r"`(pyharness(?:\.[a-zA-Z_]\w*)+)", document.read_text(encoding="utf-8"))):
            assert _is_there(name), f"{document.name} names {name}"


def _is_there(name: str) -> bool:
    parts = name.split(".")
    if (
        parts[1:2] == ["features"]
        and len(parts) > 2
        and parts[2] in OF_FEATURES
        and not (PACKAGE / "features" / parts[2]).is_dir()
    ):
        return True
    for end in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[end:]:
            if not hasattr(thing, attribute):
                return False
            thing = getattr(thing, attribute)
        return True
    return False


ALIVE = {
    "docs/here.md": "# Here\n\n## A part\n\nSee `csrc/one.hpp`, [it](#a-part), [code](../csrc/one.hpp), csrc/*.hpp.\n",
    "csrc/one.hpp": '// docs/here.md, "A\n// part". See one.hpp.\nint x;  // https://example.org/docs/none.md\n',
    "pyharness/two.py": '"""Source: ``docs/here.md``, "A part"."""\nNAME = "docs/made_up.md"  # tests are in tests/\n',
    "tests/three.py": "",
}


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("docs/here.md", "`csrc/none.hpp`", "csrc/none.hpp"),
        ("docs/here.md", "[a link](none.md)", "none.md"),
        ("docs/here.md", "[an anchor](#no-part)", "#no-part"),
        ("docs/here.md", "[an anchor](here.md#no-part)", "here.md#no-part"),
        ("csrc/one.hpp", "// as in csrc/none.cpp", "csrc/none.cpp"),
        ("csrc/one.hpp", "// as in none.cpp", "none.cpp"),
        ("csrc/one.hpp", '// docs/here.md, "No\n// part"', 'docs/here.md "No part"'),
        ("pyharness/two.py", '"""``spec/metrics.md``."""', "spec/metrics.md"),
        ("pyharness/two.py", '"""docs/here.md, "No part"."""', 'docs/here.md "No part"'),
        ("pyharness/two.py", '# docs/here.md "A part", "B part" and\n# "Here"', 'docs/here.md "B part"'),
        ("pyharness/two.py", "# see here.md section 3", "here.md section 3"),
        ("pyharness/two.py", "# pyharness/none.py", "pyharness/none.py"),
        ("pyproject.toml", "# tests/none/", "tests/none"),
    ],
)
def test_a_dead_citation_is_found(tmp_path: Path, file: str, text: str, expected: str) -> None:
    files = {**ALIVE, "pyproject.toml": ""}
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    tree = Tree(tmp_path, list(files))
    assert dead(tree) == []
    (tmp_path / file).write_text(f"{files[file]}\n{text}\n", encoding="utf-8")
    assert dead(Tree(tmp_path, list(files))) == [f"{file}: {expected}"]
