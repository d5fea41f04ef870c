"""The command line: it parses, calls and shows. A module with commands lists them in COMMANDS."""

from __future__ import annotations

import click

from pyharness.cli import report, run, usage
from pyharness.cli.console import reports_errors
from pyharness.plugins import registry
from pyharness.types import InputError

_COLUMN = 40  # where the description of an example begins


class Commands(click.Group):
    """Our commands and those of features; a plug-in's commands on request."""

    def add_command(self, cmd: click.Command, name: str | None = None) -> None:
        """Add a command that reports errors, and so do the commands of its group."""
        cmd.invoke = reports_errors(cmd.invoke)  # type: ignore[method-assign]
        super().add_command(cmd, name)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        self._add_plugins()
        return super().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command; search plug-ins only after our own."""
        if cmd_name not in self.commands:
            self._add_plugins()
        return super().get_command(ctx, cmd_name)

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the purpose, then examples: ours and those of features."""
        super().format_help_text(ctx, formatter)
        formatter.write_paragraph()
        examples = (*usage.EXAMPLES, *registry.of_features(__name__, "EXAMPLES").values())
        with formatter.indentation():
            for one in sorted(examples, key=lambda one: one.place):
                line = f"{one.name:{_COLUMN - 1}} {one.about}".rstrip()
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")

    @reports_errors
    def _add_plugins(self) -> None:
        for name, command in registry.offered(__name__, "COMMANDS").items():
            if name not in self.commands:
                self.add_command(command)
            elif self.commands[name] is not command:
                raise InputError(f"a plug-in defines the command {name!r}, which already exists; rename it")


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80})
@click.version_option(package_name="pyharness", prog_name="pyharness")
def main() -> None:
    """Measure tokenizers: speed, compression, distribution, fairness, integrity, dead tokens. Train and run them."""


for command in (*report.COMMANDS, *run.COMMANDS, *usage.COMMANDS, *registry.of_features(__name__, "COMMANDS").values()):
    main.add_command(command)
