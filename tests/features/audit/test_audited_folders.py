"""Damage in the files of a model folder that ``pyharness audit`` names: tokens, ids, templates and merge rules."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from audited import damage
from audited.damage import CONFIG, GENERATION, MODEL, TEMPLATE, TOKENIZER, Files
from pyharness.features.audit.auditing import audit
from pyharness.features.audit.checks import byte_tokens, vocabulary
from pyharness.features.audit.checks.subjects import AuditFault, AuditSubject, CheckResult
from pyharness.types import Ids, Tokens
from tokenizer_files import byte_level, sentencepiece_data, write

REFUSING = "{% if messages|length > 1 %}{{ raise_exception('one message') }}{% endif %}" + damage.GOOD_TEMPLATE


def good() -> Files:
    """A model folder whose files agree."""
    content = byte_level()
    for place, token in enumerate(content["added_tokens"]):
        token["id"] = len(content["model"]["vocab"]) + place
    return damage.folder_of(content | {"truncation": None, "padding": None, "post_processor": None})


def checked(files: Files, folder: Path, check: str) -> CheckResult:
    (line,) = audit(str(damage.write_folder(files, folder)), [check]).lines
    return line.result


def failed(files: Files, folder: Path, check: str) -> Sequence[AuditFault]:
    return [fault for fault in checked(files, folder, check).faults if fault.status == "fail"]


# ---------------------------------------------------------------------------------------------- tokens and ids


def test_a_token_that_only_the_settings_have_is_named(tmp_path: Path) -> None:
    files = good()
    entries = files[CONFIG]["added_tokens_decoder"]
    entries[str(files[MODEL]["vocab_size"])] = {**next(iter(entries.values())), "content": "<|extra|>"}
    (fault,) = failed(files, tmp_path, "specials")
    assert "<|extra|>" in fault.text
    assert fault.witness.endswith("gives it none")


def test_a_token_that_the_settings_rename_is_named_with_both_names(tmp_path: Path) -> None:
    files = good()
    key, entry = next(iter(files[CONFIG]["added_tokens_decoder"].items()))
    before, entry["content"] = entry["content"], "<|renamed|>"
    (fault,) = failed(files, tmp_path, "specials")
    assert "<|renamed|>" in fault.text
    assert fault.witness.endswith(f"it none, and {key} to '{before}'")


def test_a_control_piece_that_the_settings_rename_is_named(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    write(tmp_path, "tokenizer.model", sentencepiece_data(2, byte_fallback=True))
    entries = {"0": {"content": "<unk>"}, "1": {"content": "<|renamed|>"}}
    (fault,) = failed({CONFIG: {"added_tokens_decoder": entries}}, tmp_path, "specials")
    assert "<|renamed|>" in fault.text
    assert "and 1 to '<s>'" in fault.witness


@pytest.mark.parametrize(("value", "kind"), [("1", "a string"), (True, "a boolean"), (1.5, "no whole number")])
def test_an_id_that_is_no_number_is_not_called_out_of_range(value: Any, kind: str, tmp_path: Path) -> None:
    files = good()
    files[GENERATION]["eos_token_id"] = value
    (fault,) = failed(files, tmp_path, "specials")
    assert fault.witness.endswith(kind)
    assert f"'{json.dumps(value)}'" in fault.text


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_a_fault(encoding: str, tmp_path: Path) -> None:
    files = good()
    files[MODEL] = json.dumps(files[MODEL]).encode(encoding)
    (fault,) = failed(files, tmp_path, "specials")
    assert (MODEL in fault.text, "byte order mark" in fault.text) == (True, True)


# ---------------------------------------------------------------------------------------------- templates


def test_a_template_that_loses_a_later_question_fails(tmp_path: Path) -> None:
    two = damage.GOOD_TEMPLATE.replace("in messages", "in messages[:2]")
    (fault,) = failed({**good(), TEMPLATE: two}, tmp_path, "template")
    assert (fault.name, "Sure?" in fault.witness) == ("template loses text", True)


def test_a_conversation_that_a_template_refuses_is_a_warning(tmp_path: Path) -> None:
    result = checked({**good(), TEMPLATE: REFUSING}, tmp_path, "template")
    assert [(fault.witness, fault.status) for fault in result.faults] == [("'one message'", "warn")] * 2
    assert ["three turns" in result.faults[0].text, "system" in result.faults[1].text] == [True, True]
    assert result.tried.endswith("3 conversations, 2 refused")


def test_a_template_that_refuses_every_conversation_fails(tmp_path: Path) -> None:
    result = checked({**good(), TEMPLATE: "{{ raise_exception('never') }}"}, tmp_path, "template")
    assert [(fault.witness, fault.status) for fault in result.faults] == [("'never'", "fail")] * 3
    assert result.tried.endswith("3 conversations, 3 refused")


@pytest.mark.parametrize("stated", [5, [{"name": "default"}], ["text"], {"default": 5}])
def test_a_template_that_is_no_text_fails(stated: Any, tmp_path: Path) -> None:
    files = good()
    del files[TEMPLATE]
    files[CONFIG]["chat_template"] = stated
    result = checked(files, tmp_path, "template")
    assert [(CONFIG in fault.text, fault.status) for fault in result.faults] == [(True, "fail")]
    assert result.tried.startswith(CONFIG)
    assert result.tried.endswith("not rendered")


@pytest.mark.parametrize("stated", [[{"name": "default", "template": damage.GOOD_TEMPLATE}],
                                    {"default": damage.GOOD_TEMPLATE, "tools": damage.GOOD_TEMPLATE}])  # fmt: skip
def test_named_templates_are_rendered(stated: Any, tmp_path: Path) -> None:
    files = good()
    del files[TEMPLATE]
    files[CONFIG]["chat_template"] = stated
    result = checked(files, tmp_path, "template")
    assert (result.status, f"{CONFIG} default" in result.tried) == ("pass", True)


@pytest.mark.parametrize("named", [False, True])
def test_two_templates_of_a_folder_that_differ_fail(named: bool, tmp_path: Path) -> None:
    files = good()
    for end, faults in (("\n", 0), ("!", 1), ("</s>", 1)):
        text = damage.GOOD_TEMPLATE + end
        files[CONFIG]["chat_template"] = [{"name": "default", "template": text}] if named else text
        found = failed(files, tmp_path, "template")
        assert [fault.name for fault in found] == ["files disagree"] * faults
        assert all(f"'' and '{end}'" in fault.witness for fault in found)


# ---------------------------------------------------------------------------------------------- rules and bytes


def test_a_rule_that_occurs_twice_is_named_and_the_library_takes_the_last(tmp_path: Path) -> None:
    library = pytest.importorskip("tokenizers")
    vocab = {name: number for number, name in enumerate(("a", "b", "c", "ab", "bc"))}
    content = {"version": "1.0", "added_tokens": [], "model": {"type": "BPE", "vocab": vocab, "merges": []}}
    for merges, tokens in ((["a b", "b c"], ["ab", "c"]), (["a b", "b c", "a b"], ["a", "bc"])):
        content["model"]["merges"] = merges  # type: ignore[index]
        assert library.Tokenizer.from_str(json.dumps(content)).encode("abc").tokens == tokens
    files = good()
    merges = files[TOKENIZER]["model"]["merges"]
    files[TOKENIZER]["model"]["merges"] = [*merges, merges[0]]
    faults = failed(files, tmp_path, "ids")
    assert [fault.name for fault in faults][:1] == ["rule twice"]
    assert f"rules 0 and {len(merges)}," in faults[0].text
    assert faults[0].witness.endswith(f"takes rule {len(merges)}")


def test_the_order_of_ids_has_a_rule_at_its_last_place(tmp_path: Path) -> None:
    files = good()
    model = files[TOKENIZER]["model"]
    model["merges"] = [*model["merges"], model["merges"][0]]
    subject = audit(str(damage.write_folder(files, tmp_path)), ["file"]).subject
    assert vocabulary._order(subject)[-1] == model["vocab"]["".join(model["merges"][0].split())]


def test_names_of_control_tokens_have_both_marks() -> None:
    for name in ("<|im_end|>", "<s>", "[CLS]", "<｜end▁of▁sentence｜>"):
        assert vocabulary._CONTROL.fullmatch(name)
    for word in ("<vector", "<", "[", "[]", "<>", "< b >", "<a><b>", "[1, 2"):
        assert not vocabulary._CONTROL.fullmatch(word)


class _Bytes:
    """A plug-in whose ids are bytes, and which shows no vocabulary."""

    id_limit = vocab_size = 256
    round_trip, notes = "exact", ()

    def encode_batch(self, texts: Sequence[str], threads: int = 1) -> Tokens:
        """Return the bytes of each text."""
        return Tokens.from_lists([list(text.encode()) for text in texts])

    def decode(self, ids: Ids) -> bytes:
        """Return the bytes."""
        return ids.astype(np.uint8).tobytes()


def test_a_library_that_hides_its_bytes_is_not_said_to_promise_none() -> None:
    result = byte_tokens.check_bytes(AuditSubject("mybytes", "numpy", _Bytes()))  # type: ignore[arg-type]
    assert (result.status, "file" in result.tried) == ("none", False)
