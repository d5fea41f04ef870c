"""``pyharness profile`` on this machine's CPU: real kernels, real peers, short rounds."""

from __future__ import annotations

import importlib.util
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from pyharness import kernels, report
from pyharness.cli import main
from pyharness.features.profiling import cpu, session
from pyharness.features.profiling.arrays import differs
from pyharness.features.profiling.kernels import entropy, linear_entropy, pair_peers
from pyharness.features.profiling.types import Problem
from pyharness.kernels import PairHistogram, pair_histogram
from pyharness.kernels.devices import cuda_reason
from pyharness.statistics.samples import StoppingRule
from pyharness.types import Unsupported

SHORT = StoppingRule(min_samples=3, min_seconds=0.0, max_noise=1e9)
TORCH = importlib.util.find_spec("torch") is not None
DOCUMENT = Path(__file__).parents[3] / "docs/profile.md"
SHAPES = {"entropy": "5x700", "linear_entropy": "5x16x700", "pair_histogram": "3000x50"}


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "RULES", {"cpu": SHORT, "cuda": SHORT})
    monkeypatch.setattr(cpu, "COPY_BYTES", 1 << 20)
    monkeypatch.setattr(cpu, "MATRIX_SIZES", (64,))


def call(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["profile", *arguments], catch_exceptions=False)


def small(kernel: str, *arguments: str) -> Result:
    return call(kernel, "--device", "cpu", "--shape", SHAPES[kernel], "--threads", "2", *arguments)


@pytest.mark.parametrize("kernel", SHAPES)
def test_our_kernels_and_their_peers_are_measured(kernel: str, tmp_path: Path) -> None:
    output = tmp_path / "profile.json"
    done = small(kernel, "-o", str(output))
    assert done.exit_code == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    headings = re.findall(rf"^{kernel} on a GPU: .*\n.*\n.*\n", done.stdout, re.MULTILINE)
    assert len(headings) == 1
    assert kernel != "entropy" or headings[0] in DOCUMENT.read_text(encoding="utf-8")
    assert re.search(r"copy %: [^;:]* median over", " ".join(done.stdout.split()))
    assert f"{kernel} {SHAPES[kernel]}" in done.stderr
    data = json.loads(output.read_text(encoding="utf-8"))
    assert data["profile"]["kernel"] == kernel
    assert data["environment"]["libraries"]["numpy"] == np.__version__
    allowed = "numpy .*bf16" if TORCH else "torch for cpu .*pip install torch"
    for problem in data["profile"]["problems"]:
        if not TORCH and problem["dtype"] == "bf16":
            assert re.search("^bf16 .*pip install torch.*--dtype fp32", problem["reason"])
            continue
        assert problem["status"] == "ok", problem["reason"]
        results = [one for one in data["results"] if one["parameters"]["dtype"] == problem["dtype"]]
        # polars reads the number of its threads once per process: here from whichever test came first.
        for missing in (one for one in results if one["status"] != "ok"):
            assert re.search(f"^{allowed}|POLARS_MAX_THREADS", missing["reason"])
        measured = {
            one["tokenizer"]: {m["metric"]: m for m in one["measurements"]} for one in results if one["status"] == "ok"
        }
        assert measured["pyharness"]["times_ours"]["value"] == 1.0
        assert all(len(one["call_seconds"]["samples"]) >= 3 for one in measured.values())
        assert measured["copy"]["floor_bytes_per_second"]["value"] > 0
        assert measured["pyharness"]["bound_seconds"]["part"] in ("copy", "matrix")


def test_once_launches_and_times_nothing() -> None:
    done = small("entropy", "--once", "--dtype", "fp32")
    assert done.exit_code == 0, done.stderr
    assert (done.stdout, done.stderr) == ("", "launched once: entropy 5x700 fp32\n")


def test_a_peer_that_is_left_out_is_not_timed_and_says_so() -> None:
    done = small("entropy", "--dtype", "fp32", "--without", "numpy", "--json")
    assert done.exit_code == 0, done.stderr
    (result,) = (one for one in json.loads(done.stdout)["results"] if one["tokenizer"] == "numpy")
    assert (result["status"], result["reason"]) == ("skipped", "left out: --without")


def test_real_text() -> None:
    done = call("pair_histogram", "--device", "cpu", "-c", "sample:prose", "-t", "raw_bytes", "--json")
    assert done.exit_code == 0, done.stderr
    (problem,) = json.loads(done.stdout)["profile"]["problems"]
    tokens, vocabulary = problem["shape"]
    assert (tokens > 1000, vocabulary) == (True, 256)
    assert re.match(r"sample:prose as raw_bytes\b", problem["data"])


def test_a_file_is_written_whole_and_never_replaced_unasked(tmp_path: Path) -> None:
    output = tmp_path / "profile.json"
    assert small("entropy", "--dtype", "fp32", "-o", str(output)).exit_code == 0
    assert json.loads(output.read_text(encoding="utf-8"))["kind"] == "pyharness-profile"
    output.write_text("mine", encoding="utf-8")
    refused = small("entropy", "--dtype", "fp32", "-o", str(output))
    assert (refused.exit_code, output.read_text(encoding="utf-8")) == (2, "mine")
    assert "--force" in refused.stderr
    assert small("entropy", "--dtype", "fp32", "-o", str(output), "--force").exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["profile.json"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("entrop",), "unknown kernel 'entrop'; did you mean 'entropy'"),
        (("entropy", "--shape", "9x"), "shape '9x' is not ROWSxV; write it like 128x50257"),
        (("entropy", "--shape", "1e7x1e7", "--device", "cpu"), "needs 2e+05 GB on the cpu"),
        (("pair_histogram", "--shape", "1e14x5", "--device", "cpu"), "needs 2e+06 GB on the cpu"),
        (("entropy", "--dtype", "int8"), "unknown dtype of entropy 'int8'; known: bf16, fp16, fp32"),
        (("entropy", "--once", "--json"), "--once measures nothing"),
        (("entropy", "--once", "--without", "numpy"), "--once measures nothing"),
        (
            ("entropy", "--shape", "5x700", "--dtype", "fp32", "--device", "cpu", "--without", "nump"),
            "unknown peer of entropy 'nump'; did you mean 'numpy'?",
        ),
        (("entropy", "--max-seconds", "nan"), "nan seconds"),
        (("entropy", "--shape", "1x4e9"), "V can be 2147483647 at most"),
        (("pair_histogram", "--shape", "10x4e9", "--device", "cpu"), "needs 96 GB on the cpu"),
        (("pair_histogram", "-c", "sampel", "-t", "raw_bytes"), "did you mean 'sample'"),
        (("pair_histogram", "-c", "sample", "-t", "raw_byte"), "did you mean 'raw_bytes'"),
        (("entropy", "--threads", "-1"), "cannot run on -1 threads"),
    ],
)
def test_bad_input_is_exit_code_two(arguments: tuple[str, ...], said: str) -> None:
    done = call(*arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ")
    assert said in done.stderr


def test_a_corpus_without_tokens_has_no_pairs(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one", encoding="utf-8")
    done = call("pair_histogram", "-c", f"shard:9/10:path:{tmp_path}/a.txt", "-t", "raw_bytes", "--device", "cpu")
    assert (done.exit_code, done.stderr.splitlines()[-1][:7]) == (2, "error: ")
    assert " 0 tokens" in done.stderr


def test_a_launch_that_fails_is_exit_code_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(logits: Any, **options: Any) -> Any:
        raise MemoryError("needs 5 GB")

    monkeypatch.setattr(kernels, "entropy", broken)
    done = small("entropy", "--once", "--dtype", "fp32")
    assert (done.exit_code, done.stderr) == (1, "failed: entropy 5x700 fp32: MemoryError: needs 5 GB\n")


def test_digits_are_never_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    assert "…" not in small("entropy").stdout
    numbers = ("0.00017354", "123456.789", "98765.4321", "442.17")
    headings = (report.Heading("implementation", "word"), *map(report.Heading, ("GB/s", "median ms", "p95", "copy %")))
    sheet = report.Sheet("t", headings, (tuple(map(report.Cell, ("ours", *numbers))),), ("a note",))
    text = report.to_text([sheet], width=20)
    assert all(number in text for number in numbers)


def test_an_ascii_terminal_gets_escapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # long paths are cut in the middle
    Path("prös\udcff.txt").write_text("some text of a kind", encoding="utf-8")
    options = ["--device", "cpu", "-c", "path:prös\udcff.txt", "-t", "raw_bytes"]
    for form in ([], ["--json"]):
        done = CliRunner(charset="ascii").invoke(main, ["profile", "pair_histogram", *options, *form])
        assert done.exit_code == 0, done.stderr
        assert "pr\\xf6s" in done.stdout or "pr\\u00f6s" in done.stdout


def test_an_unwritable_file_is_found_out_before_measuring(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    done = small("entropy", "-o", str(tmp_path / "file" / "x.json"))
    assert (done.exit_code, done.stdout) == (2, "")
    assert "cannot write to" in done.stderr
    assert "verifying" not in done.stderr


def test_cuda_without_a_device_says_why() -> None:
    if (reason := cuda_reason()) is None:
        pytest.skip("a device is here")
    done = call("entropy", "--device", "cuda")
    assert done.exit_code == 2
    assert reason in done.stderr


def test_a_wrong_kernel_is_caught_and_gets_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    right = kernels.entropy

    def wrong(logits: Any, **options: Any) -> Any:
        answer = right(logits, **options)
        return replace(answer, entropy=answer.entropy + 1e-5)

    monkeypatch.setattr(kernels, "entropy", wrong)
    done = small("entropy", "--dtype", "fp32")
    assert done.exit_code == 1
    assert "nothing was timed" in " ".join(done.stdout.split())
    assert "GB/s" not in done.stdout


def test_a_wrong_histogram_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(tokens: Any, **options: Any) -> PairHistogram:
        answer = pair_histogram(tokens, **options)
        return replace(answer, left=answer.left ^ np.uint32(1))

    monkeypatch.setattr(kernels, "pair_histogram", wrong)
    done = small("pair_histogram")
    assert done.exit_code == 1
    assert "Counter" in done.stdout


# ---------------------------------------------------------------------------------------------- comparisons


def test_every_departure_of_a_histogram_is_seen() -> None:
    tokens = np.array([1, 2, 1, 2, 3], np.uint32)
    ours = pair_histogram(tokens)
    (peer,) = pair_peers.numpy_peers(tokens)
    keys, counts = peer.build()()
    assert peer.differs((keys, counts), ours) is None
    assert str(peer.differs((keys + 1, counts), ours)).startswith("pair 0 ")
    assert str(peer.differs((keys, counts + np.array([0, 1, 0])), ours)).startswith("count 1 ")
    assert peer.differs((keys[:-1], counts[:-1]), ours) == "2 distinct pairs, ours 3"


@pytest.mark.parametrize(
    ("found", "ours", "same"),
    [
        ([1.0, 2.0], [1.0, 2.0], True),
        ([1.0, 2.0], [1.0, 2.1], False),
        ([1.0, 2.0], [1.0, 2.0005], True),
        ([1.0], [1.0, 2.0], False),
        ([np.nan], [np.nan], True),
        ([np.nan], [1.0], False),
        ([], [], True),
    ],
)
def test_float_results_are_compared_with_a_tolerance(found: list[float], ours: list[float], same: bool) -> None:
    assert (differs(np.array(found), np.array(ours), 1e-3) is None) is same


def test_a_compiled_result_is_the_formulas(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    right, compiled = torch.compile, []

    def interpreted(function: Any, **options: Any) -> Any:  # without a C++ compiler
        compiled.append(options)
        return right(function, backend="eager", **options)

    monkeypatch.setattr(torch, "compile", interpreted)
    monkeypatch.setattr(entropy, "torch_for", lambda kind: torch)
    for rows in range(1, 12):  # more shapes than torch compiles of one function
        logits = torch.randn(rows, 30)
        peer = entropy.torch_peers(logits, Problem((rows, 30), "fp32", "cuda", 1))[-1]
        assert peer.differs(peer.build()(), kernels.entropy(logits).entropy) is None
    assert compiled == [{"dynamic": False, "fullgraph": True}] * 11


def test_peers_on_other_threads_are_not_compared() -> None:
    pytest.importorskip("polars")
    (peer,) = pair_peers.polars_peers(np.array([1, 2, 3], np.uint32), 1023)
    with pytest.raises(Unsupported, match=r"polars .*\d threads.*\b1023\b.*POLARS_MAX_THREADS"):
        peer.build()


def test_the_bare_product_writes_where_it_wrote_before() -> None:
    problem = Problem((3, 4, 5), "fp32", "cpu", 1)
    product = linear_entropy.prepare(problem).peers[0].build()
    first, second = product(), product()
    assert first.data_ptr() == second.data_ptr() if hasattr(first, "data_ptr") else first is second


def test_short_calls_are_warmed_up_and_long_ones_warm_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    device = cpu.Cpu(1)

    def call() -> None:
        calls.append(1)

    for long_seconds, expected in ((1e9, 2), (0.0, 3)):
        monkeypatch.setattr(cpu, "LONG_SECONDS", long_seconds)
        assert device.time(call, "warm").seconds >= 0
        assert len(calls) == expected
