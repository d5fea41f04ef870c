"""The command line: parses and calls, no logic. One file per command or pair of commands."""

from __future__ import annotations

import click

from pyharness.cli.adapting import adapt
from pyharness.cli.encoding import decode, encode
from pyharness.cli.gating import gate
from pyharness.cli.listing import env, list_
from pyharness.cli.profiling import profile
from pyharness.cli.reporting import compare, report
from pyharness.cli.resizing import extend, prune
from pyharness.cli.running import run
from pyharness.cli.showing import show
from pyharness.cli.symbols import symbols
from pyharness.cli.training import train


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 88})
@click.version_option(package_name="pyharness", prog_name="pyharness")
def main() -> None:
    """Measure tokenizers: speed, compression, distribution, fairness, integrity, dead tokens. Train and run them.

    \b
    pyharness run                           the default suite, offline
    pyharness run -t deepseek -t mistral:v3 -c sample
    pyharness run -t file:./tokenizer.json -c path:corpus.jsonl
    pyharness list tokenizers               what can be measured here
    pyharness train bpe -c path:corpus.jsonl --vocab-size 8000 --out my-bpe
    pyharness adapt extend --base ./model -c path:new.jsonl --tokens 8192 --out ./new
    pyharness adapt embed ./model --tokenizer ./new --out ./adapted
    pyharness symbols train -c path:corpus.jsonl --order 5 --out corpus.symbols
    pyharness show -t mistral:v3 -t deepseek strawberry
    pyharness encode mistral:v3 < text.txt | pyharness decode mistral:v3
    pyharness gate --base main --head HEAD  fail on a real regression
    pyharness profile entropy               a kernel against this machine's roofs
    """


for command in (extend, prune):
    adapt.add_command(command)
for command in (run, report, compare, gate, list_, env, profile, train, adapt, symbols, show, encode, decode):
    main.add_command(command)
