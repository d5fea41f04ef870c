"""Fixtures: where the real data is, and plug-ins that behave badly."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import pyharness
from backends import backend as backend  # the fixture
from browsing.opened import browser as browser  # the fixture
from browsing.records import report as report  # the fixture
from layout import thoroughness, tiers
from pyharness.commands import session

SUPPORT = Path(__file__).parent / "support"

thoroughness.register()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Number of workers of ``-n auto``: a core each, and at most eight, because each may load torch."""
    return min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 8)


WATCH = tiers.Watch()
sys.addaudithook(WATCH.seen)
PASSED = "pyharness/passed"  # pytest's cache keeps the tests that passed when they last ran under this name


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of the last stage of ``.ci/run``."""
    parser.addoption("--rest", action="store_true", help="run what did not pass when it last ran: what was skipped")


def pytest_configure(config: pytest.Config) -> None:
    """Draw all examples where all tiers run. Keep a list of tests that pass; workers of a parallel run send theirs."""
    if not config.getoption("markexpr") and not config.getoption("hypothesis_profile", None):
        settings.load_profile("thorough")
    if not hasattr(config, "workerinput") and config.pluginmanager.has_plugin("cacheprovider"):
        config.pluginmanager.register(Passed(config))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by what they start; deselect the tests that passed when they last ran, where that is asked for."""
    tiers.mark(items)
    if config.getoption("rest"):
        before = set(config.cache.get(PASSED, []))
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in before])
        items[:] = [item for item in items if item.nodeid not in before]


def pytest_collection_finish() -> None:
    """Take what was collected out of the garbage collector's sight: timed calls ask it to look at all there is."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Let a test of the default tier start no whole command."""
    WATCH.test = item.nodeid if tiers.is_default(item) else None
    try:
        return (yield)
    finally:
        WATCH.test = None


class Passed:
    """The tests that passed when they last ran, written to pytest's cache when a run ends: one tier adds to another."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.tests: set[str] = set(config.cache.get(PASSED, []))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that runs, and whether its body passed."""
        if report.when == "setup":
            self.tests.discard(report.nodeid)
        elif report.when == "call" and report.passed:
            self.tests.add(report.nodeid)

    def pytest_sessionfinish(self) -> None:
        """Write the list."""
        self.config.cache.set(PASSED, sorted(self.tests))


@pytest.fixture(scope="session", autouse=True)
def interrupts() -> None:
    """Give Ctrl-C its meaning back, here and in programs that tests start: background jobs of a shell ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def workers() -> None:
    """Let test runs that tests start be runs of their own: as part of a parallel one they would measure nothing."""
    os.environ.pop("PYTEST_XDIST_WORKER", None)


@pytest.fixture(scope="session")
def data() -> Path:
    """Folder of real corpora and tokenizers; tests that need it are skipped without it."""
    folder = os.environ.get("PYHARNESS_DATA")
    if not folder:
        pytest.skip("PYHARNESS_DATA is not set: it names a folder of real corpora and tokenizer files")
    return Path(folder)


@pytest.fixture(scope="session")
def result() -> session.Result:
    """A run of two rows that the tests of reports show, compare and edit."""
    benchmarks = ["compression", "fairness", "reachability", "throughput", "latency", "load"]
    return pyharness.run(tokenizers=["raw_bytes", "mistral:v3"], corpora=["sample"], benchmarks=benchmarks)


@pytest.fixture
def doubles(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make the tokenizers of ``tests/support/doubles.py`` known, here and in workers."""
    path = os.pathsep.join(filter(None, (str(SUPPORT), os.environ.get("PYTHONPATH"))))
    monkeypatch.setenv("PYTHONPATH", path)
    monkeypatch.setenv("PYHARNESS_PLUGINS", "doubles")
    monkeypatch.syspath_prepend(str(SUPPORT))
    from pyharness.plugins import registry

    registry.discover.cache_clear()
    yield
    registry.discover.cache_clear()
