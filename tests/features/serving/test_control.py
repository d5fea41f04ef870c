"""Control tokens in a user's text: markers of files and templates, outcomes in every place, verdicts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyharness import tokenizers
from pyharness.benchmarks import Findings, Work, benchmarks
from pyharness.features.serving import control
from pyharness.features.serving.calls import Encode, EncodeCall, LibraryCalls, RowFile
from pyharness.features.serving.control import PLACES, LibraryOutcomes, MarkerOutcome, outcomes
from pyharness.features.serving.markers import MOST_MARKERS, Marker, Markers, marker_words, template_words
from pyharness.types import Case, CaseResult, InputError, Unsupported
from tokenizer_files import byte_level, rank_data, sentencepiece_data, write

MARK = Marker("<|a|>", 300, "special", True)
BEGINNING = 301
FLAGS = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}


def work(row: str) -> Work:
    spec = tokenizers.resolve(row)
    return Work(Case("control", row, None), spec, lambda: spec.load(spec), None, 1)


def measured(row: str) -> Findings:
    return benchmarks()["control"].run(work(row))


def shares(findings: Findings) -> dict[tuple[str, str | None], float | None]:
    return {(one.metric, one.part): one.value for one in findings.measurements}


def markers_of(path: str) -> Markers:
    return Markers.of(RowFile.of(tokenizers.resolve(path)))


# ---------------------------------------------------------------------------------------------------------- outcomes


def plain(text: str) -> list[int]:
    return [BEGINNING, *text.encode()]


def replacing(text: str) -> list[int]:
    ids = [BEGINNING]
    for number, part in enumerate(text.split(MARK.text)):
        ids += [MARK.id] * (number > 0) + [*part.encode()]
    return ids


def refusing(text: str) -> list[int]:
    if MARK.text in text:
        raise ValueError
    return plain(text)


class Panic(BaseException):
    """As pyo3 raises it: no ``Exception``."""


def panicking(text: str) -> list[int]:
    if MARK.text in text:
        raise Panic
    return plain(text)


def only_alone(text: str) -> list[int]:
    return [MARK.id] if text == MARK.text else plain(text)


@pytest.mark.parametrize(
    ("encode", "expected"),
    [
        (plain, MarkerOutcome.TEXT),
        (replacing, MarkerOutcome.CONTROL),
        (refusing, MarkerOutcome.REFUSED),
        (panicking, MarkerOutcome.REFUSED),
    ],
)
def test_each_outcome_is_seen_in_every_place(encode: Encode, expected: MarkerOutcome) -> None:
    assert outcomes(encode, [MARK]).tolist() == [[expected] * len(PLACES)]


def test_places_are_judged_one_by_one() -> None:
    assert outcomes(only_alone, [MARK]).tolist() == [[1, 0, 0, 0, 0]]


def test_an_id_that_the_library_always_adds_is_not_the_text() -> None:
    assert not outcomes(plain, [Marker("<s>", BEGINNING, "special", True)]).any()


@given(st.text(min_size=1))
def test_split_fields_hold_the_marker_only_once_joined(text: str) -> None:
    fields = {"first": text[: len(text) // 2], "last": text[len(text) // 2 :]}
    assert PLACES[-1].text(text) == "Name: {first}{last}\n".format(**fields)
    assert text not in fields.values() or len(text) == 1


# ---------------------------------------------------------------------------------------------------------- verdicts


def judged(default: Encode, *switches: Encode) -> str:
    calls = [EncodeCall(f"switch {number}", switch) for number, switch in enumerate(switches)]
    library = LibraryCalls("made", EncodeCall("default", default), tuple(calls))
    return LibraryOutcomes.of(library, [MARK]).verdict(np.array([True]))


@pytest.mark.parametrize(
    ("default", "switches", "expected"),
    [
        (replacing, (), "none"),
        (replacing, (replacing,), "none"),
        (replacing, (refusing, plain), "switch 1"),
        (replacing, (refusing,), "switch 0, which"),
        (replacing, (panicking,), "switch 0, which"),
        (refusing, (), "default, which"),
        (plain, (replacing,), "default"),
        (plain, (refusing,), "default"),
    ],
)
def test_the_safest_call_is_named(default: Encode, switches: Sequence[Encode], expected: str) -> None:
    assert judged(default, *switches).startswith(expected)
    assert ("which" in judged(default, *switches)) is ("which" in expected)


def test_a_switch_that_gives_ordinary_text_other_ids_is_none() -> None:
    assert judged(replacing, lambda text: plain(text.lower())).startswith("none")


def lacking(text: str) -> list[int]:
    raise TypeError(text)


def refusing_what_surrounds(text: str) -> list[int]:
    if text.startswith("Say "):
        raise ValueError(text)
    return plain(text)


@pytest.mark.parametrize("switch", [lacking, refusing_what_surrounds])
def test_a_switch_that_raises_is_none(switch: Encode) -> None:
    assert judged(replacing, switch).startswith("none")


def test_words_do_not_count() -> None:
    word = Marker("<|a|>", 300, "not flagged special", False)
    library = LibraryOutcomes.of(LibraryCalls("made", EncodeCall("default", replacing)), [word])
    assert library.verdict(np.array([False])) == "default"


# ----------------------------------------------------------------------------------------------------------- markers


def test_markers_of_a_tokenizer_json(tmp_path: Path) -> None:
    file = byte_level()
    file["added_tokens"].append({"id": 263, "content": "<|User|>", "special": False, **FLAGS})
    markers = markers_of(write(tmp_path, "tokenizer.json", file))
    kinds = {marker.text: (marker.id, marker.origin, marker.is_control) for marker in markers.tried}
    assert kinds == {
        "<|User|>": (263, "not flagged special", True),
        "<|endoftext|>": (261, "special", True),
        "   ": (262, "not flagged special", False),
    }


def test_markers_of_a_sentencepiece_model(tmp_path: Path) -> None:
    markers = markers_of(write(tmp_path, "a.model", sentencepiece_data(2, byte_fallback=True)))
    assert {(marker.text, marker.origin) for marker in markers.tried} == {
        ("<s>", "special"),
        ("</s>", "special"),
        ("[X]", "not flagged special"),
    }


def test_the_unknown_token_is_a_word(tmp_path: Path) -> None:
    file = byte_level()
    file["model"] |= {"unk_token": "<|endoftext|>", "vocab": file["model"]["vocab"] | {"<|endoftext|>": 261}}
    unigram = byte_level() | {
        "model": {
            "type": "Unigram",
            "unk_id": 261,
            "vocab": [[f"a{n}", -1.0] for n in range(261)] + [["<|endoftext|>", 0.0]],
        }
    }
    for number, one in enumerate((file, unigram)):
        markers = markers_of(write(tmp_path, f"{number}.json", one))
        assert {marker.text: marker.is_control for marker in markers.tried} == {"<|endoftext|>": False, "   ": False}


def test_of_many_markers_some_are_tried(tmp_path: Path) -> None:
    file = byte_level()
    many = [{"id": 263 + n, "content": f"<|{n}|>", "special": n % 10 != 0, **FLAGS} for n in range(20_000)]
    file["added_tokens"] += many
    markers = markers_of(write(tmp_path, "tokenizer.json", file))
    assert markers.in_file == 20_002
    assert len(markers.tried) <= MOST_MARKERS
    assert "<|9000|>" in {marker.text for marker in markers.tried}, "what no flag protects comes first"
    assert max(marker.id for marker in markers.tried) > 19_000


def test_a_template_names_words_with_and_without_an_id(tmp_path: Path) -> None:
    row = write(tmp_path, "tokenizer.json", byte_level())
    template = "{% for m in messages %}<|endoftext|>[INST] {{ m.content }} [/INST]{% endfor %}"
    (tmp_path / "tokenizer_config.json").write_text(
        json.dumps({"chat_template": [{"name": "a", "template": template}]})
    )
    markers = markers_of(row)
    assert markers.plain == ("[INST]", "[/INST]")
    assert "<|endoftext|>" in {marker.text for marker in markers.tried}
    (tmp_path / "chat_template.jinja").write_text("### Instruction:\n{{ '<|im_start|>' + role }}")
    assert template_words(tmp_path) == ("### Instruction:", "<|im_start|>", "<|endoftext|>", "[INST]", "[/INST]")


def test_a_template_is_never_run(tmp_path: Path) -> None:
    row = write(tmp_path, "tokenizer.json", byte_level())
    hostile = "{% for a in range(10**12) %}<|x|>{{ cycler.__init__.__globals__.os.system('touch ran') }}{% endfor %}"
    (tmp_path / "chat_template.jinja").write_text(hostile)
    assert markers_of(row).plain == ("<|x|>",)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("content", [b"{", b"\xff", b"[" * 100_000, b'{"chat_template": 1} trailing'])
def test_a_damaged_configuration_is_named(tmp_path: Path, content: bytes) -> None:
    row = write(tmp_path, "tokenizer.json", byte_level())
    (tmp_path / "tokenizer_config.json").write_bytes(content)
    with pytest.raises(InputError, match=r"tokenizer_config\.json"):
        markers_of(row)


@given(st.text())
def test_any_text_is_a_template(template: str) -> None:
    assert all(word in template for word in marker_words(template))


# ---------------------------------------------------------------------------------------------------------- the case


def test_a_row_and_its_library(tmp_path: Path) -> None:
    findings = measured(write(tmp_path, "tokenizer.json", byte_level()))
    assert shares(findings)["control_tokens", None] == 1
    assert shares(findings)["control_by_default", "tokenizers"] == 1
    assert shares(findings)["control_by_safest", "tokenizers"] == 0
    assert shares(findings)["control_by_row", None] == 0
    assert findings.details["row_setting"] == control.ROW_SETTING
    assert findings.details["libraries"]["tokenizers"]["verdict"].startswith("encode_special_tokens")


def test_a_library_without_a_switch(tmp_path: Path) -> None:
    findings = measured(write(tmp_path, "a.model", sentencepiece_data(2, byte_fallback=True)))
    assert shares(findings)["control_by_default", "sentencepiece"] == pytest.approx(1 / 3)
    assert findings.details["libraries"]["sentencepiece"]["passes_safest"] == ["[X]"]
    assert findings.details["libraries"]["sentencepiece"]["verdict"].startswith("none")


def test_a_library_that_refuses(tmp_path: Path) -> None:
    path = write(tmp_path, "a.tiktoken", rank_data())
    findings = measured(f"{path}?pattern=gpt2&special=<|a|>:300")
    assert shares(findings)["refused_by_default", "tiktoken"] == 1
    assert shares(findings)["control_by_default", "tiktoken"] == 0


def test_numbers_derive_again(tmp_path: Path) -> None:
    row = write(tmp_path, "tokenizer.json", byte_level())
    findings = measured(row)
    assert control.rederive(findings.state, Case("control", row, None)).measurements == findings.measurements


def test_a_row_without_a_vocabulary_is_skipped() -> None:
    with pytest.raises(Unsupported):
        measured("units:word")


def test_the_report_answers(tmp_path: Path) -> None:
    findings = measured(write(tmp_path, "a.model", sentencepiece_data(2, byte_fallback=True)))
    result = CaseResult(Case("control", "row", None), "ok", None, findings.measurements, findings.details)
    (answer,) = control.becoming([result], {})
    assert answer.sign == "alarm"
    assert "row in sentencepiece" in answer.text
    assert [entry[0] for entry in control.verdicts(result)] == ["sentencepiece"]
    assert [note for note in control.TABLE.notes[-1]([result], {}) if "[X]; 1 of them" in note]  # type: ignore[operator]
