"""One arm of a gate: prepares workloads, and times their calls on request.

A standalone file, run as ``python -P -s driver.py WORKLOADS``, so that both interpreters run the same bytes. It imports
the standard library and the workloads file, and nothing else of pyharness, which may be under test.

Messages are lines of JSON on the original standard input: ``{"id": n, "do": command, ...}``. Each has one answer on the
original standard output: ``{"id": n, ...}``, with ``error`` where a library raises, and ``absent`` where it lacks the
function that a workload calls. A library that prints cannot disturb them: its output goes to standard error, its input
is empty.

A workloads file has one function per workload. The function gets a ``Setting`` and returns an object with

- ``call(item)``, the only timed function,
- ``digestible(result)``: bytes that are equal for equal results,
- optionally ``item(text)``, which makes the argument of ``call`` outside of the clock (default: the text itself),
  and ``ids(result)``, a list of whole numbers.

An exception of that file's class ``Absent`` says that a library lacks the called function.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import IO, Any, NamedTuple

PR_SET_PDEATHSIG = 1  # prctl(2)
PEAK_FROM_HERE = "5"  # proc(5), /proc/PID/clear_refs: resets the peak resident set
DIGEST_BYTES = 16
LIMITS = sorted(name for name in dir(resource) if name.startswith("RLIMIT_"))


class Setting:
    """Settings of a workload: ``options``, ``threads``, the ``kind`` of its text, and text to build from."""

    def __init__(self, benchmark: dict[str, Any], files: dict[str, int]) -> None:
        self.options: dict[str, Any] = benchmark["options"]
        self.threads: int = benchmark["threads"]
        self.kind: str = benchmark["text"]
        self._files = files

    def text(self, kind: str, size: int) -> str:
        """Return the first ``size`` bytes of a kind's text, in whole characters; the same in both arms."""
        if kind not in self._files:
            raise LookupError(f"there is no text of kind {kind!r}; there is {', '.join(self._files) or 'none'}")
        return os.pread(self._files[kind], size, 0).decode(errors="ignore")


class Prepared(NamedTuple):
    """A prepared workload, and the memory before its preparation."""

    workload: Any
    kind: str
    resident: int | None


class Driver:
    """State of the commands: files of text, and prepared workloads."""

    def __init__(self, workloads: ModuleType) -> None:
        self.workloads = workloads
        self.files: dict[str, int] = {}
        self.prepared: dict[str, Prepared] = {}
        self.cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []

    def hello(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the facts of this process."""
        return {"facts": facts(), "libraries": libraries()}

    def texts(self, message: dict[str, Any]) -> dict[str, Any]:
        """Open the files of text."""
        for kind, path in message["paths"].items():
            self.files[kind] = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        return {}

    def prepare(self, message: dict[str, Any]) -> dict[str, Any]:
        """Make a workload: import, load and build everything that it needs."""
        benchmark = message["benchmark"]
        make = getattr(self.workloads, benchmark["workload"], None)
        if make is None or benchmark["workload"].startswith("_"):
            return {"absent": f"the workloads file has no {benchmark['workload']!r}"}
        resident = peak_from_here()
        workload = make(Setting(benchmark, self.files))
        self.prepared[benchmark["name"]] = Prepared(workload, benchmark["text"], resident)
        gc.collect()
        gc.freeze()  # otherwise the collection before every batch would scan all of this again
        return {}

    def time(self, message: dict[str, Any]) -> dict[str, Any]:
        """Time the calls. ``extra`` spans are timed as well, but do not enter the digest."""
        prepared = self.prepared[message["name"]]
        items = self._items(prepared, message["spans"] + message.get("extra", []))
        self.settle(message.get("core"))
        gc.collect()
        gc.disable()
        try:
            faults = pages_read()
            cpu = time.process_time_ns()
            wall = time.perf_counter_ns()
            results = self.calls(prepared.workload.call, items)
            wall = time.perf_counter_ns() - wall
            cpu = time.process_time_ns() - cpu
            faults = pages_read() - faults
        finally:
            gc.enable()
        kept = results[: len(message["spans"])]
        done = digest(map(prepared.workload.digestible, kept))
        return {"calls": len(kept), "wall": wall, "cpu": cpu, "faults": faults, "digest": done}

    def settle(self, core: int | None) -> None:
        """Pin the process to one processor: number ``core`` modulo the count of usable ones; None: allow all."""
        if self.cores:
            os.sched_setaffinity(0, self.cores if core is None else [self.cores[core % len(self.cores)]])

    def calls(self, call: Callable[[Any], Any], items: list[Any]) -> list[Any]:
        """Do the calls: only this is measured."""
        return [call(item) for item in items]

    def result(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return the ids of one call."""
        prepared = self.prepared[message["name"]]
        (item,) = self._items(prepared, [message["span"]])
        ids = getattr(prepared.workload, "ids", None)
        return {"ids": [] if ids is None else [int(one) for one in ids(prepared.workload.call(item))]}

    def finish(self, message: dict[str, Any]) -> dict[str, Any]:
        """Drop a workload; return its memory: growth of the peak resident set since before its preparation."""
        prepared = self.prepared.pop(message["name"])
        peak = status("VmHWM")
        is_known = prepared.resident is not None and peak is not None
        figures = {"memory": max(0, (peak or 0) - (prepared.resident or 0))} if is_known else {}
        del prepared
        gc.unfreeze()
        gc.collect()
        return {"figures": figures}

    def _items(self, prepared: Prepared, spans: list[list[int]]) -> list[Any]:
        file = self.files.get(prepared.kind)
        texts = [read(file, begin, length) if file is not None else "" for begin, length in spans]
        item = getattr(prepared.workload, "item", None)
        return texts if item is None else [item(text) for text in texts]


def read(file: int, begin: int, length: int) -> str:
    """Return a span of a text. Planted spans may end within a character, which is left out."""
    data = os.pread(file, length, begin)
    if len(data) != length:
        raise EOFError(f"the text ends before byte {begin + length:,}")
    return data.decode(errors="ignore")


def digest(results: Iterable[bytes]) -> str:
    """Return the digest of results in order, each with its length."""
    whole = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for result in results:
        whole.update(len(result).to_bytes(8, "little"))
        whole.update(result)
    return whole.hexdigest()


def pages_read() -> int:
    """Return how often this process has waited for a page from a disk (major faults)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_majflt


def peak_from_here() -> int | None:
    """Reset the peak resident set; return the present one in bytes, or None where that is impossible."""
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)  # glibc keeps freed memory: a benchmark that reuses it would not grow
    try:
        Path("/proc/self/clear_refs").write_text(PEAK_FROM_HERE, encoding="ascii")
    except OSError:
        return None
    return status("VmRSS")


def status(name: str) -> int | None:
    """Return an amount of memory of this process in bytes, or None where the system does not report it."""
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith(name + ":")), None)


def facts() -> dict[str, Any]:
    """Return the facts that both arms must share, as JSON values."""
    block = environment_block()
    return {
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "compiler": platform.python_compiler(),
        "libc": " ".join(platform.libc_ver()),
        "flags": {name: getattr(sys.flags, name) for name in ("optimize", "dev_mode", "isolated", "no_user_site")},
        "prefix_length": len(sys.prefix),
        "executable_length": len(sys.executable),
        "folder_length": len(str(Path.cwd())),
        "arguments_length": sum(len(argument) + 1 for argument in sys.orig_argv),
        "environment_bytes": sum(len(name) + length + 2 for name, length in block.items()),
        "environment": block,
        "hash_seed": os.environ.get("PYTHONHASHSEED", "random"),
        "affinity": sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "nice": os.getpriority(os.PRIO_PROCESS, 0),
        "limits": {name: list(resource.getrlimit(getattr(resource, name))) for name in LIMITS},
        "address_randomisation": first_line("/proc/sys/kernel/randomize_va_space"),
        "personality": first_line("/proc/self/personality"),
        "huge_pages": first_line("/sys/kernel/mm/transparent_hugepage/enabled"),
        "collector": list(gc.get_threshold()),
    }


def environment_block() -> dict[str, int]:
    """Return the length of each variable's value in bytes; values may be secrets."""
    return {name.decode(errors="backslashreplace"): len(value) for name, value in sorted(os.environb.items())}


def first_line(path: str) -> str | None:
    """Return the first line of a system file, or None where it is absent."""
    try:
        return Path(path).read_text(encoding="ascii").partition("\n")[0].strip()
    except OSError:
        return None


def libraries() -> dict[str, str]:
    """Return all installed distributions and their versions."""
    distributions = reversed(
        list(importlib.metadata.distributions())
    )  # the first on the path, which is imported, comes last
    return dict(sorted({name: one.version for one in distributions if (name := one.metadata["Name"])}.items()))


def end_with_parent() -> None:
    """Ask the system to end this process with its parent; otherwise the end of standard input does so."""
    parent = os.getppid()
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # the parent ended in between
        os._exit(3)


def private_pipes() -> tuple[IO[bytes], IO[bytes]]:
    """Take standard input and output away from libraries; return them as files."""
    asked = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return asked, answers


def load(name: str, path: str) -> ModuleType:
    """Import a file."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def answer(driver: Driver, message: dict[str, Any]) -> dict[str, Any]:
    """Carry out a message; any exception of a library becomes an answer."""
    absent = getattr(driver.workloads, "Absent", ())
    try:
        reply: dict[str, Any] = getattr(driver, message["do"])(message)
        return reply
    except absent as error:
        return {"absent": str(error)}
    except BaseException as error:  # a panic of Rust is not an Exception
        return {"error": f"{type(error).__name__}: {' '.join(str(error).split())[:500]}"}


def main(kind: type[Driver] = Driver) -> None:
    """Answer messages until the input ends."""
    end_with_parent()
    asked, answers = private_pipes()
    driver = kind(load("workloads", sys.argv[1]))
    for line in asked:
        message = json.loads(line)
        answers.write(json.dumps({"id": message["id"], **answer(driver, message)}).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
