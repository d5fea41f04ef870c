"""``fill``, ``find`` and ``check --confirm`` in a checkout: gates are made up, but for the last test, which builds."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cases.command_line import call, refused
from gating import small_project
from gating.histories import commits_of, made_gate
from gating.leveled import leveled_project, started_fill
from gating.small_project import git
from pyharness.features.gate import commands
from pyharness.features.gate.commands import MachineBusy
from pyharness.features.gate.session import GateRequest
from pyharness.features.gate.types import Gate, GateVerdict, SelfTest
from pyharness.features.gate.verdicts.judgements import LATE
from pyharness.features.history.database import opened
from pyharness.features.history.lines import history_of
from pyharness.features.history.measuring import gates as running_gates
from pyharness.features.history.measuring.filling import revisions_of
from pyharness.features.history.measuring.gates import BaseUnbuilt, HistoryGates, NoFurtherGate, TimeIsOver
from pyharness.system import atomic_file
from pyharness.types import InputError

pytestmark = pytest.mark.process
COUNT, STEP = 24, 12
NAME = "speed/test_a.py::test_encode"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout whose commits have a level: a step after half of them."""
    return leveled_project(tmp_path_factory.mktemp("history") / "project", COUNT, STEP)


def first_two(project: Path) -> tuple[str, str]:
    first, second, *_ = commits_of(project)
    return first, second


class Levels:
    """Stands in for ``commands.gate``: the level of a commit is in its file."""

    def __init__(self, project: Path) -> None:
        self.project, self.asked = project, list[GateRequest]()

    def __call__(self, asked: GateRequest, _: object = None) -> Gate:
        self.asked.append(asked)
        heads = [git(self.project, "rev-parse", name) for name in (asked.base, asked.head) if not name.endswith(".whl")]
        effect = self._level(heads[-1]) - (self._level(heads[0]) if len(heads) == 2 else 0.0)
        created = f"2026-01-01T00:{len(self.asked) // 60:02}:{len(self.asked) % 60:02}+00:00"
        made = made_gate(heads[-1], {NAME: effect}, anchor=heads[0] if len(heads) == 2 else "a wheel",
                         seed=len(self.asked), rules=asked.rules, created=created)  # fmt: skip
        return self.judged(made, GateVerdict.REGRESSION if effect > asked.rules.budget else GateVerdict.PASS)

    def _level(self, commit: str) -> float:
        return float(git(self.project, "show", f"{commit}:level"))

    @staticmethod
    def judged(made: Gate, verdict: GateVerdict) -> Gate:
        judged = tuple(replace(one, verdict=verdict) for one in made.judgements)
        return replace(made, judgements=judged, verdict=verdict, suite="asked")


@pytest.fixture
def levels(project: Path, monkeypatch: pytest.MonkeyPatch) -> Levels:
    made = Levels(project)
    monkeypatch.setattr(commands, "gate", made)
    return made


def test_from_nothing_to_the_commit(tmp_path: Path, project: Path, levels: Levels) -> None:
    path, of_gates = str(tmp_path / "history.db"), ["--pytest", "speed"]
    done = call("history", "fill", "--anchor", "HEAD~23", "HEAD~23..HEAD", "--db", path, *of_gates, cwd=project)
    assert done.returncode == 0, done.stderr
    assert len(levels.asked) == COUNT - 1
    assert "23 revisions" in done.stdout
    for options, code in ((["--strict"], 3), (["--confirm", *of_gates], 1)):
        checked = call("history", "check", "--db", path, *options, cwd=project)
        assert checked.returncode == code, checked.stdout + checked.stderr
    assert "onfirmed" in checked.stdout
    last = levels.asked[-1]
    assert (last.head, last.rules.launches, last.rules.fixed, last.tests) == (commits_of(project)[-1], 10, True, NAME)
    before = len(levels.asked)
    for wanted in ([], ["HEAD~23..HEAD"]):
        searched = call("history", "find", NAME, *wanted, "--db", path, *of_gates, cwd=project)
        assert searched.returncode == 0, searched.stdout + searched.stderr
        assert commits_of(project)[STEP][:10] in searched.stdout
        assert f"change {STEP}" in searched.stdout
    assert len(levels.asked) > before + 6
    with opened(Path(path)) as database:
        ((count,),) = database.rows("SELECT COUNT(*) FROM records")
        assert count == len(levels.asked)
        (line,) = history_of(database).lines
        assert (line.series.anchor, len(line.points)) == (commits_of(project)[0], COUNT - 1)
        ((points,),) = database.rows("SELECT COUNT(*) FROM points")  # one of the two searches began at the anchor
        assert points == COUNT - 1
    rows = json.loads(call("history", "report", "--format", "json", "--db", path).stdout)
    assert {row["suite"] for row in rows} == {"speed"}
    passed = call("history", "check", "--confirm", "--budget", "20%", "--db", path, *of_gates, cwd=project)
    assert passed.returncode == 0
    nothing = call("history", "find", NAME, "HEAD~3..HEAD", "--db", path, *of_gates, cwd=project)
    assert nothing.returncode == 3
    call("history", "find", "nosuch", "HEAD~3..HEAD", "--db", path, *of_gates, cwd=project)
    last = levels.asked[-1]
    assert (last.tests, last.expected) == ("speed", ("nosuch",))  # the gate looks for it in its first launch


def test_bad_input_is_named_and_measures_nothing(tmp_path: Path, project: Path, levels: Levels) -> None:
    db = ["--db", str(tmp_path / "history.db")]
    fill = ["history", "fill", "--anchor", "HEAD~3", "HEAD~3..HEAD", "--pytest", "speed", *db]
    for arguments, word in (
        ([*fill[:3], "nowhere", *fill[4:]], "'nowhere'"),
        ([*fill[:4], "HEAD..HEAD", *fill[5:]], "no commits"),
        ([*fill[:4], "HEAD~1..HEAD~3", *fill[5:]], "not on the"),
        ([*fill[:4], "--help-me", *fill[5:]], "--help-me"),
        ([*fill, "--suite", "gate"], "--suite"),
        ([*fill, "--max-minutes", "soon"], "--max-minutes"),
        ([*fill, "--wheel", "gone.whl"], "gone.whl"),
        (["history", "fill", "--anchor", "HEAD~3", "HEAD", "--suite", "gat", *db], "'gat'"),
        (["history", "find", NAME, "--pytest", "speed", *db], "does not exist"),
        (["history", "find", NAME, "HEAD", "--pytest", "speed", *db], "GOOD..BAD"),
        (["history", "find", NAME, "HEAD..nowhere", "--pytest", "speed", *db], "'nowhere'"),
        (["history", "check", "--suite", "gate", *db], "does not exist"),
    ):
        said = refused(*arguments, cwd=project)
        assert word in said, (arguments, said)
    assert "checkout" in refused(*fill, cwd=tmp_path)
    assert levels.asked == []
    assert not (tmp_path / "history.db").exists()


def test_options_of_gates_need_a_gate(tmp_path: Path, project: Path, levels: Levels) -> None:
    path = str(tmp_path / "history.db")
    call("history", "fill", "--anchor", "HEAD~3", "HEAD~3..HEAD", "--pytest", "speed", "--db", path, cwd=project)
    for options in (
        ["--suite", "gate"],
        ["--no-cache"],
        ["--pass", "A"],
        ["--declared", "gate.toml"],
        ["--budget", "1%"],
    ):
        assert "--confirm" in refused("history", "check", "--db", path, *options, cwd=project)
    assert "'gone.toml'" in refused(
        "history", "check", "--confirm", "--declared", "gone.toml", "--db", path, cwd=project
    )


def gates(tmp_path: Path, project: Path, run: Callable[[GateRequest], Gate], **fields: Any) -> HistoryGates:
    asked = GateRequest("", "", tests="speed", folder=project)
    return HistoryGates(tmp_path / "history.db", asked, run, **fields)


def test_a_gate_waits_for_the_machine_and_gives_up_in_time(tmp_path: Path, project: Path) -> None:
    made, paused = Levels(project), list[float]()

    def busy(asked: GateRequest) -> Gate:
        if len(paused) < 3:
            raise MachineBusy("another gate runs")
        return made(asked)

    running = gates(tmp_path, project, busy, pause=paused.append)
    running.measured(*first_two(project), 5)
    assert (len(paused), len(made.asked)) == (3, 1)
    late = gates(tmp_path, project, busy, pause=lambda _: time.sleep(0.05), deadline=time.monotonic() + 0.2)
    paused.clear()
    with pytest.raises(TimeIsOver):
        late.measured(*first_two(project), 5)


def test_a_gate_that_time_cuts_short_is_not_added(tmp_path: Path, project: Path) -> None:
    made, reason = Levels(project), LATE

    def cut(asked: GateRequest) -> Gate:
        assert asked.rules.minutes is not None
        made = Levels.judged(made_gate("b" * 40, {NAME: 0.0}, rules=asked.rules), GateVerdict.INCONCLUSIVE)
        return replace(made, judgements=tuple(replace(one, launches=0, reason=reason) for one in made.judgements))

    running = gates(tmp_path, project, cut, deadline=time.monotonic() + 600)
    with pytest.raises(TimeIsOver):
        running.measured(*first_two(project), 5)
    assert not (tmp_path / "history.db").exists()
    reason = "it is unknown whether the test runs"  # a gate that gave no launch, and in time
    running.measured(*first_two(project), 5)
    assert (tmp_path / "history.db").exists()
    gates(tmp_path, project, made, deadline=time.monotonic() + 600).measured(*first_two(project), 5)
    assert (tmp_path / "history.db").exists()


def test_a_gate_that_the_history_refuses_is_kept_in_a_file(tmp_path: Path, project: Path) -> None:
    path, (base, head) = tmp_path / "history.db", first_two(project)
    path.write_text("no database", encoding="utf-8")
    with pytest.raises(NoFurtherGate, match=re.escape(str(project / f"gate-{head}"))):
        gates(tmp_path, project, Levels(project)).measured(base, head, 5)
    (file,) = project.glob(f"gate-{head}-*.json")  # another gate of it would have another name
    assert call("history", "add", str(file), "--db", str(tmp_path / "own.db")).returncode == 0
    file.unlink()


def test_a_gate_that_the_project_has_no_room_for_is_kept_elsewhere(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "temporary"
    other.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(other))
    (tmp_path / "history.db").write_text("no database", encoding="utf-8")
    monkeypatch.setattr(atomic_file, "write", _full(project, atomic_file.write))
    with pytest.raises(NoFurtherGate, match=re.escape(str(other))):
        gates(tmp_path, project, Levels(project)).measured(*first_two(project), 5)
    assert len(list(other.glob("gate-*.json"))) == 1
    monkeypatch.setattr(atomic_file, "write", _full(tmp_path.parent, atomic_file.write))
    with pytest.raises(NoFurtherGate, match="lost"):
        gates(tmp_path, project, Levels(project)).measured(*first_two(project), 5)


def _full(folder: Path, write: Callable[..., None]) -> Callable[..., None]:
    """Return what writes files anywhere but in a folder."""

    def refusing(path: Path, content: str, **options: bool) -> None:
        if path.resolve().is_relative_to(folder.resolve()):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write(path, content, **options)

    return refusing


@pytest.mark.parametrize("refused", [True, False])
def test_a_gate_that_a_full_disk_ended_is_no_gap(
    tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch, refused: bool
) -> None:
    def ended(asked: GateRequest) -> Gate:
        made = Levels(project)(asked)
        about = {**made.about, **({"refused": True} if refused else {"unbuilt": "head"})}
        return replace(made, rounds=(), judgements=(), self_test=SelfTest(("no space left",)), about=about)

    if not refused:
        monkeypatch.setattr(running_gates, "_has_room", lambda: False)
    with pytest.raises(NoFurtherGate, match="no space left"):
        gates(tmp_path, project, ended).measured(*first_two(project), 5)
    assert not (tmp_path / "history.db").exists()
    monkeypatch.undo()
    assert running_gates._has_room()


def test_there_is_no_room_where_files_end_early() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (running_gates.ROOM // 2, hard))
    try:
        assert not running_gates._has_room()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_base_that_does_not_build_is_no_gap_of_the_head(tmp_path: Path, project: Path) -> None:
    def unbuilt(asked: GateRequest) -> Gate:
        made = Levels(project)(asked)
        return replace(made, rounds=(), judgements=(), self_test=SelfTest(("base does not build",)),
                       about={**made.about, "unbuilt": "base"})  # fmt: skip

    with pytest.raises(BaseUnbuilt):
        gates(tmp_path, project, unbuilt).measured(*first_two(project), 5)
    assert not (tmp_path / "history.db").exists()
    made, first = Levels(project), commits_of(project)[0]
    gates(tmp_path, project, made).measured(
        "a.whl", commits_of(project)[1], 5, anchor={"commit": first, "subject": "s"}
    )
    with opened(tmp_path / "history.db") as database:
        assert database.rows("SELECT DISTINCT anchor FROM points") == [(first,)]


def test_what_a_build_says_drives_no_terminal(tmp_path: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unbuilt(asked: GateRequest, _: object) -> Gate:
        return replace(Levels(project)(asked), rounds=(), judgements=(), self_test=SelfTest(("\x1b]0;red\x07",)))

    monkeypatch.setattr(commands, "gate", unbuilt)
    fill = ["history", "fill", "--anchor", "HEAD~1", "HEAD~1..HEAD", "--pytest", "speed"]
    done = call(*fill, "--db", str(tmp_path / "history.db"), cwd=project)
    assert "1 without" in done.stdout
    assert not {"\x1b", "\x07"} & set(done.stdout + done.stderr)
    assert done.stderr.count("]0;red") == 1


def test_ranges_of_merges_and_of_ten_thousand_commits(tmp_path: Path) -> None:
    folder = tmp_path / "long"
    folder.mkdir()
    git(folder, "init", "--quiet", "-b", "main")
    lines = []
    for number in range(10_000):
        parent = f"from :{number}\n" if number else ""
        lines.append(f"commit refs/heads/main\nmark :{number + 1}\ncommitter a <a@b> {1_700_000_000 + number} +0000\n"
                     f"data 1\nx\n{parent}\n")  # fmt: skip
    subprocess.run(["git", "-C", str(folder), "fast-import", "--quiet"], input="".join(lines), text=True, check=True)  # noqa: S607
    git(folder, "checkout", "--quiet", "main")
    start = git(folder, "rev-parse", "HEAD")
    for number in range(3):
        git(folder, "checkout", "--quiet", "-b", f"side-{number}")
        git(folder, "commit", "--quiet", "--allow-empty", "-m", "side")
        git(folder, "checkout", "--quiet", "main")
        git(folder, "merge", "--quiet", "--no-ff", "-m", f"merge {number}", f"side-{number}")
    running = HistoryGates(tmp_path / "history.db", GateRequest("", "", tests="speed", folder=folder), Levels(folder))
    merges = revisions_of(running, f"{start}..main")
    assert [git(folder, "log", "-1", "--format=%s", one) for one in merges] == ["merge 0", "merge 1", "merge 2"]
    assert len(revisions_of(running, "main")) == 10_003
    assert len(revisions_of(running, "main", 100)) == 102
    with pytest.raises(InputError, match="--branch"):
        revisions_of(running, f"{start}..side-1")


def test_two_fills_at_once_measure_each_revision_once(tmp_path: Path, project: Path) -> None:
    path = str(tmp_path / "history.db")
    both = [started_fill(project, path, tmp_path) for _ in range(2)]
    said = [one.communicate(timeout=120) for one in both]
    assert [one.returncode for one in both] == [0, 0], said
    counts = [int(re.findall(r"^(\d+) revision", output)[0]) for output, _ in said]
    assert sum(counts) == COUNT - 1
    with opened(Path(path)) as database:
        ((count,),) = database.rows("SELECT COUNT(*) FROM records")
        assert count == COUNT - 1


SUITE = """
name = "small"
workloads = "own.py"
benchmarks = [{ name = "encode", workload = "encode", bytes = 64 }]
"""
OWN = """
class Workload:
    def __init__(self, call, digestible):
        self.call, self.digestible = call, digestible


def encode(setting):
    import tinytok

    return Workload(tinytok.encode, lambda ids: str(ids).encode())
"""


def test_revisions_are_really_built_and_measured_and_one_that_does_not_build_is_a_gap(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(commands, "SHARED", tmp_path)  # no wait for other gates of this machine
    folder, path = tmp_path / "project", str(tmp_path / "history.db")
    for version, backend in (("1.0", small_project.BACKEND), ("1.1", "raise SystemExit(3)\n"),
                             ("1.2", small_project.BACKEND)):  # fmt: skip
        small_project.write(folder, version=version, backend=backend)
        (folder / "own.toml").write_text(SUITE, encoding="utf-8")
        (folder / "own.py").write_text(OWN, encoding="utf-8")
        small_project.commit(folder, version)
    fill = ["history", "fill", "--anchor", "HEAD~2", "HEAD~2..HEAD", "--suite", "own.toml", "--launches", "2"]
    cache = str(tmp_path / "cache")
    done = call(*fill, "--no-build-isolation", "--db", path, cwd=folder, PYHARNESS_CACHE=cache)
    assert done.returncode == 0, done.stderr
    with opened(Path(path)) as database:
        history = history_of(database)
    (line,) = [one for one in history.lines if one.series.figure == "time"]
    assert [point.place for point in line.judged] == [2]
    assert abs(line.judged[0].value) < 1
    assert list(history.reasons) == [git(folder, "rev-parse", "HEAD~1")]
