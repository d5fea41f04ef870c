"""Records that somebody has edited: each forgery is refused or named, or is of what a document lists as unchecked."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import pyharness
from cases.rederived import asked, edited
from pyharness import store
from pyharness.commands import rederivation
from pyharness.store import StateReader
from pyharness.types import CaseResult, InputError
from tokenizer_files import two_letters, write

pytestmark = pytest.mark.usefixtures("doubles")
# docs/metrics.md, "Recomputed records", lists these for people.
UNCHECKED = (
    r"schema|created|seconds|complete",
    r"environment\..*",
    r"tokenizers\.[^.]+\..+",
    r"corpora\.[^.]+\.(spec|language|domain|licence|smoke_test)",
    r"metrics\.[^.]+\.summary",
    r"results\.(integrity|fairness|latency)\.details\.tally\..+",  # they do not read the whole of it
    r"results\.integrity\.details\.(witnesses|error)",
    r"results\.(reachability|latency)\.measurements\..*",
    r"results\.(reachability|latency)\.details\..*",
    r"results\.(reachability|latency)\.reason",
    r"results\.[a-z]+\.measurements\.(reason|no_interval|no_pair)",  # in words; their numbers are checked
)
Data = dict[str, Any]


@pytest.fixture(scope="module")
def little(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a record of little text: some that derive, some that do not."""
    folder = tmp_path_factory.mktemp("little")
    (folder / "suite.toml").write_text(
        'name = "little"\nreference = "bytes"\ntokenizers = [{ name = "bytes", spec = "raw_bytes" }]\n'
        'corpora = ["sample:prose", "sample:parallel?max_bytes=50kB"]\n'
        'benchmarks = ["compression", "fairness", "vocabulary", { name = "reachability" },\n'
        '  { name = "latency", corpora = ["sample:prose"] }]\n',
        "utf-8",
    )
    pyharness.run(suite_name=folder / "suite.toml", output=folder / "record.json")
    return folder


@pytest.fixture
def copied(little: Path, tmp_path: Path) -> Path:
    for file in little.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    return tmp_path


def of(data: Data, benchmark: str) -> Data:
    found: Data = next(one for one in data["results"] if one["benchmark"] == benchmark)
    return found


def measured(data: Data, metric: str) -> Data:
    found: Data = next(one for one in of(data, "compression")["measurements"] if one["metric"] == metric)
    return found


def doubled(data: Data) -> None:
    measurements = of(data, "compression")["measurements"]
    measurements.insert(0, {**measurements[0], "value": 99.0})


def case_twice(data: Data) -> None:
    data["results"].insert(0, copy.deepcopy(data["results"][-1]))


def same_part_twice(data: Data) -> None:
    measurements = of(data, "latency")["measurements"]
    measurements.insert(0, {**measurements[0], "value": 1e-9})


@pytest.mark.parametrize("forge", [doubled, case_twice, same_part_twice])
def test_what_is_there_twice_is_refused_on_reading(copied: Path, forge: Callable[[Data], None]) -> None:
    """The first of two was shown, with the interval of the other, on rank 1."""
    edited(copied, forge)
    found = asked(copied)
    assert (found.exit_code, len(found.output.splitlines())) == (2, 1)
    assert "twice" in found.output
    with pytest.raises(InputError, match="twice"):
        store.read(copied / "record.json")


def deleted(data: Data) -> None:
    data["results"].remove(of(data, "compression"))


def failed(data: Data) -> None:
    of(data, "fairness").update(status="failed", reason="it crashed", measurements=[])


def skipped(data: Data) -> None:
    of(data, "vocabulary").update(status="skipped", reason="no time", measurements=[], details={})


def renamed(data: Data) -> None:
    of(data, "compression").update(tokenizer="mine")


def misnamed(data: Data) -> None:
    of(data, "latency").update(key="latency | yours")


def turned(data: Data) -> None:
    data["metrics"]["bytes_per_token"]["direction"] = "lower"


def freed(data: Data) -> None:
    data["metrics"]["bytes_per_token"]["deterministic"] = False
    measured(data, "bytes_per_token").update(value=99.0)


def undefined(data: Data) -> None:
    del data["metrics"]["bytes_per_token"]


def unflagged(data: Data) -> None:
    del data["metrics"]["shannon_entropy"]["grows_with_text"]


def retallied(data: Data) -> None:
    of(data, "compression")["details"]["tally"]["bytes"] += 1


def retallied_everywhere(data: Data) -> None:
    for one in (data["corpora"]["sample:prose"], *(one["details"] for one in data["results"])):
        if one.get("tally") and one["tally"]["bytes"] == data["corpora"]["sample:prose"]["tally"]["bytes"]:
            one["tally"] = {**one["tally"], "documents": one["tally"]["documents"] + 1}


def another_text(data: Data) -> None:
    of(data, "latency")["details"]["tally"]["digest"] = "0" * 32


def no_text(data: Data) -> None:
    data["corpora"]["sample:prose"]["tally"] = None


def mended(data: Data) -> None:
    of(data, "integrity")["details"].update(mismatches=-1)


def stateless(data: Data) -> None:
    one = copy.deepcopy(of(data, "vocabulary"))
    one["parameters"] = {"width": 5}
    data["results"].append({**one, "key": "vocabulary | bytes | width=5"})


def another_suite(data: Data) -> None:
    data["suite"]["benchmarks"].pop()


def reworded(data: Data) -> None:
    for one in of(data, "compression")["measurements"]:
        if one.get("no_interval"):
            numbers = re.findall(r"[\d,.]*\d", one["no_interval"])
            one["no_interval"] = " of ".join(["no CI", *numbers])


def recounted(data: Data) -> None:
    one = next(one for one in of(data, "compression")["measurements"] if re.search(r"\d", one.get("no_interval") or ""))
    one["no_interval"] += " of 77"


def test_another_pyharness_may_give_reasons_in_other_words(copied: Path) -> None:
    edited(copied, reworded)
    assert asked(copied).exit_code == 0


@pytest.mark.parametrize(
    ("forge", "said"),
    [
        (recounted, "no_interval"),
        (deleted, "record lacks it"),
        (failed, "it is failed in the record"),
        (skipped, "it is skipped in the record"),
        (renamed, "row 'mine'"),
        (misnamed, "record calls it"),
        (turned, "metrics.bytes_per_token.direction"),
        (freed, "bytes_per_token.value"),
        (undefined, "metrics.bytes_per_token: it is measured"),
        (unflagged, "metrics.shannon_entropy.grows_with_text"),
        (retallied, "tally"),
        (retallied_everywhere, "tally.documents"),
        (another_text, "tally: its digests"),
        (no_text, "corpora.sample:prose.tally"),
        (mended, "details.mismatches"),
        (stateless, "left no state"),
        (another_suite, "suite"),
    ],
)
def test_a_forgery_is_named(copied: Path, forge: Callable[[Data], None], said: str) -> None:
    assert asked(copied).exit_code == 0
    edited(copied, forge)
    found = asked(copied)
    assert found.exit_code == 1
    assert any(said in line for line in found.output.splitlines() if not line.startswith("unchecked")), found.output


@pytest.mark.parametrize(("text", "least"), [("cccc", 1), ("abab\ncc", 5)])
def test_bytes_that_no_token_spells_are_in_no_sum(tmp_path: Path, text: str, least: int) -> None:
    """The state of `segmentation` counts the texts that are not spelled, and not their bytes: one each at least."""
    (tmp_path / "text.txt").write_text(text, "utf-8")
    row = write(tmp_path, "tokenizer.json", two_letters())
    pyharness.run([row], [f"path:{tmp_path}/text.txt?split=line"], ["segmentation"], output=tmp_path / "record.json")
    found = asked(tmp_path)
    assert found.exit_code == 0, found.output
    whole = len(text.replace("\n", ""))
    for size, code in ((whole, 0), (least, 0), (least - 1, 1)):
        edited(tmp_path, lambda data, size=size: with_bytes(data, size))  # type: ignore[misc]
        found = asked(tmp_path)
        assert found.exit_code == code, found.output
        assert (f"tally.bytes: {size} in the record, {least} from the state" in found.output) is bool(code)


def with_bytes(data: Data, size: int) -> None:
    """Forge the bytes of the text, alike everywhere."""
    for holder in (*(one["details"] for one in data["results"]), *data["corpora"].values()):
        holder["tally"]["bytes"] = size


def test_what_nobody_can_check_is_said(copied: Path) -> None:
    def change(data: Data) -> None:
        data["metrics"]["of_a_plugin"] = {"unit": "", "direction": "higher", "deterministic": True}
        of(data, "vocabulary")["measurements"].append({"metric": "of_a_plugin", "value": 3})
        of(data, "integrity")["details"]["witnesses"] = {"document": 3}
        data["results"][-1].update(status="failed", reason="no time", measurements=[])

    edited(copied, change)
    found = asked(copied)
    said = [line for line in found.output.splitlines() if line.startswith("unchecked: ")]
    for words in ("of_a_plugin", "details.witnesses", "1 failed case", "duration"):
        assert any(words in line for line in said), words
    assert any("latency" in line or "not derivable" in line for line in found.output.splitlines())


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where the values of a record stand that hold no others."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in items:
        yield from leaves(one, (*place, key))
    if not isinstance(value, dict | list) or not value:
        yield place


def kind_of(data: Data, place: tuple[Any, ...]) -> str:
    """The name of a place, whichever case and however far along a list it is."""
    names = [data["results"][place[1]]["benchmark"] if place[0] == "results" and index == 1 else part
             for index, part in enumerate(place)]  # fmt: skip
    return ".".join("" if isinstance(name, int) else str(name).replace(".", "_") for name in names).replace("..", ".")


def others(value: Any) -> list[Any]:
    """What could stand in the place of a value."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int | float):
        return [value + max(1e-6, abs(value) * 1e-6) if isinstance(value, float) else value + 1]
    return [f"{value}x"] if isinstance(value, str) else ["x", 1]


def holder_of(data: Data, place: tuple[Any, ...]) -> Any:
    """The object or list in which a place is the last step."""
    holder: Any = data
    for part in place[:-1]:
        holder = holder[part]
    return holder


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_each_value_of_a_record_is_checked_or_listed_as_unchecked(
    little: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """One of each kind of place is changed, by lot, alone."""
    record = store.read(little / "record.json")
    data = json.loads((little / "record.json").read_text("utf-8"))
    found: dict[str, list[tuple[Any, ...]]] = {}
    for place in leaves(data):
        found.setdefault(kind_of(data, place), []).append(place)
    lot = random.Random(seed)
    known: dict[str, CaseResult | str] = {}
    derive = rederivation._derive

    def once(result: CaseResult, states: StateReader) -> CaseResult | str:
        key = result.case.key
        known[key] = known[key] if key in known else derive(result, states)
        return known[key]

    monkeypatch.setattr(rederivation, "_derive", once)
    unnoticed = set()
    for kind, places in found.items():
        place = lot.choice(places)
        holder, part = holder_of(data, place), place[-1]
        true = holder[part]
        for holder[part] in others(true):
            if not noticed(data, record.path):
                unnoticed.add(kind)
        holder[part] = true
    assert not noticed(data, record.path)
    assert len(found) > 150
    assert not [kind for kind in unnoticed if not any(re.fullmatch(one, kind) for one in UNCHECKED)]
    assert not [one for one in UNCHECKED if not any(re.fullmatch(one, kind) for kind in unnoticed)], "checked by now"


def noticed(data: Data, path: Path | None) -> bool:
    try:
        return rederivation.rederive(store.Record.from_json(data, "it", path)).differs
    except InputError:
        return True
