"""``pyharness encode`` and ``decode`` in pipes: exact inverses, bytes kept, messages with a place."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bpe_models import trained_model
from pyharness import tokenizers
from pyharness.bpe.formats.own_file import save
from pyharness.cli import main

RUN = [sys.executable, "-P", "-m", "pyharness"]
TEXT = "to be or not to be, that is the question; "


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("encode") / "model.json"
    save(trained_model("gpt2"), path)
    return str(path)


def call(*arguments: object, data: bytes = b"", code: int = 0) -> Result:
    result = CliRunner().invoke(main, list(map(str, arguments)), input=data)
    assert result.exit_code == code, result.output
    return result


@pytest.mark.parametrize("form", ["text", "json", "uint32"])
def test_decode_is_the_inverse_of_encode_for_any_bytes(model: str, form: str) -> None:
    for data in (b"", b"to be\n\nor\r\n", bytes(range(256)), "na\u00efve \U0001f642".encode(), b"\xff\xfe" * 50, b"\n"):
        ids = call("encode", model, "--format", form, data=data).stdout_bytes
        assert call("decode", model, "--format", form, data=ids).stdout_bytes == data


@given(data=st.lists(st.binary(max_size=20).map(lambda line: line.replace(b"\n", b"")), max_size=6))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_lines_come_back_as_lines(model: str, data: list[bytes]) -> None:
    text = b"".join(line + b"\n" for line in data)
    ids = call("encode", model, "--lines", data=text).stdout_bytes
    assert ids.count(b"\n") == len(data)
    assert call("decode", model, "--lines", data=ids).stdout_bytes == text


def test_the_ids_are_the_tokenizers_own_in_every_format(model: str, tmp_path: Path) -> None:
    expected = tokenizers.load(f"file:{model}").encode_batch([TEXT]).ids.tolist()
    assert call("encode", model, data=TEXT.encode()).stdout == " ".join(map(str, expected)) + "\n"
    assert json.loads(call("encode", f"file:{model}", "--format", "json", data=TEXT.encode()).stdout) == expected
    raw = call("encode", model, "--format", "uint32", data=TEXT.encode()).stdout_bytes
    assert np.frombuffer(raw, "<u4").tolist() == expected
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    assert (
        call("encode", model, path, "-", data=TEXT.encode()).stdout.splitlines() == [" ".join(map(str, expected))] * 2
    )
    many = call("encode", model, "--lines", "--threads", 2, data=(TEXT + "\n").encode() * 5000).stdout.splitlines()
    assert many == [" ".join(map(str, expected))] * 5000


def test_special_tokens_are_text_unless_asked_for(model: str) -> None:
    text = b"to<|pad|>be"
    plain = call("encode", model, data=text).stdout
    mapped = call("encode", model, "--special", data=text).stdout
    assert "701" in mapped.split()
    assert "279" not in plain.split()
    assert call("decode", model, data=mapped.encode()).stdout_bytes == text
    assert "native+raw_bytes" in call("encode", "raw_bytes", "--special", data=text, code=2).stderr


def test_dropout_is_part_of_the_specification(model: str) -> None:
    data = (TEXT + "\n").encode() * 20
    plain = call("encode", model, "--lines", data=data).stdout
    dropped = [call("encode", f"{model}?dropout=0.5&seed={seed}", "--lines", data=data).stdout for seed in (1, 1, 2)]
    assert dropped[0] == dropped[1] != dropped[2]
    assert len(set(plain.splitlines())) == 1
    assert len(set(dropped[0].splitlines())) > 1
    assert call("decode", model, "--lines", data=dropped[0].encode()).stdout_bytes == data


def test_another_librarys_tokenizer_takes_text_and_says_where_it_is_none() -> None:
    assert call("encode", "raw_bytes", data="é".encode()).stdout == "195 169\n"
    said = call("encode", "raw_bytes", "--lines", data=b"fine\nab\xff\n", code=2).stderr
    assert re.match(r"error: standard input line 2 .*UTF-8\b.* byte 2\b", said)
    assert call("decode", "raw_bytes", data=b"195 169\n").stdout_bytes == "é".encode()


@pytest.mark.parametrize(
    ("arguments", "data", "said"),
    [
        (("--format", "text"), b"1 2\n3 x\n", "standard input line 2: 'x' is not an"),
        (("--format", "text"), b"-1\n", "'-1' is not an"),
        (("--format", "text"), b"1 99999999999\n", "'99999999999' is not an"),
        (("--format", "text"), b"999\n", "standard input line 1 has id 999;"),
        (("--format", "json"), b"[1,\n", "is not JSON"),
        (("--format", "json"), b"[[" * 100_000, "is not JSON"),
        (("--format", "json"), b"[1.5]\n", "standard input line 1 is not"),
        (("--format", "json"), b"[true]\n", "standard input line 1 is not"),
        (("--format", "uint32"), b"abc", "3 bytes"),
        (("--format", "uint32", "--lines"), b"", "json with --lines"),
    ],
)
def test_what_is_no_id_is_refused_with_its_place(
    model: str, arguments: tuple[str, ...], data: bytes, said: str
) -> None:
    error = call("decode", model, *arguments, data=data, code=2).stderr
    assert said in error
    assert len(error.splitlines()) == 1


def test_unknown_names_and_missing_files(model: str, tmp_path: Path) -> None:
    assert "did you mean 'raw_bytes'" in call("encode", "raw_byte", code=2).stderr
    assert "cannot read" in call("encode", model, tmp_path / "none", code=2).stderr
    for name in (tmp_path / "none.json", "none.model", "a" * 5000):
        error = call("encode", name, code=2).stderr
        assert error.startswith("error: ")
        assert (f"'{name}': there is no such file" in error) == (len(str(name)) < 5000)
    (tmp_path / "broken.json").write_bytes(Path(model).read_bytes()[:-20])
    assert "broken.json" in call("encode", tmp_path / "broken.json", code=2).stderr


def test_the_folder_of_a_training_is_a_tokenizer(model: str) -> None:
    assert call("encode", Path(model).parent, data=b"to be").stdout == call("encode", model, data=b"to be").stdout


@pytest.mark.parametrize(
    ("redirection", "said"),
    [
        ("<&-", "standard input .*closed"),
        (">&-", "standard output .*closed"),
        ("> /dev/full", "standard output: No space left on device"),
        ("> limited", "standard output: File too large"),
    ],
)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_stream_that_is_closed_or_full_is_an_error(
    model: str, redirection: str, said: str, unbuffered: str, tmp_path: Path
) -> None:
    if "full" in redirection and not Path("/dev/full").exists():
        pytest.skip("no /dev/full on this system")
    command = f"ulimit -f 1; echo to be | ( {' '.join([*RUN, 'encode', model])} {redirection} )"
    if redirection == "> limited":
        command = command.replace("echo to be", "head -c 100000 /dev/zero")
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        ["/bin/bash", "-c", command], capture_output=True, text=True, check=False, cwd=tmp_path, env=environment
    )
    assert done.returncode == 2
    assert re.fullmatch(rf"error: .*{said}.*\n", done.stderr)


def test_a_closed_pipe_is_quiet(model: str) -> None:
    command = " ".join([*RUN, "encode", model, "--lines"])
    script = f"yes 'to be or not to be' | head -n 200000 | {command} | head -n 1"
    done = subprocess.run(["/bin/bash", "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 1
