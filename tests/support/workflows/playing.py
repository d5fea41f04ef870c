"""Play a workflow file: its ``run:`` steps in bash, its ``uses:`` steps by small stand-ins."""

from __future__ import annotations

import io
import json
import os
import shutil
import subprocess
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from workflows.expressions import filled, holds, text_of
from workflows.github import GitHub

PASSED_ON = ("PIP_", "CMAKE_")  # what pip and builds need here
SLOWEST_STEP = 7200  # seconds: one that builds, on a machine with other work
SHELLS = {None: ("bash", "-e"), "bash": ("bash", "--noprofile", "--norc", "-eo", "pipefail")}


@dataclass
class Runner:
    """A fresh machine of GitHub's for one run of a workflow."""

    github: GitHub
    origin: Path  # the repository that checkouts are of
    folder: Path  # of this machine: all that it writes lies here
    event_name: str
    event: Mapping[str, Any]
    ref: str  # what a checkout without a ref gets
    run: int = 1
    forked: bool = False  # whether the event is of a fork: its token may read and nothing else
    programs: tuple[Path, ...] = ()  # folders of stand-ins, first on the PATH
    token: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)  # of the whole workflow
    log: list[str] = field(default_factory=list)
    attempt: int = 1

    def play(self, workflow: Path) -> bool:
        """Run every job, in order; return whether all of them succeeded."""
        content = yaml.safe_load(workflow.read_text(encoding="utf-8"))
        for name in ("work", "temp", "home"):
            (self.folder / name).mkdir(parents=True)
        (self.folder / "event.json").write_text(json.dumps(self.event), encoding="utf-8")
        rights = content.get("permissions")
        self.variables = {name: text_of(value) for name, value in content.get("env", {}).items()}
        done = [self._job(f"{workflow.name} {name}", job, rights) for name, job in content["jobs"].items()]
        return all(done)

    def _job(self, name: str, job: Mapping[str, Any], permissions: Mapping[str, str] | None) -> bool:
        rights = job.get("permissions", permissions)
        assert rights is not None, f"{name} says nothing of its rights"
        self.token = self.github.token(dict.fromkeys(rights, "read") if self.forked else rights)
        if not holds(job.get("if", "success()"), self._contexts(), True):
            self.log.append(f"{name}: skipped")
            return True
        return self._steps(name, job["steps"], {})

    def _steps(self, name: str, steps: list[Mapping[str, Any]], inputs: Mapping[str, str]) -> bool:
        succeeded = True
        outputs: dict[str, Any] = {}
        contexts = self._contexts() | {"inputs": inputs, "steps": outputs}
        for step in steps:
            label = f"{name}: {step.get('name') or step.get('uses') or step['run'].splitlines()[0]}"
            if not holds(step.get("if", "success()"), contexts, succeeded):
                self.log.append(f"{label}: skipped")
                continue
            done = self._step(label, step, contexts)
            outputs[step.get("id", "")] = {"outputs": self._outputs()}
            self.log.append(f"{label}: {'done' if done else 'failed'}")
            succeeded = succeeded and done
        return succeeded

    def _step(self, label: str, step: Mapping[str, Any], contexts: Mapping[str, Any]) -> bool:
        if "run" in step:
            assert "${{" not in step["run"], f"{label}: what an expression gives would be run"
            variables = {key: filled(text_of(value), contexts) for key, value in step.get("env", {}).items()}
            return self._bash(step["run"], SHELLS[step.get("shell")], variables)
        given = {key: filled(text_of(value), contexts) for key, value in step.get("with", {}).items()}
        action = step["uses"].partition("@")[0]
        if action == "./":
            composite = yaml.safe_load((self.folder / "work" / "action.yml").read_text(encoding="utf-8"))
            assert given.keys() <= composite["inputs"].keys()
            inputs = {key: str(about.get("default", "")) for key, about in composite["inputs"].items()} | given
            return self._steps(f"{label} action.yml", composite["runs"]["steps"], inputs)
        {
            "actions/checkout": self._checkout,
            "actions/setup-python": lambda _: None,
            "actions/upload-artifact": self._keep,
            "actions/cache/restore": self._restore,
            "actions/cache/save": self._save,
        }[action](given)
        return True

    def _bash(self, script: str, shell: tuple[str, ...], variables: Mapping[str, str]) -> bool:
        file = self.folder / "temp" / "script.sh"
        file.write_text(script, encoding="utf-8")
        environment = (
            {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
            | {
                "PATH": os.pathsep.join([*map(str, self.programs), "/usr/local/bin:/usr/bin:/bin"]),
                "HOME": str(self.folder / "home"),
                "CI": "true",
                "RUNNER_TEMP": str(self.folder / "temp"),
                "GITHUB_ACTION_PATH": str(self.folder / "work"),
                "GITHUB_API_URL": self.github.address,
                "GITHUB_EVENT_NAME": self.event_name,
                "GITHUB_EVENT_PATH": str(self.folder / "event.json"),
                "GITHUB_OUTPUT": str(self.folder / "temp" / "outputs"),
                "GITHUB_REPOSITORY": self.github.repository,
                "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
                "GITHUB_WORKSPACE": str(self.folder / "work"),
            }
            | {**self.variables, **variables}
        )
        with (self.folder / "output.txt").open("a", encoding="utf-8") as output:
            done = subprocess.run(
                [*shell, str(file)], cwd=self.folder / "work", env=environment, check=False, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, timeout=SLOWEST_STEP,
            )  # fmt: skip
        return done.returncode == 0

    def _outputs(self) -> dict[str, str]:
        """Return what the step before has set, one line each, and forget it."""
        file = self.folder / "temp" / "outputs"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return dict(line.split("=", 1) for line in lines)

    def _checkout(self, given: Mapping[str, str]) -> None:
        assert given["persist-credentials"] == "false", "the token would lie where code of a pull request can read it"
        ref = given.get("ref") or self.ref
        work = self.folder / "work"
        self._git("init", "--quiet")
        if "sparse-checkout" in given:
            self._git("sparse-checkout", "set", given["sparse-checkout"])
        depth = given.get("fetch-depth", "1")
        wanted = ("--tags",) if depth == "0" else ("--depth", depth)
        self._git("fetch", "--quiet", *wanted, f"file://{self.origin}", ref)
        self._git("checkout", "--quiet", "FETCH_HEAD")
        self.log.append(f"checked out {ref}: {len(list(work.iterdir())) - 1} entries")

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.folder / "work", check=True, capture_output=True)  # noqa: S607

    def _keep(self, given: Mapping[str, str]) -> None:
        archive = io.BytesIO()
        folder = self.folder / "work" / given["path"]
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        if not files:
            self.log.append("no files were found to keep")
            return
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
            for path in files:
                packed.write(path, path.relative_to(folder))
        self.github.keep(self.run, archive.getvalue(), given["name"])

    def _restore(self, given: Mapping[str, str]) -> None:
        keys = [key for key in self.github.caches if key.startswith((given["key"], given["restore-keys"]))]
        if keys:
            shutil.copytree(self.github.caches[keys[-1]], self.folder / "work" / given["path"], dirs_exist_ok=True)

    def _save(self, given: Mapping[str, str]) -> None:
        kept = self.folder / "cached"
        shutil.copytree(self.folder / "work" / given["path"], kept)
        assert self.github.caches.setdefault(given["key"], kept) == kept, "a cache is never written again"

    def _contexts(self) -> dict[str, Any]:
        github = {"event": self.event, "event_name": self.event_name, "token": self.token, "ref": self.ref,
                  "run_id": self.run, "run_attempt": self.attempt}  # fmt: skip
        return {"github": github, "runner": {"temp": str(self.folder / "temp")}}
