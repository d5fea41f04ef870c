"""Programs that are run to their end: their words, their variables, and what they leave running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from pyharness.system import process_tree, program
from pyharness.types import InputError


def test_what_it_says_comes_back(tmp_path: Path) -> None:
    script = "import os, sys; print(os.getcwd(), sys.stdin.read()); print('oh', file=sys.stderr); sys.exit(3)"
    ran = program.run([sys.executable, "-c", script], {}, folder=tmp_path, given=b"asked")
    assert (ran.status, ran.output, ran.complaints) == (3, f"{tmp_path} asked\n".encode(), "oh\n")


def test_it_has_no_variable_that_it_is_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "s")
    ran = program.run([sys.executable, "-c", "import os; print(sorted(os.environ))"], {"LC_ALL": "C.UTF-8"})
    assert ran.output.decode().strip() == str(sorted(["LC_ALL", process_tree.MARK]))


def test_a_log_gets_all_that_it_says_after_what_it_has(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n", encoding="utf-8")
    script = "import sys; print('out', flush=True); print('err', file=sys.stderr)"
    assert program.run([sys.executable, "-c", script], {}, log=log) == program.Ran(0, b"", "")
    assert log.read_text(encoding="utf-8") == "before\nout\nerr\n"


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize("ends", ["True", "False"])
def test_one_that_says_too_much_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: bool, ends: str
) -> None:
    monkeypatch.setattr(program, "MOST_SAID", 1 << 20)
    log = tmp_path / "log"
    log.write_bytes(bytes(1 << 20))  # what another has said
    script = f"import sys\nwhile True:\n    sys.stdout.write('x' * (1 << 21))\n    if {ends}: break"
    with pytest.raises(program.SaidTooMuch, match="1,048,576 bytes"):
        program.run([sys.executable, "-c", script], {}, log=log if kept else None)
    assert program.run([sys.executable, "-c", "print('all of it')"], {}, log=log if kept else None).status == 0


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(InputError, match="'no-such-program': No such file"):
        program.run(["no-such-program"], dict(os.environ))


def test_a_daemon_that_it_leaves_is_ended(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    script = (
        "import os, sys, time\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        f"    open({str(pid)!r} + '.part', 'w').write(str(os.getpid()))\n"
        f"    os.rename({str(pid)!r} + '.part', {str(pid)!r})\n"
        "    time.sleep(60)\n"
        f"while not os.path.exists({str(pid)!r}): time.sleep(0.01)\n"
    )
    program.run([sys.executable, "-c", script], {})
    assert not _lives(int(pid.read_text()))


def test_it_is_ended_when_we_are_interrupted(tmp_path: Path) -> None:
    pid = tmp_path / "pid"

    def interrupt() -> None:
        while not pid.exists() or not pid.read_text():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    script = f"import os, time; open({str(pid)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    with pytest.raises(KeyboardInterrupt):
        program.run([sys.executable, "-c", script], {})
    thread.join()
    assert not _lives(int(pid.read_text()))


def _lives(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


DEAF = (  # ignores what it can; its child is in a session of its own, and that one's child has lost its parent
    "import os, signal, sys, time\n"
    "def deaf():\n"
    "    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP): signal.signal(number, signal.SIG_IGN)\n"
    "    open(sys.argv[1], 'a').write(f'{os.getpid()}\\n')\n"
    "deaf()\n"
    "if os.fork() == 0:\n"
    "    os.setsid()\n"
    "    deaf()\n"
    "    if os.fork() == 0:\n"
    "        if os.fork() == 0: deaf()\n"
    "        else: os._exit(0)\n"
    "time.sleep(60)\n"
)


def test_what_takes_too_long_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    begun = time.monotonic()
    with pytest.raises(program.OutOfTime, match=r"\b1 s\b"):
        program.run([sys.executable, "-c", DEAF, str(pids)], {}, seconds=1)
    assert time.monotonic() - begun < 30
    started = list(map(int, pids.read_text().split()))
    assert len(started) == 3
    assert not any(map(_lives, started))


def test_it_is_ended_with_all_that_it_started_when_we_are_killed(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = "import sys; from pyharness.system import program; program.run([sys.executable, *sys.argv[1:]], {})"
    with subprocess.Popen([sys.executable, "-P", "-c", script, "-c", DEAF, pids]) as process:
        _await(lambda: pids.exists() and pids.read_text().count("\n") == 3)
        process.kill()
    started = list(map(int, pids.read_text().split()))
    try:
        _await(lambda: not any(map(_lives, started)))
    finally:
        for one in filter(_lives, started):
            os.kill(one, signal.SIGKILL)


def _await(met: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not met():
        assert time.monotonic() < until, "it does not come"
        time.sleep(0.02)


def test_one_that_holds_too_much_is_ended(tmp_path: Path) -> None:
    """Itself: what it starts may hold more, as compilers do."""
    script = "import sys, time; held = b'x' * 100_000_000; open(sys.argv[1], 'w').close(); time.sleep({})"
    holding = [sys.executable, "-c", script.format(60), str(tmp_path / "held")]
    with pytest.raises(program.SaidTooMuch, match="80,000,000 bytes"):
        program.run(holding, {}, memory=80_000_000)
    holding[2] = script.format(1)
    starting = [sys.executable, "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))"]
    assert program.run([*starting, *holding], {}, memory=80_000_000).status == 0


def test_nothing_outlasts_the_deadline_of_the_block() -> None:
    sleeping = [sys.executable, "-c", "import time; time.sleep(60)"]
    begun = time.monotonic()
    with program.until(begun + 0.5):
        with pytest.raises(program.OutOfTime), program.until(begun + 60):  # the nearer one holds
            program.run(sleeping, {})
        with pytest.raises(program.OutOfTime):  # what begins too late does not begin to last
            program.run(sleeping, {})
    assert time.monotonic() - begun < 30
    assert program.run([sys.executable, "-c", "import time; time.sleep(0.2)"], {}).status == 0
