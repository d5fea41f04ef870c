"""``pyharness audit``: planted faults fail by name, good files pass, bad input is one line."""

from __future__ import annotations

import json
import os
import unicodedata
from dataclasses import replace
from pathlib import Path

import pytest

from audited import damage
from audited.damage import Files
from audited.damaged_ranks import OF_RANKS, ranks
from cases.command_line import call, refused
from pyharness.benchmarks import Benchmark, Findings
from pyharness.features.audit import audit_report, auditing
from pyharness.features.audit.auditing import CHECKS, audit
from pyharness.features.audit.checks import calls, measured, settings, subjects, templates, texts, vocabulary
from pyharness.features.audit.checks.calls import _Span
from pyharness.features.audit.checks.subjects import AuditFault, CheckResult
from pyharness.report import page
from pyharness.types import Answer, Case, CaseResult, Tokens
from pyharness.types.results import Failure
from pyharness.vocabularies.huggingface import chat_rendering
from tokenizer_files import byte_level, rank_data, sentencepiece_data, write

LETTERS = texts.code_points()[::50]
ODD = calls.texts()[:60]
FAST = ("file", "specials", "bytes", "decoder", "ids", "template")


def good() -> Files:
    """A model folder whose files agree: a byte-level model with enough tokens for an order."""
    content = byte_level()
    vocab = content["model"]["vocab"]
    for left, right in (("i", "n"), ("in", "g"), ("o", "r"), ("or", "t")):
        content["model"]["merges"].append(f"{left} {right}")
        vocab[left + right] = len(vocab)
    for place, token in enumerate(content["added_tokens"]):
        token["id"] = len(vocab) + place
    content |= {"truncation": None, "padding": None, "post_processor": None}
    return damage.folder_of(content)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_rendering, "SECONDS", 1.5)


def test_a_good_folder_has_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "code_points", lambda: LETTERS)
    monkeypatch.setattr(calls, "texts", lambda: ODD)
    monkeypatch.setattr(measured, "benchmarks", dict)  # those of other features take a minute
    audited = audit(str(damage.write_folder(good(), tmp_path / "good")))
    assert {line.check.name: line.result.status for line in audited.lines if line.result.faults} == {
        "normal forms": "warn"
    }
    assert (audited.status, audited.exit_status) == ("warn", 0)
    assert {line.check.name for line in audited.lines} == set(CHECKS)


@pytest.mark.parametrize("kind", damage.KINDS)
def test_a_planted_fault_fails_by_name(kind: str, tmp_path: Path) -> None:
    planted = damage.KINDS[kind](good())
    assert planted is not None
    audited = audit(str(damage.write_folder(planted.files, tmp_path / "bad")), [*FAST, "reachable"])
    faults = {(line.check.name, fault.name): fault for line in audited.lines for fault in line.result.faults}
    fault = faults[planted.check, planted.fault]
    assert fault.status == "fail"
    assert fault.witness
    assert fault.advice
    assert audited.exit_status == 1
    assert page.render(audit_report.page_of(audited))


# ---------------------------------------------------------------------------------------------- other kinds of files


def trained_ranks() -> dict[bytes, int]:
    tokens = [*map(bytes, zip(range(256))), b"th", b"the", b"in", b"ing", b"or", b"ore"]
    return {token: rank for rank, token in enumerate(tokens)}


def test_swapped_ranks_are_named(tmp_path: Path) -> None:
    spec = write(tmp_path, "a.tiktoken", rank_data((b"th", b"the", b"in", b"ing"))) + "?pattern=gpt2"
    assert audit(spec, ["ids"]).status == "pass"
    assert not [*vocabulary._out_of_rank(trained_ranks())]
    letters = range(97, 125)
    longer = {b"the" + bytes([one, other]): 1000 + 256 * one + other for one in letters for other in letters}
    many = {**trained_ranks(), **{b"the" + bytes([one]): 900 + one for one in letters}, **longer}
    assert not [*vocabulary._out_of_rank(many)]
    (fault,) = vocabulary._out_of_rank({**many, b"ore": many[b"ing"], b"ing": many[b"ore"]})
    assert fault.witness == "'o' + 'r' + 'e'"


@pytest.mark.parametrize("kind", OF_RANKS)
def test_a_fault_in_a_rank_file_fails_by_name(kind: str, tmp_path: Path) -> None:
    make, check, name = OF_RANKS[kind]
    data = ranks(list(trained_ranks().items()))
    audited = audit(write(tmp_path, "a.tiktoken", make(data)) + "?pattern=gpt2", ["file", "ids"])
    faults = {(line.check.name, fault.name): fault for line in audited.lines for fault in line.result.faults}
    assert faults[check, name].status == "fail"
    assert faults[check, name].witness


def test_out_of_place_ids_are_found_in_blocks() -> None:
    block = [*range(500, 900), *range(100, 400)]
    assert vocabulary.out_of_place(block) == []
    block[3], block[600] = block[600], block[3]
    assert sorted(vocabulary.out_of_place(block)) == sorted((block[3], block[600]))


def test_many_swapped_ids_of_a_large_file_are_faults(monkeypatch: pytest.MonkeyPatch) -> None:
    order = [*range(2000)]
    for place in range(100, 2000, 250):  # 8 swaps
        order[place], order[place + 5] = order[place + 5], order[place]
    monkeypatch.setattr(vocabulary, "_order", lambda subject: order)
    monkeypatch.setattr(vocabulary, "_spelled", lambda subject, token: "a")
    monkeypatch.setattr(vocabulary, "_witness", lambda subject, token: "a")
    assert len([*vocabulary._misplaced(subjects.load("raw_bytes"))]) == 16
    order.sort(key=lambda number: number * 7 % 2000)
    assert not [*vocabulary._misplaced(subjects.load("raw_bytes"))]


@pytest.mark.parametrize("cut", [0.3, 0.9])
def test_a_cut_off_file_of_any_kind_is_refused_by_name(cut: float, tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    data = sentencepiece_data(2, byte_fallback=True)
    result = audit(write(tmp_path, "a.model", data[: int(len(data) * cut)]), FAST)
    assert result.exit_status == 1


def test_sentencepiece_models_and_ranks_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "code_points", lambda: LETTERS)
    monkeypatch.setattr(calls, "texts", lambda: ODD)
    pytest.importorskip("sentencepiece")
    for spec in (write(tmp_path, "a.model", sentencepiece_data(2, byte_fallback=True)),
                 write(tmp_path, "b.tiktoken", rank_data()) + "?pattern=gpt2"):  # fmt: skip
        audited = audit(spec, [name for name in CHECKS if name not in auditing.BENCHMARKS])
        assert [(one.check.name, one.result.faults) for one in audited.lines if one.result.status == "fail"] == []


def test_a_row_without_files_is_audited_by_its_texts() -> None:
    audited = audit("raw_bytes", ["file", "code points", "offsets", "template"])
    assert [line.result.status for line in audited.lines] == ["pass", "pass", "none", "none"]


def test_a_byte_that_another_token_has_is_no_fault(tmp_path: Path) -> None:
    planted = damage.missing_byte(good())
    assert planted is not None
    content = planted.files["tokenizer.json"]
    letter = "\x7f"
    token = {**content["added_tokens"][0], "content": letter, "id": len(content["model"]["vocab"]) + 2}
    content["added_tokens"].append({**token, "special": False})
    assert audit(write(tmp_path, "tokenizer.json", content), ["bytes"]).status == "pass"


def test_a_token_that_other_rules_hide_is_a_warning(tmp_path: Path) -> None:
    content = good()["tokenizer.json"]
    model = content["model"]
    model["vocab"] |= {name: len(model["vocab"]) + place for place, name in enumerate(("zq", "qz", "zqz"))}
    model["merges"] += ["z q", "q z", "z qz"]
    content["added_tokens"] = []
    audited = audit(write(tmp_path, "tokenizer.json", content), ["reachable"])
    assert [(one.name, one.status) for one in audited.lines[0].result.faults] == [("hidden token", "warn")]


def test_tokens_that_a_folder_adds_exist(tmp_path: Path) -> None:
    pytest.importorskip("sentencepiece")
    write(tmp_path, "tokenizer.model", sentencepiece_data(2, byte_fallback=True))
    size = subjects.load(str(tmp_path)).loaded.id_limit
    entry = {str(size): {"content": "<|im_end|>", "special": True}}
    files: Files = {
        damage.CONFIG: {"eos_token": "<|im_end|>", "added_tokens_decoder": entry, "chat_template": "<|im_end|>"},
        "added_tokens.json": {"<|im_end|>": size}, damage.GENERATION: {"eos_token_id": size},
    }  # fmt: skip
    damage.write_folder(files, tmp_path)
    assert audit(str(tmp_path), ["specials"]).status == "pass"
    assert settings.id_of(subjects.load(str(tmp_path)), "<|im_end|>") == size
    damage.write_folder({"added_tokens.json": {"<|im_end|>": size + 1}}, tmp_path)
    assert audit(str(tmp_path), ["specials"]).status == "fail"
    huge = {damage.CONFIG: {"added_tokens_decoder": {"9" * 5000: {"content": "<a>"}}}, "added_tokens.json": {}}
    assert settings.of_folder(subjects.load(str(damage.write_folder(huge, tmp_path)))) == {}


def test_a_million_faults_are_a_few_lines(tmp_path: Path) -> None:
    files = good()
    moved = {str(9000 + place): {"content": chr(97 + place % 26)} for place in range(1000)}
    files[damage.CONFIG]["added_tokens_decoder"] = moved
    (line,) = audit(str(damage.write_folder(files, tmp_path / "bad")), ["specials", "specials"]).lines
    assert len(line.result.faults) < 20
    assert "992" in line.result.faults[-1].text


# ---------------------------------------------------------------------------------------------- parts


def test_offsets_that_are_wrong_have_names() -> None:
    subject = subjects.load("raw_bytes")
    spans = {
        "offsets outside text": [_Span(97, 0, 9)], "offsets unordered": [_Span(97, 1, 2), _Span(98, 0, 1)],
        "offsets of another text": [_Span(98, 0, 1), _Span(98, 1, 2)], "offsets leave text out": [_Span(97, 0, 1)],
    }  # fmt: skip
    for name, wrong in spans.items():
        assert name in {fault.name for fault in calls._of_text(subject, "ab", wrong)}
    assert not [*calls._of_text(subject, "ab", [_Span(97, 0, 1), _Span(98, 1, 2)])]


def test_calls_that_disagree_have_a_witness() -> None:
    one, other = (Tokens.from_lists(lists) for lists in ([[1], [2]], [[1], [3]]))
    (fault,) = calls._unequal("threads change ids", ["a", "b"], one, other, ("1 thread", "4 threads"))
    assert fault.witness.startswith("'b'")


def test_characters_with_two_forms_are_equal_text() -> None:
    assert len(texts.code_points()) > 100_000
    for composed, apart in texts.two_forms()[::50]:
        assert composed != apart
        assert unicodedata.normalize("NFC", apart) == composed


def test_the_witness_of_normal_forms_is_the_text_that_was_encoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "two_forms", lambda: [("\u00c0", "A\u0300")])
    (fault,) = texts.check_normal_forms(subjects.load("raw_bytes")).faults
    assert fault.witness.endswith("'aA\u0300b' (NFD, U+0041 U+0300) -> [97, 65, 204, 128, 98]")


def test_templates_may_mark_generations_and_refuse_roles() -> None:
    marked = "{% generation %}a{% endgeneration %}{{ messages|tojson(ensure_ascii=False) }}"
    refusing = "{{ raise_exception('no system') }}"
    assert chat_rendering.render(marked, {"messages": ["é<"]}).text == 'a["é<"]'
    assert chat_rendering.render(refusing, {}).refused == "no system"
    assert chat_rendering.render("{{ a|tojson(indent=1) }}{{ a|tojson(True) }}", {"a": ["é"]}).text == (
        '[\n "é"\n]["\\u00e9"]'
    )
    nested = "{% for a in 'x' %}" * 30 + "{% endfor %}" * 30
    for wrong in ("{{ 1 / 0 }}", nested):
        assert chat_rendering.render(wrong, {}).error


@pytest.mark.parametrize(("known", "status"), [(True, "fail"), (False, "warn")])
def test_markers_that_are_no_tokens(known: bool, status: str, tmp_path: Path) -> None:
    content = good()["tokenizer.json"]
    if known:
        number = len(content["model"]["vocab"]) + len(content["added_tokens"])
        token = {**content["added_tokens"][0], "content": "<|user|>", "id": number, "special": False}  # not the EOS
        content["added_tokens"].append(token)
    template = "<|user|>{% for m in messages %}{{ m['content'] }}<|odd|>{% endfor %}"
    files = {**damage.folder_of(content), damage.TEMPLATE: template}
    (line,) = audit(str(damage.write_folder(files, tmp_path / "marked")), ["template"]).lines
    assert [one.status for one in line.result.faults] == [status] * (1 if known else 2)
    assert "<|odd|>" in line.result.faults[-1].witness


@pytest.mark.parametrize(("data", "cause"), [(b"\xff", "UTF-8"), (b" " * ((1 << 20) + 1), "1,048,576")])
def test_a_template_that_cannot_be_read_says_why(data: bytes, cause: str, tmp_path: Path) -> None:
    files = good()
    files[damage.CONFIG]["chat_template"] = files.pop(damage.TEMPLATE)
    folder = damage.write_folder(files, tmp_path)
    (folder / damage.TEMPLATE).write_bytes(data)
    (line,) = audit(str(folder), ["template"]).lines
    (fault,) = line.result.faults
    assert (fault.status, damage.TEMPLATE in fault.text, cause in fault.text) == ("fail", True, True)
    assert damage.CONFIG in line.result.tried  # the other one is rendered


def test_no_padding_may_be_written_as_minus_one(tmp_path: Path) -> None:
    files = good()
    for number, faults in ((-1, 0), (-2, 1)):
        files[damage.MODEL]["pad_token_id"] = number
        (line,) = audit(str(damage.write_folder(files, tmp_path)), ["specials"]).lines
        assert len(line.result.faults) == faults


def test_a_template_of_parts_is_rendered_with_parts(tmp_path: Path) -> None:
    of_parts = "{% for m in messages %}{% for c in m['content'] %}{{ c['text'] }}{% endfor %}{% endfor %}"
    files = {**good(), damage.TEMPLATE: of_parts}
    assert audit(str(damage.write_folder(files, tmp_path / "good")), ["template"]).status == "pass"


def test_of_many_templates_the_first_are_rendered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(templates, "MOST_TEMPLATES", 2)
    files = good()
    text = files.pop(damage.TEMPLATE)
    files[damage.CONFIG]["chat_template"] = [{"name": f"t{place}", "template": text} for place in range(20)]
    (line,) = audit(str(damage.write_folder(files, tmp_path / "many")), ["template"]).lines
    assert [(fault.name, fault.status) for fault in line.result.faults] == [("too many templates", "open")]


@pytest.mark.parametrize("failure", [Failure.WRONG, Failure.CRASH, Failure.ERROR, Failure.OVERDUE, None])
def test_results_of_benchmarks_have_a_status(failure: Failure | None) -> None:
    case = Case("control", "raw_bytes", None)
    result = CaseResult(case, "failed" if failure else "skipped", "why", failure=failure)
    (fault,) = measured._of_case(result)
    assert fault.status == ("fail" if failure in (Failure.WRONG, Failure.CRASH) else "open")
    assert not [*measured._of_case(CaseResult(case, "ok"))]


def test_alarms_of_benchmarks_are_warnings_and_what_they_had_no_time_for_is_open() -> None:
    ok = CaseResult(Case("control", "raw_bytes", None), "ok")
    given = [Answer("a", "bad", "alarm"), Answer("b", "fine", "calm"), Answer("c", "not reached")]
    benchmark = Benchmark("control", "", lambda work: Findings(), "none", (), answers=lambda results, data: given)
    record = type("Record", (), {"data": {}})
    for one, after in ((benchmark, []), (replace(benchmark, parameters={"seconds": 300}), ["open"])):
        faults = [*measured._of_answers(one, record, [ok])]  # type: ignore[arg-type]
        assert [fault.status for fault in faults] == ["warn", *after]


def test_a_benchmark_that_is_installed_is_run_and_ended_if_it_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = subjects.load("raw_bytes")
    for name in ("nowhere", "glitch"):  # glitch: the row comes with no weights
        assert measured.check_benchmark(subject, name).status == "none"
    assert measured.check_benchmark(subject, "integrity").status == "pass"
    monkeypatch.setattr(measured, "MOST_SECONDS", 0.01)  # no process has started by then
    (fault,) = measured.check_benchmark(subject, "integrity").faults
    assert (fault.status, "time limit" in fault.text, "hangs" in fault.advice) == ("open", True, True)


def test_a_library_that_raises_fails_its_check_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(subject: object, threads: int) -> CheckResult:
        raise BaseException("panicked")

    broken = auditing.AuditCheck("bytes", "", panic)
    monkeypatch.setattr(auditing, "CHECKS", {**CHECKS, "bytes": broken})
    first, second = audit("raw_bytes", ["bytes", "code points"]).lines
    assert [fault.name for fault in first.result.faults] == ["library raises"]
    assert second.result.status == "pass"


# ---------------------------------------------------------------------------------------------- the command


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_the_command_names_faults_and_writes_a_page(form: str, tmp_path: Path) -> None:
    files = good()
    files["tokenizer.json"]["added_tokens"][1]["content"] = "<script>alert(1)</script>"
    planted = damage.KINDS["eos that does not exist"](files)
    assert planted is not None
    folder = damage.write_folder(planted.files, tmp_path / "bad")
    out = tmp_path / "audit.html"
    done = call("audit", str(folder), "--only", "specials", "--only", "file", "--format", form, "-o", str(out))
    assert done.returncode == 1
    assert "<nowhere>" in done.stdout.replace("&lt;", "<").replace("&gt;", ">")
    text = out.read_text(encoding="utf-8")
    assert "&lt;nowhere&gt;" in text
    assert "<nowhere>" not in text
    if form == "json":
        said = json.loads(done.stdout)
        assert (said["status"], said["exit_status"]) == ("fail", 1)
        assert [check["check"] for check in said["checks"]] == ["specials", "file"]
    assert "audit.html" in refused("audit", "raw_bytes", "-o", str(out))


def test_what_is_not_decided_has_a_status_of_its_own() -> None:
    subject = subjects.load("raw_bytes")
    undecided = CheckResult("", (AuditFault("a", "", "", "", "open"), AuditFault("b", "", "", "", "warn")))
    line = auditing.CheckedLine(CHECKS["bytes"], undecided, 0.0)
    assert auditing.TokenizerAudit(subject, [line]).exit_status == 3


def test_bad_input_is_one_line(tmp_path: Path) -> None:
    write(tmp_path, "a.tiktoken", rank_data())
    for given in (("nonsense",), (str(tmp_path / "absent.json"),), ("units:word",), (str(tmp_path / "a.tiktoken"),),
                  ("raw_bytes", "--only", "nonsense")):  # fmt: skip
        assert refused("audit", *given).count("\n") == 1


@pytest.mark.parametrize("name", ["truncation", "padding", "dropout"])
def test_settings_that_were_left_on_are_warnings(name: str, tmp_path: Path) -> None:
    content = good()["tokenizer.json"]
    values = {
        "truncation": {"direction": "Right", "max_length": 8, "strategy": "LongestFirst", "stride": 0},
        "padding": {"strategy": {"Fixed": 32}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0,
                    "pad_type_id": 0, "pad_token": "!"},
    }  # fmt: skip
    if name == "dropout":
        content["model"]["dropout"] = 0.1
    else:
        content[name] = values[name]
    (line,) = audit(write(tmp_path, "tokenizer.json", content), ["specials"]).lines
    assert [(fault.name, fault.status) for fault in line.result.faults] == [(f"{name} is on", "warn")]


def test_half_of_a_surrogate_pair_is_named_with_its_file(tmp_path: Path) -> None:
    files = {**good(), damage.GENERATION: '{"a": "\\ud800"}'}
    folder = damage.write_folder(files, tmp_path / "bad")
    assert list(settings.read_folder(folder)[1]) == [damage.GENERATION]
    (line,) = audit(str(folder), ["specials"]).lines
    assert damage.GENERATION in line.result.faults[0].text


def test_what_is_no_file_is_bad_input(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "link.json").symlink_to("/dev/zero")
    (tmp_path / "folder" / "tokenizer.json").mkdir(parents=True)
    for name in ("pipe.json", "link.json", "folder"):
        assert name in refused("audit", str(tmp_path / name), "--only", "file")
    assert "pipe.json" in refused("diff", str(tmp_path / "pipe.json"), "raw_bytes")
