"""Help and completion: every default is shown, and shells complete what can be named."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from cases.command_line import Done, call, program
from pyharness import suite, trainers
from pyharness.benchmarks import benchmarks
from pyharness.cli import main
from pyharness.commands.streams import trainings

# Values that nothing stands in for: what is not written, compared or taken unless it is named.
ONLY_IF_GIVEN = {
    "run": set[str](),
    "report": {"--output", "--for"},
    "compare": {"--output", "--fail-on", "--for"},
    "gate": {"--head", "--pytest", "--counter", "--output", "--markdown", "--junit"},
    "profile": {"--corpus", "--tokenizer", "--output"},
    "adapt embed": {"--out", "--tokenizer", "--map", "--plan", "--plan-only"},
    "adapt extend": {"--sizes"},
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
    assert {path_of(context) for context in commands()} > {"run", "symbols train"}


def completed(*words: str, run: Callable[..., Done] = call) -> list[str]:
    """Complete the last word as bash asks for it."""
    variables = {"COMP_WORDS": " ".join(("pyharness", *words)), "COMP_CWORD": str(len(words))}
    done = run(_PYHARNESS_COMPLETE="bash_complete", **variables)
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


def test_shells_complete_commands_options_and_names() -> None:
    assert completed("ru") == ["run"]
    assert set(completed("")) == set(main.commands)
    assert {"--max-bytes", "--max-minutes"} & set(completed("run", "--max")) == {"--max-bytes"}
    assert completed("run", "qui") == ["quick"]
    assert set(completed("run", "")) >= set(suite.shipped())
    assert completed("run", "./some.tom") == ["./some.tom"], "files are the shell's own"
    assert set(completed("run", "-b", "")) == set(benchmarks())
    assert completed("run", "-t", "raw_bytes", "-b", "comp") == ["compression"]
    assert set(completed("train", "")) == {*trainers.specs(), *trainings()}


def test_plug_ins_that_are_broken_complete_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYHARNESS_PLUGINS", "no_such_module")
    assert completed("run", "-b", "comp", run=program) == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_documents_tell_shells_gives_a_script(shell: str) -> None:
    page = (Path(__file__).parents[2] / "docs" / "measure.md").read_text(encoding="utf-8")
    assert re.search(rf"_PYHARNESS_COMPLETE={shell}_source pyharness", page)
    done = call(_PYHARNESS_COMPLETE=f"{shell}_source")
    assert "_PYHARNESS_COMPLETE" in done.stdout, done.stderr
