"""``python -m pyharness`` is ``pyharness``."""

from pyharness.cli import main

main(prog_name="pyharness")
