"""Records that a report is made of, each in its own way, and their pages."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from browsing import hostile as spread
from browsing import strings, texts
from browsing.grid import grid
from browsing.measuring import run_here
from pyharness.cli import main

ALL = ["compression", "fairness", {"name": "reachability", "witnesses": True}, "vocabulary", "segmentation"]
LOAD = {"name": "load", "tokenizers": ["raw_bytes"]}
THROUGHPUT = {"name": "throughput", "bytes": 20_000, "threads": [1]}
TIMED = [THROUGHPUT, "latency", LOAD]


def page_of(*records: Path) -> Path:
    """Write the page of records beside the first, as a user does."""
    output = records[0].with_suffix(".html")
    asked = ["report", *map(str, records), "--format", "html", "-o", str(output), "--force"]
    answer = CliRunner().invoke(main, asked)
    assert answer.exit_code == 0, answer.output
    return output


def measure(
    path: Path, rows: Mapping[str, str], labelled: Mapping[str, str], benchmarks: list[Any], **top: Any
) -> None:
    """Measure a suite and keep its record."""
    suite = {
        "name": path.stem,
        "tokenizers": [{"name": name, "spec": spec} for name, spec in rows.items()],
        "corpora": [{"name": name, "spec": spec} for name, spec in labelled.items()],
        "benchmarks": benchmarks,
        **top,
    }
    file = path.with_name(f"{path.stem}.suite.toml")
    file.write_text("".join(f"{name} = {_toml(value)}\n" for name, value in suite.items()), "utf-8")
    run_here(path, suite_name=file)


def _toml(value: Any) -> str:
    """A value of TOML: as JSON has it, but for tables within lists."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_toml(one)}" for name, one in value.items()) + "}"
    return f"[{', '.join(map(_toml, value))}]" if isinstance(value, list) else json.dumps(value)


def quick(path: Path) -> None:
    """What ``pyharness run`` measures, of fewer rows on less text; two engines run one vocabulary."""
    files, labelled = texts.write_rows(path.parent), texts.write(path.parent)
    rows = {"raw_bytes": "raw_bytes", **{name: files[name] for name in ("plain", "one", "other")}}
    benchmarks = ["compression", "fairness", "reachability", *TIMED]
    chosen = {name: labelled[name] for name in ("en", "aligned")}
    measure(path, {**rows, "native": f"native+{files['plain']}"}, chosen, benchmarks, reference="one")


def full(path: Path) -> None:
    """All kinds of rows on all texts, and what needs no clock."""
    files = texts.write_rows(path.parent)
    rows = {"raw_bytes": "raw_bytes", **{name: files[name] for name in ("plain", "grown", "dead", "lossy")}}
    measure(path, rows, texts.write(path.parent), ALL, reference="grown")


def short(path: Path) -> None:
    """Six rows on three texts: what a first screen has room for."""
    files, labelled = texts.write_rows(path.parent), texts.write(path.parent)
    rows = {"raw_bytes": "raw_bytes", **{name: files[name] for name in ("plain", "grown", "dead", "lossy")}}
    chosen = {name: labelled[name] for name in ("en", "th", "code")}
    benchmarks = ["compression", "reachability", {**THROUGHPUT, "corpora": ["en"]}]
    measure(path, {**rows, "native": f"native+{files['plain']}"}, chosen, benchmarks, reference="grown")


def algorithms(path: Path) -> None:
    """Rows that are trained on one half of a text and measured on the other."""
    pytest.importorskip("pyharness.features.training", reason="trains")
    text, cache = texts.write(path.parent)["en"].partition("?")[0], path.parent / "cache"
    made = {"bpe-300": "bpe", "scaffold-bpe-300": "scaffold-bpe", "bpe-360": "bpe", "wordpiece-300": "wordpiece"}
    rows = {name: f"trained:{trainer}?vocab_size={name[-3:]}&corpus=shard:0/2:{text}" for name, trainer in made.items()}
    replaced = {"name": "replaced_tokens", "tokenizers": ["scaffold-bpe-300"]}
    training = {"name": "training", "threads": [1], "repetitions": 1, "tokenizers": ["bpe-300", "bpe-360"]}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYHARNESS_CACHE", str(cache))
        benchmarks = ["compression", "vocabulary", replaced, training]
        measure(path, rows, {"held-out": f"shard:1/2:{text}"}, benchmarks, reference="bpe-300")


def next_token(path: Path) -> None:
    """What a small language model makes of a text in its tokens."""
    pytest.importorskip("torch", reason="needs the extra torch")
    pytest.importorskip("transformers", reason="needs the extra hub")
    tiny = pytest.importorskip("language_models", reason="needs the feature of that name")
    model = tiny.build(path.parent / "model")
    rows = {"own": f"file:{model / 'tokenizer.json'}"}
    asked = {"name": "next_token_entropy", "model": str(model), "context": 32}
    labelled = {name: spec for name, spec in texts.write(path.parent).items() if name in ("en", "code")}
    measure(path, rows, labelled, ["compression", asked])


def failed(path: Path) -> None:
    """Nothing was measured: every case has failed or was skipped."""
    measure(
        path, {"raw_bytes": "raw_bytes", "bytes": "raw_bytes"}, texts.write(path.parent), ["compression", "fairness"]
    )
    data = json.loads(path.read_text("utf-8"))
    for number, case in enumerate(data["results"]):
        reason = f"the process died: signal {number % 7}"
        case |= {"status": ("failed", "skipped")[number % 3 == 0], "reason": reason, "measurements": [], "details": {}}
    path.write_text(json.dumps(data | {"metrics": {}}), "utf-8")


def hostile_rows(path: Path) -> None:
    """Names of strangers for rows, reasons and tokens, on what ``full`` has measured."""
    _renamed(path, spread.of_rows, strings.hostile())


def hostile_texts(path: Path) -> None:
    """Names of strangers for texts."""
    _renamed(path, spread.of_texts, strings.hostile())


def long(path: Path) -> None:
    """Names of 100 kB, and one that is not."""
    _renamed(path, spread.of_rows, [*strings.LONG, "short"])


def thirty(path: Path) -> None:
    """30 rows on 30 texts."""
    path.write_text(json.dumps(grid(measured_once())), "utf-8")


def _renamed(path: Path, rename: Callable[..., dict[str, Any]], names: Sequence[str]) -> None:
    path.write_text(json.dumps(rename(measured_once(), names)), "utf-8")


@cache
def measured_once() -> dict[str, Any]:
    """What ``full`` measures, for records that are made of it."""
    with tempfile.TemporaryDirectory() as folder:
        full(Path(folder) / "full.json")
        return json.loads((Path(folder) / "full.json").read_text("utf-8"))  # type: ignore[no-any-return]


RECORDS: dict[str, Callable[[Path], None]] = {
    one.__name__: one
    for one in (quick, full, short, algorithms, next_token, failed, hostile_rows, hostile_texts, long, thirty)
}


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Path of the page of a record, by its name in ``RECORDS``; the record lies beside it."""

    @cache
    def page(name: str) -> Path:
        path = tmp_path_factory.mktemp(name) / f"{name}.json"
        RECORDS[name](path)
        return page_of(path)

    return page
