"""The command line, given what it cannot take: one line, exit status 2, nothing lost."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cases.command_line import QUICK, RUN, call, program, refused, said_of
from pyharness.commands import session
from pyharness.types import InputError


def test_everything_unknown_is_named_at_once_before_anything_runs(tmp_path: Path) -> None:
    message = refused("run", "-t", "raw_byte", "-c", "sampel", "-b", "sped", "-b", "throughput?byts=1", cwd=tmp_path)
    for expected in ("'raw_byte'; did you mean 'raw_bytes'?", "'sampel'; did you mean 'sample'", "'sped'", "'byts'"):
        assert expected in message
    assert all(line.startswith("error: ") for line in message.splitlines())
    assert not list(tmp_path.iterdir())


def test_bad_text_is_exit_code_two_and_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"text": "fine"}\n{"text": \n', encoding="utf-8")
    output = tmp_path / "r.json"
    done = call(*QUICK, "-c", f"path:{tmp_path / 'bad.jsonl'}", "-o", str(output))
    assert done.returncode == 2
    assert "bad.jsonl" in done.stderr.splitlines()[-1]
    assert "line 2" in done.stderr
    states = {(one["corpus"], one["status"]) for one in json.loads(output.read_text(encoding="utf-8"))["results"]}
    assert ("sample:prose", "ok") in states


def test_a_missing_extra_says_what_to_install() -> None:
    script = (
        "import importlib.util, sys\n"
        "real = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, *a: None if name == 'mistral_common' else real(name, *a)\n"
        "from pyharness.cli import main; main()\n"
    )
    command = [sys.executable, "-P", "-c", script, "run", "-t", "mistral:v3", "-c", "sample"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert re.search(r"mistral\b.*pyharness\[zoo\]", done.stderr)


def test_a_suite_that_needs_data_says_so() -> None:
    assert re.search(r"environment variable PYHARNESS_DATA\b", refused("run", "full"))


def test_unwritable_output_is_found_out_before_measuring(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert "cannot write to" in refused(*QUICK, "-o", str(tmp_path / "file" / "r.json"))


def test_resume_without_a_run_to_resume(tmp_path: Path) -> None:
    assert "no unfinished run" in refused(*QUICK, "--resume", cwd=tmp_path)


def test_a_finished_run_has_nothing_to_resume(tmp_path: Path) -> None:
    assert call(*QUICK, "-q", cwd=tmp_path).returncode == 0
    (record,) = tmp_path.glob("pyharness-results/*.json")
    before = record.read_bytes()
    for more in ((), ("-o", str(record))):
        again = call(*QUICK, "--resume", *more, cwd=tmp_path)
        assert (again.returncode, again.stdout) == (0, "")
        assert re.fullmatch(r"\S*custom-\S+\.json is finished\b.*\n", again.stderr)
    forced = call(*QUICK, "--resume", "--force", "-o", str(record), cwd=tmp_path)
    assert forced.returncode == 0
    assert re.search(r"\.json is finished\b.*--resume\b.*\n$", forced.stderr)
    assert record.read_bytes() == before
    assert "no unfinished run" in refused(*QUICK, "-b", "load", "--resume", "-o", str(record), cwd=tmp_path)
    data = json.loads(before)
    data["results"][0] |= {"status": "failed", "reason": "gone", "measurements": []}
    record.write_text(json.dumps(data), encoding="utf-8")
    again = call(*QUICK, "--resume", cwd=tmp_path)
    assert (again.returncode, "is finished" in again.stderr) == (1, True), "the status is that of the run"


def test_an_output_is_never_overwritten_unasked(tmp_path: Path) -> None:
    output = tmp_path / "r.json"
    for folder in (str(tmp_path), f"{tmp_path}/", ".", ".."):
        assert re.search(r"is a folder\b.*--output", refused(*QUICK, "-o", folder, cwd=tmp_path))
    assert not list(tmp_path.iterdir())
    output.write_text("mine", encoding="utf-8")
    assert re.search(r"r\.json' exists already\b.*--force", refused(*QUICK, "-o", str(output)))
    assert re.search(r"r\.json' exists\b.*no unfinished run\b", refused(*QUICK, "-o", str(output), "--resume"))
    assert output.read_text(encoding="utf-8") == "mine"
    assert call(*QUICK, "-q", "-o", str(output), "--force").returncode == 0
    assert json.loads(output.read_text(encoding="utf-8"))["complete"] is True
    with pytest.raises(InputError, match=r"is a folder\b.*another path$"):
        session.run(["raw_bytes"], ["sample:prose"], ["load"], output=tmp_path)
    with pytest.raises(InputError, match="overwrite=True"):
        session.run(["raw_bytes"], ["sample:prose"], ["load"], output=output)
    session.run(["raw_bytes"], ["sample:prose"], ["load"], output=output, overwrite=True)
    assert [file.name for file in tmp_path.iterdir()] == ["r.json"]
    assert "--force" in call("run", "--help").stdout
    assert "is a folder" in refused("report", str(output), "--format", "parquet", "-o", ".", cwd=tmp_path)


def test_what_is_read_is_never_replaced(tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        session.run(["raw_bytes"], ["sample:prose"], ["compression"], output=tmp_path / name)
    (tmp_path / "link.json").symlink_to("a.json")
    before = {file: file.read_bytes() for file in tmp_path.iterdir()}
    for command, output in (
        (("report", "a.json"), "a.json"),
        (("report", "a.json"), "link.json"),
        (("report", "link.json"), "a.json"),
        (("report", "a.json"), "a.json.state.zip"),
        (("compare", "a.json", "b.json"), "a.json"),
        (("compare", "a.json", "b.json"), "b.json.state.zip"),
    ):
        what = "state" if output.endswith(".zip") else "record"
        said = refused(*command, "-o", output, "--force", cwd=tmp_path)
        assert re.fullmatch(rf"error: --output '{output}' .*\b{what}\b.*--output\n", said)
    assert {file: file.read_bytes() for file in tmp_path.iterdir()} == before
    assert call("report", "a.json", "-o", "b.json", "--force", cwd=tmp_path).returncode == 0, "another record may go"


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("throughput?threads=1,9999", "benchmark 'throughput': threads = 9999"),
        ("throughput?threads=0", "threads = 0 is out"),
        ("throughput?rounds=-1", "benchmark 'throughput': rounds = -1"),
        ("throughput?rounds=x", "benchmark 'throughput': rounds = 'x'"),
        ("throughput?rounds=0&reference=raw_bytes", "reference = 'raw_bytes' takes rounds"),
        ("throughput?bytes=", "bytes= is not"),
        ("throughput?bytes", "option 'bytes' is not"),
        ("throughput?bytes=\u00b2", "bytes=\u00b2 is not"),
        ("throughput?bytes=" + "9" * 5000, "benchmark 'throughput': bytes"),
        ("throughput?bytes=1&bytes=2", "gives bytes= twice"),
        ("throughput?name=load", "'throughput?name=load'"),
        ("throughput?tokenizers=nobody", "unknown tokenizer 'nobody'"),
        ("compression?list_unused=1", "list_unused = 1 is not"),
    ],
)
def test_bad_parameters_on_the_command_line(tmp_path: Path, chosen: str, message: str) -> None:
    said = refused("run", "-t", "raw_bytes", "-c", "sample:prose", "-b", chosen, cwd=tmp_path)
    assert message in said
    assert len(said.splitlines()) == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("columns", ["", "wide", "-1", "0", "\u00b2", "1" * 30])
def test_columns_that_are_no_number(columns: str) -> None:
    done = call("list", "suites", COLUMNS=columns)
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80


PLUGINS = {
    "raises": ("raise RuntimeError('no luck\\ntoday')", "cannot be imported: RuntimeError: no luck today"),
    "leaves": ("raise SystemExit(0)", "cannot be imported: SystemExit: 0"),
    "typo": ("def", "cannot be imported: SyntaxError"),
    "lacks": ("import no_such_library", "cannot be imported: No module named 'no_such_library'"),
    "shapeless": ("TOKENIZERS = 5", "TOKENIZERS is not a tuple"),
    "nameless": ("TOKENIZERS = (object(),)", "TOKENIZERS is not a tuple"),
    "doubled": ("from pyharness.tokenizers.families.raw_bytes import TOKENIZERS", "defines 'raw_bytes'"),
}


@pytest.mark.parametrize("name", PLUGINS)
def test_a_broken_plug_in_names_itself(tmp_path: Path, name: str) -> None:
    code, message = PLUGINS[name]
    (tmp_path / f"plug_{name}.py").write_text(code, encoding="utf-8")
    variables = {"PYTHONPATH": str(tmp_path), "PYHARNESS_PLUGINS": f"plug_{name}"}
    said = said_of(program("list", "tokenizers", **variables))  # type: ignore[arg-type]
    assert f"'plug_{name}'" in said
    assert message in said
    assert len(said.splitlines()) == 1
    info = tmp_path / "stranger-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: stranger\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[pyharness.tokenizers]\nodd = plug_{name}\n", encoding="utf-8")
    said = said_of(program("list", "tokenizers", PYTHONPATH=str(tmp_path)))
    assert "plug-in 'odd' of package stranger" in said
    assert message in said


def test_a_run_that_measured_nothing_says_so(tmp_path: Path) -> None:
    text = tmp_path / "one.txt"
    text.write_text("one document\n", encoding="utf-8")
    options = ("-t", "raw_bytes", "-c", f"path:{text}", "-b", "throughput?threads=1", "-q")
    done = call("run", *options, "-o", str(tmp_path / "r.json"))
    assert done.returncode == 1
    assert re.search(r"(?m)^error: .*: .*\bthree slices\b", done.stderr)
    done = call("run", *options, "-b", "compression", "-o", str(tmp_path / "s.json"))
    assert done.returncode == 0, "one number is enough"


@pytest.mark.parametrize("kilobytes", [100_000, 200_000])
def test_too_small_an_address_space_is_said_at_once(kilobytes: int, tmp_path: Path) -> None:
    run = " ".join([*RUN, "run", "-t", "raw_bytes", "-c", "sample", "-o", str(tmp_path / "r.json")])
    command = f"ulimit -v {kilobytes} || exit 9; exec {run}"
    done = subprocess.run(["/bin/bash", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode == 9:
        pytest.skip("the limit cannot be set here")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert re.fullmatch(r"error: .*\baddress space\b.* 0\.[12]0 GB .*", line)


@pytest.mark.parametrize("row", ["raw_bytes?a=1,2", "7", "true"])
def test_a_reference_is_one_label_whatever_stands_in_it(row: str) -> None:
    options = ("-t", "raw_bytes", "-c", "sample", "-q")
    assert f"error: unknown reference '{row}'" in refused(
        "run", *options, "-b", f"throughput?rounds=2&threads=1&reference={row}"
    )
