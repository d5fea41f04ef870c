"""A repository with pull requests, and what happens to each of them: the gate measures, another workflow comments."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from workflows.github import GitHub
from workflows.playing import Runner

ROOT = Path(__file__).parents[3]
WORKFLOWS = Path(".github/workflows")
PLAYED = ("action.yml", ".github")
SLOW = "slow"  # a file by which the stand-in of the gate finds a regression
MEASURED = "PYHARNESS_PLAY_MEASURED"  # set: the package is installed, and the gate measures the suite that it names
NAMED = ("git", "-c", "user.name=Someone", "-c", "user.email=someone@example.com")
# The stand-in of an interpreter: environments that it makes have stand-ins of pip and of pyharness.
PYTHON = """#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
if [ "$1 $2" = "-m venv" ]; then
  mkdir -p "$3/bin" && ln -s "$here/python" "$3/bin/python" && ln -s "$here/pyharness" "$3/bin/pyharness"
elif [ "$1 $2" = "-m pip" ]; then
  echo "pip $*"
  [ ! -e broken ]
else
  exec {python} "$@"
fi
"""
PYHARNESS = '#!/bin/sh\nexec {python} -P {stand_in} "$@"\n'


@dataclass
class Stage:
    """One repository on one GitHub."""

    folder: Path
    github: GitHub
    runs: int = 0
    shas: dict[int, str] = field(default_factory=dict)
    sources: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.origin = self.folder / "origin"
        self.programs = (_stand_ins(self.folder / "programs"),)
        if MEASURED in os.environ:
            subprocess.run(["git", "clone", "--quiet", ROOT, self.origin], check=True)  # noqa: S607
            self._git("checkout", "--quiet", "-B", "main")
            return
        self.origin.mkdir()
        self._git("init", "--quiet", "--initial-branch=main")
        for name in PLAYED:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, self.origin / name)
        self._commit("main")

    def open(self, number: int, source: str, files: Mapping[str, str]) -> None:
        """Open a pull request from a branch (``source`` is this repository) or a fork, with these files."""
        self._git("checkout", "--quiet", "-B", f"change-{number}", "main")
        for name, text in files.items():
            (self.origin / name).parent.mkdir(parents=True, exist_ok=True)
            (self.origin / name).write_text(text, encoding="utf-8")
        self.shas[number], self.sources[number] = self._commit(f"change {number}"), source
        self._git("checkout", "--quiet", "--detach", "main")
        self._git("merge", "--quiet", "--no-ff", "-m", "merge", self.shas[number])
        self._git("update-ref", f"refs/pull/{number}/merge", "HEAD")
        self._git("checkout", "--quiet", "main")
        self.github.add_pull(number, self.shas[number], source)

    def measure(self, number: int, workflow: str = "gate.yml") -> tuple[Runner, bool]:
        """Run a workflow of a pull request as it stands in its merge commit."""
        source = self.sources[number]
        event = {"pull_request": {"number": number}, "repository": {"full_name": self.github.repository}}
        runner = self._runner("pull_request", event, f"refs/pull/{number}/merge", source != self.github.repository)
        text = self._git("show", f"refs/pull/{number}/merge:{WORKFLOWS / workflow}")
        return runner, self._play(runner, workflow, text)

    def comment(self, number: int, run: int) -> tuple[Runner, bool]:
        """Run the other workflow, as it stands in the default branch, on a run of the first that has ended."""
        runner = self._runner("workflow_run", self.event(number, run), "refs/heads/main", False)
        return runner, self._play(
            runner, "gate-comment.yml", self._git("show", f"main:{WORKFLOWS / 'gate-comment.yml'}")
        )

    def event(self, number: int, run: int) -> dict[str, object]:
        """What GitHub tells of a run that has ended; of a fork's, it names no pull request."""
        return {
            "workflow_run": {
                "id": run,
                "run_number": run,
                "run_attempt": 1,
                "event": "pull_request",
                "conclusion": "success",
                "head_sha": self.shas[number],
                "head_repository": {"id": len(self.sources[number]), "full_name": self.sources[number]},
                "head_branch": f"change-{number}",
                "html_url": f"https://github.example/{self.github.repository}/actions/runs/{run}",
                "pull_requests": [],
            },
            "repository": {"full_name": self.github.repository, "default_branch": "main"},
        }

    def _runner(self, name: str, event: Mapping[str, object], ref: str, forked: bool) -> Runner:
        self.runs += 1
        folder = self.folder / f"machine-{self.runs}"
        return Runner(self.github, self.origin, folder, name, event, ref, self.runs, forked, self.programs)

    def _play(self, runner: Runner, name: str, text: str) -> bool:
        runner.folder.mkdir()
        (runner.folder / name).write_text(text, encoding="utf-8")
        done = runner.play(runner.folder / name)
        sys.stdout.write(
            "".join(f"  {line}\n" for line in [f"{name} of {runner.ref}, fork: {runner.forked}", *runner.log])
        )
        return done

    def _commit(self, message: str) -> str:
        self._git("add", "--all", "--force")
        self._git("commit", "--quiet", "-m", message)
        return self._git("rev-parse", "HEAD").strip()

    def _git(self, *arguments: str) -> str:
        done = subprocess.run([*NAMED, *arguments], cwd=self.origin, check=True, capture_output=True, text=True)
        return done.stdout


def _stand_ins(folder: Path) -> Path:
    folder.mkdir()
    if MEASURED in os.environ:  # what setup-python gives
        for name in ("python", "python3"):
            (folder / name).symlink_to(Path(sys.base_prefix) / "bin" / "python3")
        return folder
    stand_in = Path(__file__).with_name("stand_in.py")
    for name, text in {"python": PYTHON, "python3": PYTHON, "pyharness": PYHARNESS}.items():
        script = text.replace("{python}", sys.executable).replace("{stand_in}", str(stand_in))
        (folder / name).write_text(script, encoding="utf-8")
        (folder / name).chmod(0o755)
    return folder
