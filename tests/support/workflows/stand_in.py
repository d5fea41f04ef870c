"""Stand-in of ``pyharness gate``: measures nothing, writes what the gate writes, and keeps what it was asked.

A file ``ends`` says how it ends instead: with a status, before which ``silent`` writes nothing; ``aborts``; or
``stopped``, with its shell.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from pyharness.features.gate import records as gate_records
from pyharness.features.gate import report as gate_report


def main() -> None:
    """End as the file says."""
    asked = Path(os.environ["RUNNER_TEMP"]) / "asked.json"
    asked.write_text(json.dumps({"arguments": sys.argv[1:], "variables": sorted(os.environ)}), encoding="utf-8")
    sys.stderr.write("what the gate says <@someone>\n")
    how, *more = Path("ends").read_text(encoding="utf-8").split() if Path("ends").exists() else ["measures"]
    if how == "stopped":
        os.kill(os.getppid(), signal.SIGKILL)
    elif how == "aborts":
        os.abort()
    elif how == "silent":
        sys.exit(int(more[0]))
    else:
        status = written(dict(argument.partition("=")[::2] for argument in sys.argv[1:]))
        sys.exit(int(how) if how.isdecimal() else status)


def written(arguments: Mapping[str, str]) -> int:
    """Write what a gate writes, and return its status."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from gating.gates import gate, judgement
    from pyharness import report

    judged = [judgement("quick")]
    if Path("slow").exists():
        judged.append(judgement("encode @someone", "regression", 0.1))
    suite = arguments.get("--suite", "gate")
    done = gate(*judged, verdict="regression" if len(judged) > 1 else "pass", suite=suite)
    Path(arguments["--output"]).write_text(gate_records.dump_gate(done), encoding="utf-8")
    Path(arguments["--markdown"]).write_text(report.to_pull_request(gate_report.gate_comment(done)), encoding="utf-8")
    Path(arguments["--junit"]).write_text(gate_report.to_junit(done), encoding="utf-8")
    report.append_step_summary(report.to_pull_request(gate_report.gate_comment(done)))
    return done.exit_code


main()
