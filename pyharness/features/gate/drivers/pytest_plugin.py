"""Runs a project's own benchmarks when it is told to: pytest, with a ``benchmark`` fixture that waits for its turn.

A file of its own, run as ``python -P -s pytest_plugin.py DRIVER`` with ``pytest_fixture.py`` beside it: the interpreter
of either arm runs the same bytes. It needs pytest, but no pytest-benchmark, whose plug-in is off.

Messages and answers are those of the driver: lines of JSON, one for each.

- ``hello``: facts and libraries.
- ``collect`` (``arguments`` of pytest, ``test``: class or test in the file, or "", ``names`` that are wanted or null,
  ``modules`` under test): starts pytest; answered with the benchmarks it has collected, what it could not collect, and
  where the modules come from.
- ``prepare`` (``name``): runs a test until it hands a function to its fixture, which calls it once. Tests run in the
  order in which they were collected; those before the named one are skipped.
- ``time`` (``calls``): calls the function on the clock.
- ``finish``: lets the test go on to its checks; answered when it has ended.

pytest 7.4 is enough, because a base may be old.
"""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

# Whoever decides when and whether a test runs, and the real fixture. What is named here need not be installed.
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
    """Messages of the parent, each answered once."""

    def __init__(self, asked: BinaryIO, answers: BinaryIO) -> None:
        self._asked, self._answers = asked, answers
        self.message: dict[str, Any] | None = None  # the one that waits for its answer

    def hear(self) -> dict[str, Any]:
        """Return the message that waits for its answer, or wait for one; ends this process where nobody asks."""
        if self.message is None:
            line = self._asked.readline()
            if not line:
                os._exit(3)
            self.message = json.loads(line)
        return self.message or {}

    def answer(self, **what: Any) -> None:
        """Answer the message, if one waits."""
        if self.message is not None:
            self._answers.write(json.dumps({"id": self.message["id"], **what}).encode() + b"\n")
            self._answers.flush()
            self.message = None


class PytestSession:
    """Hooks of pytest, and what is known of the test that runs."""

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
        """Stand for the fixture of pytest-benchmark."""
        return self.fixture.BenchmarkFixture(request.node, self)

    @pytest.fixture
    def benchmark_weave(self, benchmark: Any) -> Any:
        """Stand for the other fixture of pytest-benchmark."""
        return benchmark.weave

    def serve(self, name: str, timed: Callable[[int], tuple[int, int]]) -> None:
        """Do what the parent asks for, until it is satisfied."""
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
        """Know the hooks of pytest-benchmark, which nothing calls here."""

        def hook(
            config: Any, unit: Any, benchmarks: Any, best: Any, worst: Any, sort: Any, machine_info: Any,
            commit_info: Any, group_by: Any, include_data: Any, output_json: Any, benchmarksession: Any,
            compared_benchmark: Any,
        ) -> None:  # fmt: skip
            """Take what any of them takes: an implementation need not name it all."""

        hooks = types.ModuleType("hooks")
        vars(hooks).update({f"pytest_benchmark_{name}": pytest.hookspec(hook) for name in HOOKS})
        pluginmanager.add_hookspecs(hooks)

    def pytest_addoption(self, parser: pytest.Parser) -> None:
        """Know the options of pytest-benchmark, which mean nothing here."""
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
        """Drop options that nothing here knows, with their values: a project's settings name plug-ins of its own."""
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
        """Know markers and settings of plug-ins that this arm lacks: under --strict-config they would end it."""
        config.addinivalue_line("markers", "benchmark: settings of a benchmark; without effect here")
        config.addinivalue_line("markers", "timeout: without effect here")
        for name in vars(config).get("_inicfg") or vars(config).get("inicfg") or ():
            try:
                config.getini(name)
            except (ValueError, KeyError):
                self.parser.addini(name, "not known here", default=None)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Keep why a file gives no tests."""
        if report.failed:
            self.broken[report.nodeid] = _reason(report)
        elif report.skipped:
            self.skipped[report.nodeid] = _reason(report)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
        """Leave the benchmarks that are wanted."""
        yield
        named = [item for item in items if _is_of(self.test, item.nodeid)]  # pytest would end where it has no such test
        chosen = [item for item in named if "benchmark" in getattr(item, "fixturenames", ())]
        self.tests = len(named)
        if self.wanted is not None:
            chosen = [item for item in chosen if item.nodeid in self.wanted]
        items[:] = chosen

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Say what there is, and from where the modules under test were imported so far."""
        names = [item.nodeid for item in session.items]
        origins = {name: _origin(name) for name in self.modules}
        self.conversation.answer(
            collected=names, broken=self.broken, skipped=self.skipped, tests=self.tests, origins=origins
        )

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Run a test if the parent wants it, else skip it as pytest does: fixtures of a module stay in order."""
        while (message := self.conversation.hear())["do"] != "prepare":
            self.conversation.answer(error="nothing is prepared")
        asked = message["name"] == item.nodeid
        if not asked:
            item.add_marker(pytest.mark.skip(reason="not asked for"))
        self.outcome, self.figures = ("passed", ""), {}
        yield
        if asked and self.conversation.message is not None:
            self._answer_for_the_test(self.conversation.message["do"])

    def _answer_for_the_test(self, asked: str) -> None:
        outcome, reason = self.outcome
        if outcome == "failed":
            self.conversation.answer(error=f"the test fails: {reason}")
        elif asked == "finish":
            self.conversation.answer(figures=self.figures)
        else:
            self.conversation.answer(absent=reason or "the test does not call its benchmark fixture")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the first thing that was wrong with a test."""
        if report.outcome != "passed" and self.outcome[0] != "failed":
            self.outcome = (report.outcome, _reason(report))


def _is_of(test: str, name: str) -> bool:
    """Whether a test is the one that is named within its file, one of its parameters, or in the class of that name."""
    inside = name.partition("::")[2]
    return not test or inside == test or inside.startswith((f"{test}[", f"{test}::"))


def _reason(report: Any) -> str:
    crash = getattr(report.longrepr, "reprcrash", None)
    if crash is not None:
        return str(crash.message).strip().partition("\n")[0]
    if isinstance(report.longrepr, tuple):  # of a skipped test: file, line, reason
        return str(report.longrepr[2])
    lines = [line for line in str(report.longrepr).splitlines() if line.strip()]
    return lines[-1].strip().removeprefix("E ").strip() if lines else ""


def _origin(module: str) -> str | None:
    """Return the file that a module is, or would be, imported from."""
    loaded = sys.modules.get(module)
    spec = getattr(loaded, "__spec__", None) if loaded else importlib.util.find_spec(module)
    return None if spec is None else spec.origin or next(iter(spec.submodule_search_locations or ()), None)


def _imported(file: Path) -> Any:
    """Import a file whose folder is not on the path: the names in it would hide the project's."""
    spec = importlib.util.spec_from_file_location(f"gate_{file.stem}", file)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


def _stand_in(benchmark: type) -> None:
    """Let ``from pytest_benchmark.fixture import BenchmarkFixture``, for a type hint, work where it is lacking."""
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
    """Answer until nobody asks; what pytest and the tests print goes to standard error."""
    driver, fixture = _imported(Path(sys.argv[1])), _imported(Path(__file__).with_name("pytest_fixture.py"))
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
