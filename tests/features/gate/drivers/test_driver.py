"""The process of an arm: what is on the clock, what is compared, and that no library can touch the protocol."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from gating.arms import here, made
from pyharness.bpe import BpeTokenizer, PieceCounter, TextSplitter, WeightedPieces, model_of_training, train
from pyharness.features.gate import suites, texts
from pyharness.features.gate.drivers import driver, workloads
from pyharness.features.gate.drivers.processes import DriverProcess
from pyharness.features.gate.types import ArmFailed, ArmLacks, CallBatch
from pyharness.system import process_tree

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the driver's facts are read from /proc")

OWN = """
import gc, os, subprocess, sys

class Absent(Exception):
    pass

class Made:
    def __init__(self, call, digestible=str.encode, **more):
        self.call, self.digestible = call, digestible
        vars(self).update(more)

def echo(setting):
    return Made(lambda text: text, ids=lambda text: [ord(character) for character in text])

def noisy(setting):
    def call(text):
        print("{}")
        os.write(1, b"nonsense\\n")
        subprocess.run(["echo", "more"])
        return f"{sys.stdin.read()}|{text}"
    return Made(call)

def collecting(setting):
    return Made(lambda text: str(gc.isenabled()))

def counting(setting):
    done = []
    return Made(lambda text: done.append(text) or "", ids=lambda _: [len(done)])

def placed(setting):
    return Made(lambda text: str(sorted(os.sched_getaffinity(0))))

def turned(setting):
    return Made(lambda text: text, item=lambda text: text[::-1])

def lacking(setting):
    raise Absent("mine 0.1 has no face")

def broken(setting):
    raise KeyError("a name\\nof two lines")

def panicking(setting):
    class Panic(BaseException):
        pass
    def call(text):
        raise Panic("at the disco")
    return Made(call)

def learned(setting):
    return Made(lambda _: setting.text("english", 5) + setting.options.get("more", "") + str(setting.threads))
"""


@contextmanager
def arm(folder: Path, source: str = OWN, text: str = "abcdefghijklmnop") -> Iterator[DriverProcess]:
    worker = made(folder, here(folder), source, text=text)
    try:
        yield worker
    finally:
        worker.close()


def four(*begins: int) -> CallBatch:
    return CallBatch(len(begins), tuple((begin, 4) for begin in begins))


def test_each_call_has_the_text_of_its_span(tmp_path: Path) -> None:
    with arm(tmp_path) as worker:
        worker.prepare("echo")
        timed = worker.time("echo", four(4, 0))
        assert timed.digest == driver.digest([b"efgh", b"abcd"])
        assert timed.digest != worker.time("echo", four(0, 4)).digest
        assert timed.timing.wall > 0
        assert worker.result("echo", (0, 4)) == [97, 98, 99, 100]
        worker.prepare("turned")
        assert worker.time("turned", four(0)).digest == driver.digest([b"dcba"])


def test_results_that_run_into_each_other_differ() -> None:
    assert driver.digest([b"ab", b"c"]) != driver.digest([b"a", b"bc"])


def test_planted_calls_are_done_and_not_compared(tmp_path: Path) -> None:
    with arm(tmp_path, text="éa" * 8) as worker:
        worker.prepare("counting")
        worker.time("counting", dataclasses.replace(four(0, 3), extra=((0, 1), (3, 3), (6, 3))))
        assert worker.result("counting", (0, 3)) == [6]  # and this one
        worker.prepare("echo")
        alone = worker.time("echo", four(0))
        assert worker.time("echo", dataclasses.replace(four(0), extra=((3, 4),))).digest == alone.digest


def test_the_collector_is_off_on_the_clock(tmp_path: Path) -> None:
    with arm(tmp_path) as worker:
        worker.prepare("collecting")
        assert worker.time("collecting", four(0)).digest == driver.digest([b"False"])
        assert worker.time("collecting", four(0)).digest == driver.digest([b"False"])


def test_a_batch_runs_on_the_processor_that_is_asked_for(tmp_path: Path) -> None:
    cores = sorted(os.sched_getaffinity(0))
    with arm(tmp_path) as worker:
        worker.prepare("placed")
        for core in (0, len(cores) - 1, len(cores)):
            timed = worker.time("placed", dataclasses.replace(four(0), core=core))
            assert timed.digest == driver.digest([str([cores[core % len(cores)]]).encode()])
        assert worker.time("placed", four(0)).digest == driver.digest([str(cores).encode()])


def test_what_a_library_prints_and_reads_is_not_the_protocol(tmp_path: Path) -> None:
    with arm(tmp_path) as worker:
        worker.prepare("noisy")
        assert worker.time("noisy", four(0)).digest == driver.digest([b"|abcd"])
        assert worker.child.complaints().count("nonsense") == 1
        assert "more" in worker.child.complaints()


def test_what_a_library_lacks_is_absent_and_the_process_lives_on(tmp_path: Path) -> None:
    with arm(tmp_path) as worker:
        with pytest.raises(ArmLacks, match=r"^mine 0\.1 has no face$"):
            worker.prepare("lacking")
        with pytest.raises(ArmFailed, match=r"^KeyError: 'a name\\nof two lines'$"):
            worker.prepare("broken")
        worker.prepare("panicking")
        with pytest.raises(ArmFailed, match=r"^Panic: at the disco$"):
            worker.time("panicking", four(0))
        worker.prepare("echo")
        assert worker.time("echo", four(0)).digest == driver.digest([b"abcd"])


def test_a_workload_is_told_of_its_benchmark(tmp_path: Path) -> None:
    with arm(tmp_path) as worker:
        benchmark = worker._benchmarks["learned"]
        worker._benchmarks["learned"] = dataclasses.replace(benchmark, options={"more": "+"}, threads=2)
        worker.prepare("learned")
        assert worker.time("learned", four(0)).digest == driver.digest([b"abcde+2"])
        worker._benchmarks["learned"] = dataclasses.replace(benchmark, workload="elsewhere")
        with pytest.raises(ArmLacks, match="no 'elsewhere'"):
            worker.prepare("learned")


def test_facts_name_variables_and_keep_their_values(tmp_path: Path) -> None:
    secret = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": "0", "TOKEN": "hush-hush"}
    worker = made(tmp_path, here(tmp_path, variables=secret), OWN)
    try:
        facts = worker.facts()
    finally:
        worker.close()
    assert (facts.side, facts.source, facts.version) == ("base", "here", "1")
    assert facts.facts["environment"]["TOKEN"] == 9
    assert "hush" not in str(facts)
    assert facts.facts["folder_length"] == len(str(tmp_path))
    assert facts.facts["hash_seed"] == "0"
    assert facts.libraries["numpy"]


def test_two_arms_of_equal_make_have_equal_facts(tmp_path: Path) -> None:
    said = []
    for name in ("left", "also"):
        folder = tmp_path / name
        folder.mkdir()
        with arm(folder) as worker:
            said.append(worker.facts())
    assert said[0] == said[1]


def test_it_ends_with_its_parent(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import time\ndef slow(_): time.sleep(100)\n", encoding="utf-8")
    slow = {"name": "slow", "workload": "slow", "options": {}, "threads": 1, "text": ""}
    messages = ({"id": 1, "do": "texts", "paths": {}}, {"id": 2, "do": "prepare", "benchmark": slow})
    asked = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    starter = (
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, {driver.__file__!r}, {str(tmp_path / 'mine.py')!r}],\n"
        "    stdin=subprocess.PIPE, stdout=subprocess.PIPE)\n"
        f"child.stdin.write({asked!r}); child.stdin.flush(); child.stdout.readline()\n"
        "print(child.pid, flush=True); time.sleep(100)"
    )
    with subprocess.Popen([sys.executable, "-c", starter], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = int(parent.stdout.readline())
        assert process_tree._lives(child)
        parent.kill()
    deadline = time.monotonic() + 10
    while process_tree._lives(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not process_tree._lives(child)


def test_the_shipped_suite_gives_the_same_results_in_two_processes(tmp_path: Path) -> None:
    suite = suites.read(suites.find("gate"))
    fresh = texts.written({"english": "sample:prose", "code": "sample:code"}, tmp_path)
    digests = []
    for seed in "01":
        fresh.begin(0)
        variables = {"PATH": os.environ["PATH"], "PYTHONHASHSEED": seed}
        worker = DriverProcess(here(tmp_path, variables=variables), suite, fresh.paths)
        try:
            for benchmark in suite.benchmarks:
                worker.prepare(benchmark.name)
            batches = {one.name: CallBatch(2, fresh.spans(one, 2)) for one in suite.benchmarks}
            digests.append({name: worker.time(name, batch).digest for name, batch in batches.items()})
        finally:
            worker.close()
    assert digests[0] == digests[1]
    everything = b"".join(one.encode() for one in digests[0].values())
    assert len(everything) == 2 * driver.DIGEST_BYTES * len(suite.benchmarks)


def test_the_shipped_workloads_do_what_they_say(tmp_path: Path) -> None:
    extending = pytest.importorskip(
        "pyharness.features.adaptation.bpe.extension", reason="two of them are of adaptation"
    )
    pruning = pytest.importorskip("pyharness.features.adaptation.bpe.pruning")
    suite = suites.read(suites.find("gate"))
    fresh = texts.written({"english": "sample:prose", "code": "sample:code"}, tmp_path)
    code = fresh.paths["code"].read_bytes()

    def counted(text: bytes) -> WeightedPieces:
        counter = PieceCounter(TextSplitter("gpt2"))
        counter.add([text.decode()])
        return counter.pieces()

    tokenizer = BpeTokenizer(model_of_training(train(counted(code), 4096), "gpt2"))
    small = model_of_training(train(counted(code), 1024), "gpt2")
    worker = DriverProcess(here(tmp_path), suite, fresh.paths)
    try:
        for name in ("encode_text", "decode", "extend", "leaf_order"):
            worker.prepare(name)
        assert worker.result("encode_text", (0, 500)) == tokenizer.encode(code[:500]).tolist()
        assert worker.time("decode", CallBatch(1, ((0, 500),))).digest == driver.digest([code[:500]])
        extension = extending.extend(small, counted(code[:4000]), 16)
        assert extension.complete
        wanted = workloads._bytes(extension.rules, extension.counts)
        assert worker.time("extend", CallBatch(1, ((0, 4000),))).digest == driver.digest([wanted])
        counts = np.bincount(BpeTokenizer(small).encode(code[:1000]), minlength=1024).astype(np.uint64)
        order = pruning.leaf_order(small, counts)
        assert len(order) == 1024 - 256
        assert worker.time("leaf_order", CallBatch(1, ((0, 1000),))).digest == driver.digest([workloads._bytes(order)])
    finally:
        worker.close()


def test_versions_of_before_have_the_workloads_of_adaptation_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    older = ModuleType("pyharness.bpe.adapting.pruning")
    monkeypatch.setattr(older, "leaf_order", "theirs", raising=False)
    monkeypatch.setitem(sys.modules, "pyharness.bpe", ModuleType("pyharness.bpe"))
    monkeypatch.setitem(sys.modules, "pyharness.bpe.adapting", ModuleType("pyharness.bpe.adapting"))
    monkeypatch.setitem(sys.modules, "pyharness.bpe.adapting.pruning", older)
    monkeypatch.setitem(sys.modules, "pyharness.features.adaptation", None)
    monkeypatch.setitem(sys.modules, "pyharness.features.adaptation.bpe.pruning", None)
    workloads._library.cache_clear()
    try:
        assert workloads._adaptation("leaf_order", "pruning") == "theirs"
    finally:
        workloads._library.cache_clear()
