"""Runs a project's own benchmarks on request: pytest, with a ``benchmark`` fixture that waits for its turn.

A standalone file, run as ``python -P -s pytest_plugin.py DRIVER`` next to ``pytest_fixture.py``, so that both
interpreters run the same bytes. It needs pytest, but not pytest-benchmark, whose plug-in is off.

Messages and answers are lines of JSON as in the driver, one answer per message.

- ``hello``: facts and libraries.
- ``collect`` (``arguments`` of pytest, ``test``: class or test in the file, or "", wanted ``names`` or null,
  ``modules`` under test): starts pytest; answers with the collected benchmarks, the errors of collection, and the
  origin of the modules.
- ``prepare`` (``name``): runs a test until it hands a function to its fixture, which calls it once. Tests run in the
  order of collection; those before the named one are skipped.
- ``time`` (``calls``): times calls of the function.
- ``finish``: lets the test go on to its checks; answers when it has ended.

pytest 7.4 is enough, because a base may be old.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import re
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

# Plug-ins that decide when and whether a test runs, and the real fixture. None of them has to be installed.
OFF = ("benchmark", "timeout", "randomly", "random_order", "rerunfailures")
# Options of pytest-benchmark: a project's settings may name them, and its tests may ask for them.
FLAGS = ("disable-gc", "skip", "disable", "enable", "only", "autosave", "save-data", "verbose", "quiet")
VALUED = (
    *("min-time", "max-time", "min-rounds", "precision", "confidence", "timer", "calibration-precision"),
    *("warmup-iterations", "save", "json", "cprofile", "cprofile-loops", "cprofile-top", "sort", "group-by"),
    *("columns", "name", "storage", "netrc", "time-unit"),
)
LONGEST = 500  # characters of a reason
OPTIONAL = ("warmup", "compare", "histogram", "csv", "cprofile-dump")
HOOKS = (
    *("scale_unit", "generate_machine_info", "update_machine_info", "generate_commit_info", "update_commit_info"),
    *("group_stats", "generate_json", "update_json", "compare_machine_info"),
)


class Conversation:
    """Messages of the parent, with one answer each."""

    def __init__(self, asked: BinaryIO, answers: BinaryIO) -> None:
        self._asked, self._answers = asked, answers
        self.message: dict[str, Any] | None = None  # waits for its answer

    def hear(self) -> dict[str, Any]:
        """Return the unanswered message, or wait for the next; end this process when the input ends."""
        if self.message is None:
            line = self._asked.readline()
            if not line:
                os._exit(3)
            self.message = json.loads(line)
        return self.message or {}

    def answer(self, **what: Any) -> None:
        """Answer the waiting message, if any."""
        if self.message is not None:
            self._answers.write(json.dumps({"id": self.message["id"], **what}).encode() + b"\n")
            self._answers.flush()
            self.message = None


class PytestSession:
    """Hooks of pytest, and the state of the running test."""

    def __init__(self, conversation: Conversation, driver: Any, fixture: Any) -> None:
        message = conversation.hear()
        self.conversation, self.driver, self.fixture = conversation, driver, fixture
        self.wanted = None if message["names"] is None else set(message["names"])
        self.test: str = message["test"]
        self.modules: list[str] = message["modules"]
        self.parser: Any = None
        self.tests = 0
        self.broken: dict[str, str] = {}
        self.skipped: dict[str, str] = {}
        self.outcome = ("passed", "")
        self.figures: dict[str, int] = {}

    @pytest.fixture
    def benchmark(self, request: pytest.FixtureRequest) -> Any:
        """Stand in for the fixture of pytest-benchmark."""
        return self.fixture.BenchmarkFixture(request.node, self)

    @pytest.fixture
    def benchmark_weave(self, benchmark: Any) -> Any:
        """Stand in for the other fixture of pytest-benchmark."""
        return benchmark.weave

    def serve(self, name: str, timed: Callable[[int], tuple[int, int]]) -> None:
        """Answer the parent's requests until it finishes the test."""
        resident = self.driver.peak_from_here()
        self.conversation.answer()
        while (message := self.conversation.hear())["do"] != "finish":
            if message["do"] != "time":
                self.conversation.answer(error=f"{name} is not finished")
                continue
            enabled = gc.isenabled()
            gc.disable()
            faults = self.driver.pages_read()
            try:
                wall, cpu = timed(message["calls"])
            except BaseException as error:
                self.conversation.answer(error=" ".join(f"{type(error).__name__}: {error}".split())[:LONGEST])
                raise
            finally:
                if enabled:
                    gc.enable()
            faults = self.driver.pages_read() - faults
            self.conversation.answer(wall=wall, cpu=cpu, calls=message["calls"], faults=faults)
        peak = self.driver.status("VmHWM")
        if resident is not None and peak is not None:
            self.figures = {"memory": max(0, peak - resident)}

    def pytest_addhooks(self, pluginmanager: pytest.PytestPluginManager) -> None:
        """Register the hooks of pytest-benchmark, which nothing calls here."""

        def hook(
            config: Any, unit: Any, benchmarks: Any, best: Any, worst: Any, sort: Any, machine_info: Any,
            commit_info: Any, group_by: Any, include_data: Any, output_json: Any, benchmarksession: Any,
            compared_benchmark: Any,
        ) -> None:  # fmt: skip
            """Declare all arguments of these hooks: an implementation may name only some."""

        hooks = types.ModuleType("hooks")
        vars(hooks).update({f"pytest_benchmark_{name}": pytest.hookspec(hook) for name in HOOKS})
        pluginmanager.add_hookspecs(hooks)

    def pytest_addoption(self, parser: pytest.Parser) -> None:
        """Register the options of pytest-benchmark, which have no effect here."""
        self.parser, group = parser, parser.getgroup("benchmark")
        for name in FLAGS:
            group.addoption(f"--benchmark-{name}", action="store_true")
        for name in VALUED:
            group.addoption(f"--benchmark-{name}")
        for name in OPTIONAL:
            group.addoption(f"--benchmark-{name}", nargs="?")
        group.addoption("--benchmark-compare-fail", nargs="+")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_load_initial_conftests(self, args: list[str], parser: pytest.Parser) -> Iterator[None]:
        """Drop unknown options with their values: a project's settings may belong to its own plug-ins."""
        yield
        unknown = parser.parse_known_and_unknown_args(list(args))[1]
        kept, value = [], False
        for argument in args:
            is_option = argument.startswith("-")
            dropped = argument in unknown if is_option else value
            value = is_option and dropped and "=" not in argument
            if not dropped:
                kept.append(argument)
        args[:] = kept

    def pytest_configure(self, config: pytest.Config) -> None:
        """Register markers and settings of absent plug-ins: under --strict-config they would be errors."""
        config.addinivalue_line("markers", "benchmark: settings of a benchmark; without effect here")
        config.addinivalue_line("markers", "timeout: without effect here")
        for name in vars(config).get("_inicfg") or vars(config).get("inicfg") or ():
            try:
                config.getini(name)
            except (ValueError, KeyError):
                self.parser.addini(name, "not known here", default=None)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note why a file gives no tests."""
        if report.failed:
            self.broken[report.nodeid] = _reason(report)
        elif report.skipped:
            self.skipped[report.nodeid] = _reason(report)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
        """Keep only the wanted benchmarks."""
        yield
        named = [item for item in items if _is_of(self.test, item.nodeid)]  # pytest itself would end without a match
        chosen = [item for item in named if "benchmark" in getattr(item, "fixturenames", ())]
        self.tests = len(named)
        if self.wanted is not None:
            chosen = [item for item in chosen if item.nodeid in self.wanted]
        items[:] = chosen

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Report the collected benchmarks, and where the modules under test are or would be imported from."""
        names = [item.nodeid for item in session.items]
        origins = {name: _origin(name) for name in self.modules}
        self.conversation.answer(
            collected=names, broken=self.broken, skipped=self.skipped, tests=self.tests, origins=origins
        )

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Run a test if the parent wants it, else skip it through pytest: a module's fixtures stay in order."""
        while (message := self.conversation.hear())["do"] != "prepare":
            self.conversation.answer(error="nothing is prepared")
        asked = message["name"] == item.nodeid
        if not asked:
            item.add_marker(pytest.mark.skip(reason="not asked for"))
        self.outcome, self.figures = ("passed", ""), {}
        yield
        if not asked or self.conversation.message is None:
            return
        outcome, reason = self.outcome
        if outcome == "failed":
            self.conversation.answer(error=f"the test fails: {reason}")
        elif self.conversation.message["do"] == "finish":
            self.conversation.answer(figures=self.figures)
        else:
            self.conversation.answer(absent=reason or "the test does not call its benchmark fixture")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the first failure of a test, or else that it is skipped."""
        if report.outcome != "passed" and self.outcome[0] != "failed":
            self.outcome = (report.outcome, _reason(report))


def _is_of(test: str, name: str) -> bool:
    """Whether ``name`` is the test ``test`` of its file, one of its parametrisations, or in a class of that name."""
    inside = name.partition("::")[2]
    return not test or inside == test or inside.startswith((f"{test}[", f"{test}::"))


def _reason(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        return str(crash.message).strip().partition("\n")[0]
    if isinstance(report.longrepr, tuple):  # of a skipped test: file, line, reason
        return str(report.longrepr[2])
    text = str(report.longrepr).strip()
    reason = text.rpartition("\n")[2].removeprefix("E ").strip()
    places = re.findall(r'^E? *File "(.+)", line (\d+)$', text, re.MULTILINE)  # only a SyntaxError has its own
    if not places or places[-1][0].startswith("<"):
        return reason
    file, line = places[-1]
    root = next((path for path in sys.path if path and file.startswith(path + os.sep)), os.sep)
    return f"{reason} ({os.path.relpath(file, root)}, line {line})"


def _origin(module: str) -> str | None:
    """Return the file from which a module is, or would be, imported."""
    loaded = sys.modules.get(module)
    spec = getattr(loaded, "__spec__", None) if loaded else importlib.util.find_spec(module)
    return None if spec is None else spec.origin or next(iter(spec.submodule_search_locations or ()), None)


def _import(file: Path) -> Any:
    """Import a file whose folder is not on the path, since its names would hide the project's."""
    spec = importlib.util.spec_from_file_location(f"gate_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


def _stand_in(benchmark: type) -> None:
    """Make ``from pytest_benchmark.fixture import BenchmarkFixture`` (for a type hint) work without the plug-in."""
    if importlib.util.find_spec("pytest_benchmark") is None:
        package, fixture = types.ModuleType("pytest_benchmark"), types.ModuleType("pytest_benchmark.fixture")
        package.__path__ = []
        vars(fixture)["BenchmarkFixture"] = benchmark
        vars(package)["fixture"] = fixture
        sys.modules.update({"pytest_benchmark": package, "pytest_benchmark.fixture": fixture})


def _arguments(asked: list[str]) -> list[str]:
    serial = ["-n0"] if importlib.util.find_spec("xdist") else []
    untraced = ["--no-cov"] if importlib.util.find_spec("pytest_cov") else []
    fixed = ["--color=no", "--maxfail=0", "--continue-on-collection-errors", "-orequired_plugins="]
    return [*(f"-pno:{name}" for name in OFF), *serial, *untraced, *fixed, *asked]


def main() -> None:
    """Answer messages until the input ends; output of pytest and of the tests goes to standard error."""
    driver, fixture = _import(Path(sys.argv[1])), _import(Path(__file__).with_name("pytest_fixture.py"))
    driver.end_with_parent()
    conversation = Conversation(*driver.private_pipes())
    while True:
        message = conversation.hear()
        if message["do"] == "hello":
            conversation.answer(facts=driver.facts(), libraries=driver.libraries())
        elif message["do"] == "collect":
            _stand_in(fixture.BenchmarkFixture)
            session = PytestSession(conversation, driver, fixture)
            status = int(pytest.main(_arguments(message["arguments"]), plugins=[session]))
            conversation.answer(error=f"pytest has ended with status {status}")
        else:
            conversation.answer(error="pytest has ended")


if __name__ == "__main__":
    main()
