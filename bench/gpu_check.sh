#!/usr/bin/env bash
# Everything that a machine with a GPU is needed for, in stages that resume: see bench/device/__main__.py, or --help.
#
# PYTHON  the Python whose packages are used; nothing is downloaded and no environment is made [python3]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3}
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "gpu_check: $python is no Python 3.11 or newer; name one: PYTHON=/path/to/python $0" >&2
  exit 2
fi
PYTHONPATH="$root/bench${PYTHONPATH:+:$PYTHONPATH}" exec "$python" -P -m device "$@"
