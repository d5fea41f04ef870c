"""Suites of the gate: those that are shipped, and what is said of one that is wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from pyharness.features.gate import suites
from pyharness.features.gate.types import GateBenchmark
from pyharness.suite import files
from pyharness.types import InputError

ROOT = Path(__file__).parents[3]
ONE = 'benchmarks = [{ name = "a", workload = "encode", bytes = 64 }]\n'


def refused(folder: Path, content: str) -> str:
    path = folder / "mine.toml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        suites.read(path)
    message = str(caught.value)
    assert message.startswith(f"suite {path}")
    assert "\n" not in message
    return message


def test_those_that_are_shipped_are_sound() -> None:
    read = {name: suites.read(path) for name, path in suites.shipped().items()}
    assert read.keys() == {"gate", "tokenizers", "trials"}
    default = read[suites.DEFAULT]
    controls = [one for one in default.benchmarks if one.library != "pyharness"]
    assert len(controls) >= 3
    assert len(default.benchmarks) - len(controls) >= 10
    assert len({suite.digest for suite in read.values()}) == 3
    assert all(suite.summary for suite in read.values())


def test_a_suite_is_found_by_name_or_path(tmp_path: Path) -> None:
    assert suites.find("gate").name == "gate.toml"
    with pytest.raises(InputError, match="did you mean 'gate'"):
        suites.find("gat")
    with pytest.raises(InputError, match="folder"):
        suites.find(f"{tmp_path}/")
    with pytest.raises(InputError, match=r"'nothing\.toml'"):
        suites.find("nothing.toml")


def test_a_wheel_has_them_beside_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gate").mkdir()
    (tmp_path / "gate" / "shipped.toml").write_text(ONE, encoding="utf-8")
    monkeypatch.setattr("pyharness.features.gate.suites.PACKAGED", tmp_path)
    assert suites.read(suites.find("shipped")).name == "shipped"
    assert files.PACKAGED.name == "suites"


def test_defaults_and_what_is_said(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "own"\nbenchmarks = [{ name = "a", workload = "encode", bytes = 64 },'
        ' { name = "b", workload = "train", library = "x", text = "poems", bytes = 9, threads = 2,'
        ' budget = 0.05, options = { scaffold = true, learned_from = "code" } },'
        ' { name = "c", workload = "split", text = "" }]\n'
        'corpora = { poems = "path:poems.txt", unread = "sample" }\n',
        encoding="utf-8",
    )
    suite = suites.read(path)
    assert suite.name == "own"
    assert suite.benchmarks == (
        GateBenchmark("a", "encode", "", "english", 64),
        GateBenchmark("b", "train", "x", "poems", 9, 2, {"scaffold": True, "learned_from": "code"}, 0.05),
        GateBenchmark("c", "split", "", ""),
    )
    assert suite.corpora == {
        "english": "installed:python-docs", "poems": "path:poems.txt", "code": "installed:python-code",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("benchmarks = [", r"TOML: .*\(at "),
        ("benchmarks = []", "no benchmarks: "),
        ("name = 'x'", "'benchmarks' is missing"),
        ("tokenizers = []\n" + ONE, "unknown key 'tokenizers'"),
        ("benchmarks = 3", "'benchmarks' is 3; .*list"),
        ("benchmarks = [3]", r"\b3 .*object with 'name'"),
        (ONE.replace('"a"', '"ä"'), "benchmark name 'ä'"),
        (ONE.replace("workload", "worklod"), "unknown key 'worklod'"),
        (ONE.replace('"encode"', '"enncode"'), "benchmark 'a': unknown workload 'enncode'; did you mean 'encode'"),
        (ONE.replace('"encode"', '"_model"'), "benchmark 'a': unknown workload '_model'"),
        (ONE.replace("64", "-1"), r"benchmark 'a': 'bytes' is -1; .*\b0\.\.16,777,216"),
        (ONE.replace("64", "1e3"), r"benchmark 'a': 'bytes' is 1000\.0; .*whole number"),
        (ONE.replace("64", "0"), "benchmark 'a': .*'english'.*\"bytes\""),
        (ONE.replace("64", '64, text = ""'), "benchmark 'a': .*no text.*\"bytes\""),
        (ONE.replace("64", '64, text = "poems"'), "benchmark 'a': unknown kind of text 'poems'"),
        (ONE.replace("64", '64, options = { learned_from = "poems" }'), "benchmark 'a': unknown kind of text 'poems'"),
        (ONE.replace("64", "64, threads = 0"), r"benchmark 'a': 'threads' is 0; .*\b1\.\.1,024"),
        (ONE.replace("64", "64, budget = 0"), "benchmark 'a': budget is 0; .*above 0"),
        (ONE.replace("64", 'budget = "3%"').replace("bytes = ", ""), "benchmark 'a': 'budget' is \"3%\"; .*number"),
        (ONE.replace("64", "64, budget = nan"), "benchmark 'a': budget is nan"),
        (ONE + "corpora = { english = 3 }", "'english' is 3; .*text"),
        (ONE + 'workloads = "nowhere.py"', r"nowhere\.py .*: No such file"),
        (ONE + 'workloads = "mine.toml"', "is not valid Python"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, content: str, said: str) -> None:
    assert re.search(said, refused(tmp_path, content))


def test_names_that_occur_twice_are_refused(tmp_path: Path) -> None:
    twice = (
        'benchmarks = [{ name = "a", workload = "encode", bytes = 1 }, { name = "a", workload = "split", bytes = 1 }]'
    )
    assert re.search("one benchmark .*'a'", refused(tmp_path, twice))


def test_workloads_of_ones_own_lie_beside_the_suite_and_are_part_of_its_digest(tmp_path: Path) -> None:
    path, mine = tmp_path / "mine.toml", tmp_path / "mine.py"
    path.write_text('workloads = "mine.py"\n' + ONE, encoding="utf-8")
    mine.write_text("import nothing_that_is_installed\ndef encode(setting): ...\n", encoding="utf-8")
    suite = suites.read(path)
    assert suite.workloads == mine
    mine.write_text("def encode(setting): pass\n", encoding="utf-8")
    assert suites.read(path).digest != suite.digest
    mine.write_text("def decode(setting): ...\n", encoding="utf-8")
    assert "unknown workload 'encode'" in refused(tmp_path, path.read_text(encoding="utf-8"))


def test_a_library_is_said_once_for_all_benchmarks(tmp_path: Path) -> None:
    entry = '{ name = "%s", workload = "split", text = "code", bytes = 9%s }'
    path = tmp_path / "own.toml"
    benchmarks = ", ".join([entry % ("a", ""), entry % ("b", ', library = "other"')])
    path.write_text(f'library = "mine"\nbenchmarks = [{benchmarks}]')
    assert [one.library for one in suites.read(path).benchmarks] == ["mine", "other"]
    path.write_text(f"benchmarks = [{benchmarks}]")
    assert [one.library for one in suites.read(path).benchmarks] == ["", "other"]  # "": what is under test


def test_the_suite_in_the_docs_can_be_read_and_its_workloads_work(tmp_path: Path) -> None:
    section = (ROOT / "docs" / "gate.md").read_text(encoding="utf-8").split("## Your own suite")[1]
    blocks = dict(re.findall(r"```(toml|python)\n(.*?)```", section, re.DOTALL)[:2])
    (tmp_path / "mine.toml").write_text(blocks["toml"], encoding="utf-8")
    (tmp_path / "workloads.py").write_text(blocks["python"], encoding="utf-8")
    suite = suites.read(tmp_path / "mine.toml")
    assert [(one.name, one.library) for one in suite.benchmarks] == [("encode", ""), ("control", "python")]

    (tmp_path / "mylibrary.py").write_text(
        "class Tokenizer:\n    def __init__(self, text):\n        self.encode = list\n"
    )
    program = (
        "import runpy, sys; sys.path.insert(0, sys.argv[1]); there = runpy.run_path(sys.argv[1] + '/workloads.py')\n"
        "class Setting:\n    text = staticmethod(lambda kind, size: kind * size)\n"
        "for name in ('encode', 'compress'):\n"
        "    one = there[name](Setting)\n    assert isinstance(one.digestible(one.call('text')), bytes)\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
