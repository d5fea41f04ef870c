"""``pyharness list`` and ``pyharness env``."""

from __future__ import annotations

import click

from pyharness.cli.console import color, reports_errors, show, width


@click.command(name="list")
@click.argument("kind", type=click.Choice(["tokenizers", "corpora", "trainers", "metrics", "benchmarks", "suites"]))
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@reports_errors
def list_(kind: str, as_json: bool) -> None:
    """List what can be named: tokenizers, corpora, trainers, metrics, benchmarks or suites."""
    import json

    from pyharness import report as room
    from pyharness.commands import catalogue

    rows = catalogue.KINDS[kind]()
    if as_json:
        show(json.dumps(rows, ensure_ascii=False, indent=1) + "\n")
        return
    headings = tuple(room.Heading(column, "prose" if column in catalogue.PROSE else "word") for column in rows[0])
    cells = tuple(tuple(room.Cell(str(value or "")) for value in row.values()) for row in rows)
    show(room.to_text([room.Sheet(kind, headings, cells)], width(), color()))


@click.command()
@click.option("--json", "as_json", is_flag=True, help="For programs.")
@reports_errors
def env(as_json: bool) -> None:
    """Show what a record says about this machine."""
    import json

    from pyharness.system.environment import fingerprint

    facts = fingerprint()
    if as_json:
        show(json.dumps(facts, indent=1) + "\n")
        return
    libraries = facts.pop("libraries")
    lines = [
        f"{name:16} {'not installed' if value is None else value}\n" for name, value in {**facts, **libraries}.items()
    ]
    show("".join(lines))


COMMANDS = (list_, env)
