"""Help and completion: every default is shown, and shells complete what can be named."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import get_completion_class

from cases.command_line import call, completed, program
from pyharness import suite
from pyharness.benchmarks import benchmarks
from pyharness.cli import main, usage
from pyharness.plugins import registry

# Values that nothing stands in for: what is not written, compared or taken unless it is named.
ONLY_IF_GIVEN = {
    "run": set[str](),
    "report": {"--output", "--for"},
    "compare": {"--output", "--fail-on", "--for"},
    "gate": {"--base", "--head", "--pytest", "--counter", "--output", "--markdown", "--junit"},
    "profile": {"--corpus", "--tokenizer", "--output"},
    "adapt embed": {"--out", "--tokenizer", "--map", "--plan", "--plan-only"},
    "adapt extend": {"--sizes"},
    "audit": {"--output"},
    "bytes": {"--check", "--output"},
    "diff": {"--libraries", "--map"},
    "overlap": {"--output"},
    "coverage": set[str](),
    "documents": {"--output"},
    "history add": {"--revision"},
    "history check": {"--junit", "--markdown", "--since"},
    "plan": {"--output", "--parts", "--price", "--script"},
}


def commands(command: click.Command = main, above: click.Context | None = None) -> Iterator[click.Context]:
    context = click.Context(command, parent=above, info_name=command.name, **command.context_settings)
    if not isinstance(command, click.Group):
        yield context
        return
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from commands(below, context)


def path_of(context: click.Context) -> str:
    return context.command_path.partition(" ")[2]


def lacking(context: click.Context) -> set[str]:
    """Options with a value whose help does not say what holds without them."""
    found = set()
    for option in context.command.get_params(context):
        if isinstance(option, click.Option) and not (option.is_flag or option.required or option.multiple):
            shown = (option.get_help_record(context) or ("", ""))[1]
            if not re.search(r"\[default\b.*:|\[required\]", shown):
                found.add(option.opts[-1])
    return found


@pytest.mark.parametrize("context", list(commands()), ids=path_of)
def test_help_shows_what_holds_without_an_option(context: click.Context) -> None:
    assert lacking(context) == ONLY_IF_GIVEN.get(path_of(context), set())


def test_a_default_that_is_not_shown_would_be_found() -> None:
    @click.command()
    @click.option("--shown", default=3, show_default=True)
    @click.option("--said", help="In words [default: three].")
    @click.option("--hidden-one", default=3)
    @click.option("--switch", is_flag=True)
    def command() -> None: ...

    assert lacking(click.Context(command)) == {"--hidden-one"}
    assert {path_of(context) for context in commands()} > {"run", "report", "list"}


def every(command: click.Command = main, above: click.Context | None = None) -> Iterator[click.Context]:
    """Contexts of all commands and groups, for a terminal of 80 columns."""
    settings = {**command.context_settings, "terminal_width": 80}
    context = click.Context(command, parent=above, info_name=command.name or "pyharness", **settings)
    yield context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from every(below, context)


def cut(help_text: str) -> list[str]:
    """Lines that are cut, or that a terminal of 80 columns would break."""
    _, *lines = help_text.splitlines()  # the first may end in "[ARGS]..."
    return [line for line in lines if line.endswith("...") or len(line) > 80]


@pytest.mark.parametrize("context", list(every()), ids=lambda context: context.command_path)
def test_help_fits_80_columns(context: click.Context) -> None:
    assert cut(context.get_help()) == []


def test_help_that_is_cut_would_be_found() -> None:
    group = click.Group("group", commands=[click.Command("one", help="word " * 40), click.Command("two", help="Do.")])
    (line,) = cut(click.Context(group, terminal_width=80).get_help())
    assert line.strip().startswith("one")
    assert cut("Usage\n" + "x" * 81) == ["x" * 81]


def test_descriptions_of_examples_stand_apart() -> None:
    lines = main.get_help(click.Context(main, info_name="pyharness", terminal_width=80)).splitlines()
    told = [one for one in (*usage.EXAMPLES, *registry.of_features("pyharness.cli", "EXAMPLES").values()) if one.about]
    assert any(len(one.name) >= 39 for one in told)
    for one in told:
        assert any(re.fullmatch(f" +{re.escape(one.name)} +{re.escape(one.about)}", line) for line in lines)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYHARNESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_shells_complete_commands_options_and_names() -> None:
    assert completed("ru") == ["run"]
    assert set(completed("")) == set(main.commands)
    assert {"--max-bytes", "--max-minutes"} & set(completed("run", "--max")) == {"--max-bytes"}
    assert completed("run", "qui") == ["quick"]
    assert set(completed("run", "")) >= set(suite.shipped())
    assert completed("run", "./some.tom") == ["./some.tom"], "files are the shell's own"
    assert set(completed("run", "-b", "")) == set(benchmarks())
    assert completed("run", "-t", "raw_bytes", "-b", "comp") == ["compression"]


def test_shells_complete_tokenizers_and_corpora(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(completed("run", "-t", "")) >= {"deepseek", "raw_bytes", "mistral:tekken", "tiktoken:o200k_base"}
    assert completed("run", "-t", "new=deep") == ["deepseek"], "bash replaces what stands behind the sign"
    assert "v3" in completed("run", "-t", "mistral:v"), "bash replaces what stands behind the colon"
    assert completed("run", "-t", "native+dee") == ["native+deepseek"]
    assert set(completed("run", "-c", "samp")) >= {"sample", "sample:prose"}
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.jsonl").touch()
    monkeypatch.chdir(tmp_path)
    assert completed("run", "-c", "path:te") == ["texts/"]
    assert completed("run", "-t", "file:texts/") == ["texts/a.jsonl"]


def test_rows_of_a_record_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "job.json").write_text('{"tokenizers": {"mistral:v3": {}, "deepseek": {}}}', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert completed("compare", "job.json", "") == ["mistral:v3", "deepseek"]
    assert completed("compare", "job.json", "deepseek", "mis") == ["mistral:v3"]
    assert completed("compare", "none.json", "x") == ["x"], "a file, which is the shell's own"


HOSTILE = ["x$(touch P)", "x`touch P`", "x;reboot", "x&reboot", "x|sh", "x y", "x\ny", "x'", 'x"', "x>f", "x\\", "x!!"]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_is_completed_that_a_shell_would_act_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "job.json").write_text(json.dumps({"tokenizers": {name: {}, "xylo": {}}}), encoding="utf-8")
    (tmp_path / name.replace("/", "")).touch()
    (tmp_path / "xylo").touch()
    monkeypatch.chdir(tmp_path)
    assert completed("compare", "job.json", "x") == ["xylo"]
    assert completed("run", "-t", "file:x") == ["xylo"]


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_get_whole_words(shell: str) -> None:
    completion = get_completion_class(shell)
    assert completion is not None
    shown = completion(main, {}, "pyharness", "_PYHARNESS_COMPLETE").get_completions(["run", "-t"], "mistral:v3")
    assert [item.value for item in shown] == ["mistral:v3"]


def test_names_come_from_the_cache_until_something_changes(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert completed("run", "-b", "comp") == ["compression"]
    kept = json.loads((cache / "names.json").read_bytes())
    kept["names"]["benchmarks"] = ["compared"]
    (cache / "names.json").write_text(json.dumps(kept), encoding="utf-8")
    assert completed("run", "-b", "comp") == ["compared"]
    monkeypatch.syspath_prepend(str(cache))
    assert completed("run", "-b", "comp") == ["compression"]


@pytest.mark.process
def test_completion_is_quick() -> None:
    """As the names lie in the cache, a key costs no import of NumPy or of a library."""
    code = (
        "import sys; from pyharness.cli import usage; print([one.value for one in usage.items('tokenizers', 'raw')]"
        ", {'numpy', 'rich', 'tokenizers', 'importlib.metadata'} & set(sys.modules))"
    )
    program = [sys.executable, "-c", code]
    first, second = (subprocess.run(program, check=True, capture_output=True, text=True).stdout for _ in "12")
    assert first.startswith("['raw_bytes'] {")
    assert second == "['raw_bytes'] set()\n"


@pytest.mark.process
def test_plug_ins_that_are_broken_complete_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_PLUGINS", "no_such_module")
    assert completed("run", "-b", "comp", run=program) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_documents_tell_shells_gives_a_script(shell: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "measure.md").read_text(encoding="utf-8")
    assert re.search(rf"_PYHARNESS_COMPLETE={shell}_source pyharness", page)
    done = call(_PYHARNESS_COMPLETE=f"{shell}_source")
    assert "_PYHARNESS_COMPLETE" in done.stdout, done.stderr
