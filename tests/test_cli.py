"""The command line as a person or a script meets it: exit codes, messages, pipes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pyharness import suite
from pyharness.types import InputError

RUN = [sys.executable, "-P", "-m", "pyharness"]
QUICK = ("run", "-t", "raw_bytes", "-c", "sample:prose", "-b", "compression")


def call(*arguments: str, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "PYHARNESS_DATA"} | variables
    return subprocess.run(
        [*RUN, *arguments], capture_output=True, text=True, check=False, cwd=cwd, env=environment, encoding="utf-8"
    )


def refused(*arguments: str, cwd: Path | None = None) -> str:
    done = call(*arguments, cwd=cwd)
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr


def test_a_run_prints_tables_and_keeps_a_record(tmp_path: Path) -> None:
    done = call(*QUICK, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "bytes/token" in done.stdout
    assert "[  1/2]" in done.stderr
    (record,) = (tmp_path / "pyharness-results").glob("custom-*.json")
    shown = call("report", str(record))
    assert shown.stdout == done.stdout
    for form in ("markdown", "html", "csv", "json"):
        assert "raw_bytes" in call("report", str(record), "--format", form).stdout
    assert call("report", str(record), "--format", "parquet", "-o", str(tmp_path / "x.parquet")).returncode == 0
    assert (tmp_path / "x.parquet").stat().st_size > 1000
    assert "--output" in refused("report", str(record), "--format", "parquet")


def test_quiet_says_only_where_the_record_is(tmp_path: Path) -> None:
    done = call(*QUICK, "-q", "-o", str(tmp_path / "r.json"))
    assert (done.stdout, done.stderr) == ("", f"record: {tmp_path / 'r.json'}\n")


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
    assert "pip install 'pyharness[zoo]'" in done.stderr


def test_a_suite_that_needs_data_says_so() -> None:
    assert "PYHARNESS_DATA, which is not set" in refused("run", "full")


def test_unwritable_output_is_found_out_before_measuring(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert "cannot write to" in refused(*QUICK, "-o", str(tmp_path / "file" / "r.json"))


def test_resume_without_a_run_to_resume(tmp_path: Path) -> None:
    assert "no unfinished run" in refused(*QUICK, "--resume", cwd=tmp_path)


def test_comparing(tmp_path: Path) -> None:
    output = tmp_path / "r.json"
    call(*QUICK, "-t", "mistral:v3", "-o", str(output))
    done = call("compare", str(output), "raw_bytes", "mistral:v3")
    assert done.returncode == 0, done.stderr
    assert "bytes_per_token" in done.stdout
    assert "better" in done.stdout
    assert "same" in call("compare", str(output), str(output)).stdout
    assert "| metric |" in call("compare", str(output), str(output), "--format", "markdown").stdout
    assert "unknown tokenizer in this record 'mistral:v2'" in refused("compare", str(output), "raw_bytes", "mistral:v2")


@pytest.mark.parametrize("kind", ["tokenizers", "corpora", "metrics", "benchmarks", "suites"])
def test_lists(kind: str) -> None:
    done = call("list", kind)
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    rows = json.loads(call("list", kind, "--json").stdout)
    assert len(rows) >= 3
    assert all(row["name"] for row in rows)


def test_env_and_help() -> None:
    assert "cpu" in call("env").stdout
    assert json.loads(call("env", "--json").stdout)["cores"] >= 1
    for arguments in ((), ("run",), ("report",), ("compare",), ("list",), ("env",)):
        assert "Usage" in call(*arguments, "--help").stdout
    assert "pyharness" in call("--version").stdout


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    output = tmp_path / "r.json"
    call(*QUICK, "-q", "-o", str(output))
    process = subprocess.Popen(
        [*RUN, "report", str(output), "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == ""
    process.wait()
    process.stderr.close()


def test_suites_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        'tokenizers = [{ name = "bytes", spec = "raw_bytes" }]\n'
        'corpora = ["sample:code"]\nbenchmarks = ["integrity"]\n',
        encoding="utf-8",
    )
    done = call("run", str(path), "-o", str(tmp_path / "r.json"))
    assert done.returncode == 0, done.stderr
    assert "bytes" in done.stdout
    with pytest.raises(InputError):
        suite.find(str(tmp_path / "other.toml"))
