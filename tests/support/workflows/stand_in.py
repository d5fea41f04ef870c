"""Stand-in of ``pyharness gate``: measures nothing, writes what the gate writes, and keeps what it was asked."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from gating.gates import gate, judgement
from pyharness import report, store
from pyharness.types import GateVerdict

arguments = dict(argument.partition("=")[::2] for argument in sys.argv[1:])
folder = Path(arguments["--output"]).parent
asked = Path(os.environ["RUNNER_TEMP"]) / "asked.json"
asked.write_text(json.dumps({"arguments": sys.argv[1:], "variables": sorted(os.environ)}), encoding="utf-8")
judged = [judgement("quick"), *([judgement("encode @someone", "regression", 0.1)] if Path("slow").exists() else [])]
done = gate(*judged, verdict=(GateVerdict.REGRESSION if len(judged) > 1 else GateVerdict.PASS).value)
store.write_gate(Path(arguments["--output"]), done)
Path(arguments["--markdown"]).write_text(report.to_pull_request(done), encoding="utf-8")
Path(arguments["--junit"]).write_text(report.to_junit(done), encoding="utf-8")
report.append_step_summary(report.to_pull_request(done))
sys.exit(done.exit_code)
