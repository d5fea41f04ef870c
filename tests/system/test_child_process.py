"""Processes of strangers: ended at their limits, buried with their daemons, and never in each other's way."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import pyharness
from pyharness.system import child_process, process_tree
from pyharness.system.child_process import Child, ChildDied, Overdue, said_by
from pyharness.types import CaseResult, InputError

pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="limits of memory are read from /proc")
Program = Callable[[str], list[str]]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Make a module of a text; returns the command that runs it."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def made(text: str) -> list[str]:
        (tmp_path / "program.py").write_text("import os, sys, time\n" + text, encoding="utf-8")
        return ["program"]

    return made


def died(command: list[str], seconds: float = 30.0, memory_limit: int | None = None) -> str:
    child = Child(command, memory_limit=memory_limit)
    try:
        with pytest.raises(ChildDied) as caught:
            child.listen(time.monotonic() + seconds)
    finally:
        child.close()
    return str(caught.value)


def lives(process: int) -> bool:
    return process_tree._lives(process)


def test_lines_come_whole_and_in_order(program: Program) -> None:
    command = program("print('a' * 300_000); print(); print('end', end='\\n')")
    assert list(said_by(command)) == [b"a" * 300_000, b"", b"end"]


def test_how_it_ended(program: Program) -> None:
    assert re.search(r"status 1\b.*no such thing$", died(program("sys.exit('no such thing')")))
    assert "signal 6" in died(program("os.abort()"))


def test_memory_is_limited_and_the_limit_is_said(program: Program) -> None:
    command = program("held = []\nwhile True: held.append(b'x' * (8 << 20))")
    assert re.search(r"0\.1 GB.*memory_limit", died(command, memory_limit=100_000_000))


def test_memory_of_what_it_started_counts(program: Program) -> None:
    command = program("""
if os.fork() == 0:
    held = []
    while True: held.append(b'x' * (8 << 20))
time.sleep(60)
""")
    assert "memory_limit" in died(command, memory_limit=100_000_000)


def test_shared_pages_count_once(program: Program) -> None:
    command = program("""
held = b'x' * (100 << 20)
for _ in range(4):
    if os.fork() == 0: time.sleep(60)
time.sleep(0.5)
print('done', flush=True)
time.sleep(60)
""")
    child = Child(command, memory_limit=200 << 20)
    try:
        assert child.listen(time.monotonic() + 30) == b"done"
    finally:
        child.close()


def test_silence_is_overdue(program: Program) -> None:
    child = Child(program("time.sleep(60)"))
    with pytest.raises(Overdue):
        child.listen(time.monotonic() + 0.3)
    assert child.process.returncode == -9


def test_a_line_without_end_is_refused(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "LONGEST_LINE", 1 << 20)
    assert "1,048,576 bytes" in died(program("while True: print('x' * 65536, end='')"))


def test_what_it_complains_of_does_not_fill_the_disk(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_process, "COMPLAINTS_KEPT", 1 << 20)
    child = Child(program("while True: sys.stderr.write('x' * 65536 + chr(10))"))
    with pytest.raises(Overdue):
        child.listen(time.monotonic() + 1)


@pytest.mark.parametrize("ending", ["os._exit(0)", "os._exit(3)", "time.sleep(60)"])
def test_a_daemon_that_holds_the_pipe_is_ended(program: Program, tmp_path: Path, ending: str) -> None:
    place = tmp_path / "pid"
    command = program(f"""
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open({str(place)!r} + '.part', 'w').write(str(os.getpid()))
        os.rename({str(place)!r} + '.part', {str(place)!r})
        time.sleep(600)
    os._exit(0)
while not os.path.exists({str(place)!r}): time.sleep(0.01)
{ending}
""")
    start = time.monotonic()
    child = Child(command)
    try:
        child.listen(start + 1)
    except ChildDied:
        pass
    finally:
        child.close()
    assert time.monotonic() - start < 20
    assert not lives(int(place.read_text(encoding="ascii")))


def test_what_it_said_in_an_earlier_request_is_no_reason_of_a_later_one(program: Program) -> None:
    answers = "for line in sys.stdin:\n    line == '2\\n' and os._exit(3)\n    print('noise', file=sys.stderr)\n"
    child = Child(program(answers + "    print(line.strip(), flush=True)\n"), asked=True)
    try:
        assert child.ask(b"1", lambda _: False) == (b"1", 1)
        with pytest.raises(ChildDied) as caught:
            child.ask(b"2", lambda _: False)
    finally:
        child.close()
    assert str(caught.value) == "ended with status 3"


def test_standard_input_is_empty(program: Program) -> None:
    assert list(said_by(program("print(repr(sys.stdin.read()))"))) == [b"''"]


def test_a_request_to_one_that_does_not_read_is_overdue(program: Program) -> None:
    child = Child(program("time.sleep(60)"), asked=True)
    try:
        with pytest.raises(Overdue):
            child.tell(b"x" * (1 << 22), time.monotonic() + 0.3)
    finally:
        child.close()


def test_no_process_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(*_: object, **__: object) -> None:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(subprocess, "Popen", none_left)
    with pytest.raises(InputError, match=r"process.*: Too many open files"):
        Child(["program"])


# ---------------------------------------------------------------------------------------------- cases of a run


def measured(row: str, **options: object) -> CaseResult:
    result = pyharness.run([row, "raw_bytes"], ["sample:prose"], ["integrity"], **options)  # type: ignore[arg-type]
    by_row = {one.case.tokenizer: one for one in result.record.results}
    assert by_row["raw_bytes"].status == "ok", "a stranger costs its own case"
    return by_row[row]


@pytest.mark.usefixtures("doubles")
def test_a_case_without_bounds_is_stopped_at_the_memory_limit() -> None:
    result = measured("hungry", memory_limit="300MB")
    assert re.search(r"0\.3 GB.*memory_limit", str(result.reason))


@pytest.mark.usefixtures("doubles")
def test_a_library_that_reads_standard_input_finds_nothing() -> None:
    assert measured("reading").status == "ok"


@pytest.mark.usefixtures("doubles")
def test_a_daemon_costs_one_case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOUBLES_MARKER", str(tmp_path / "pid"))
    assert "status 7" in str(measured("daemonising").reason)
    assert not lives(int((tmp_path / "pid").read_text(encoding="ascii")))


def test_marks_of_a_childs_child_are_those_of_both(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(process_tree.MARK, "outer")
    (line,) = said_by(program(f"print(os.environ[{process_tree.MARK!r}])"))
    assert line.startswith(b"outer,")


def test_no_memory_without_limit() -> None:
    limit = child_process.default_memory_limit()
    assert limit is not None
    assert 0 < limit < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def test_another_program_in_a_folder_and_with_variables_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ELSEWHERE", "1")
    script = tmp_path / "script.py"
    script.write_text("import os\nprint(os.getcwd())\nprint(sorted(os.environ))\n", encoding="utf-8")
    child = Child([str(script)], program=[sys.executable, "-I"], folder=tmp_path, environment={"A": "b"}, bare=True)
    try:
        folder, names = child.listen(), child.listen()
    finally:
        child.close()
    assert folder == str(tmp_path).encode()
    assert names is not None
    assert set(ast.literal_eval(names.decode())) - {"LC_CTYPE"} == {"A", process_tree.MARK}
