#!/usr/bin/env bash
# Everything that a machine with a GPU is needed for, in under 8 minutes: a build for this GPU, the tests marked `cuda`,
# compute-sanitizer, the instruction count, the profiles at the shapes of each kernel's floor.
#
# usage: bench/device/gpu_check.sh [RESULTS]         RESULTS: a folder to write; $OUT or results/gpu_check by default
#
# PYTHON            Python to build the environment from; its packages are used where it has them [python3]
# PYHARNESS_VENV    an environment to use and keep; one that exists is only brought up to date [a temporary one]
# PYHARNESS_STRICT  OFF: compile with an nvcc or g++ that warns of something new [ON: warnings and spills are errors]
# PIP_*             as pip reads them: PIP_NO_INDEX=1 PIP_FIND_LINKS=wheels builds without a network
#
# Exit status: 0 all passed; 1 a step failed, ran out of time or lacks its tool; 2 nothing was built: no GPU or no nvcc.
set -uo pipefail
cd "$(dirname "$0")/../.."

results=$(realpath -m "${1:-${OUT:-results/gpu_check}}")
python=${PYTHON:-python3}
deadline=$((SECONDS + 470))

if ! gpu=$(nvidia-smi --query-gpu=name,compute_cap,driver_version --format=csv,noheader 2>/dev/null | head -n 1) ||
  [ -z "$gpu" ]; then
  cat >&2 <<'MESSAGE'
gpu_check: no GPU here: nvidia-smi is missing or lists none. Nothing was built.
Not checked: the tests marked `cuda`, compute-sanitizer (memcheck, racecheck), every rate in `pyharness profile`.
Checked without a GPU by `python -m pytest`: the same kernels on the emulator, under AddressSanitizer and
ThreadSanitizer; that they compile without spills; instructions per element (bench/device/check_sass.py).
MESSAGE
  exit 2
fi
if ! command -v nvcc >/dev/null; then
  echo "gpu_check: nvcc is not on the PATH. Nothing was built; install the CUDA toolkit (12.8 or newer)." >&2
  exit 2
fi

mkdir -p "$results"
log=$results/log.txt
summary=$results/summary.txt
: >"$log"
{
  echo "GPU        $gpu"
  echo "nvcc       $(nvcc --version | sed -n 's/.*release //p')"
  echo "date       $(date -u +%FT%TZ)"
} >"$summary"
failed=0

report() { # NAME VERDICT SECONDS
  printf '%-22s %-10s %4d s\n' "$@" | tee -a "$summary"
  [ "$2" = passed ] || failed=1
}

step() { # NAME LIMIT COMMAND...: runs it within LIMIT seconds and what is left of the 8 minutes
  local name=$1 limit=$2 start=$SECONDS left=$((deadline - SECONDS)) status verdict
  shift 2
  if [ "$left" -le 5 ]; then
    report "$name" "no time" 0
    return 1
  fi
  echo "==== $name: $*" >>"$log"
  timeout --kill-after=10 $((limit < left ? limit : left)) "$@" >>"$log" 2>&1
  status=$?
  case $status in
    0) verdict=passed ;;
    124 | 137) verdict="timed out" ;;
    *) verdict=failed ;;
  esac
  report "$name" "$verdict" $((SECONDS - start))
  return $status
}

sanitize() { # TOOL LIMIT
  if ! command -v compute-sanitizer >/dev/null; then
    report "$1" "no tool" 0 # part of the CUDA toolkit, or pip install nvidia-cuda-sanitizer-api
    return
  fi
  step "$1" "$2" compute-sanitizer --tool "$1" --error-exitcode 9 python -P bench/device/sanitizer_cases.py
}

# pytest counts a run in which everything was skipped as passed; here it is a failure.
device_tests() {
  local files # only these are imported: other tests need packages that are not installed here
  mapfile -t files < <(grep -rlE 'mark\.cuda|backend' tests --include='test_*.py')
  python -m pytest -q -m cuda -p no:cacheprovider --junit-xml="$scratch/tests.xml" "${files[@]}" || return
  python - "$scratch/tests.xml" <<'PROGRAM'
import sys
from xml.etree import ElementTree

suite = ElementTree.parse(sys.argv[1]).getroot().find("testsuite")
count, skipped = int(suite.get("tests")), int(suite.get("skipped"))
print(f"{count - skipped} tests ran, {skipped} were skipped")
sys.exit(0 if count > skipped else "no test ran on the device")
PROGRAM
}

# A driver that is too old for this build leaves a GPU that nvidia-smi lists and no kernel can use.
device() {
  python -P -c 'from pyharness.kernels.arrays.devices import device_info; print(device_info())'
}

profile() { # KERNEL LIMIT
  step "profile $1" "$2" python -P -m pyharness profile "$1" --device cuda --max-seconds 4 --force \
    --output "$results/profile_$1.json"
}

build() {
  local parent
  if [ ! -d "$venv" ]; then
    parent=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))') || return
    "$python" -m venv "$venv" || return
    # The parent's torch and cupy: installing them again takes longer than all the rest.
    echo "$parent" >"$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/parent.pth"
  fi
  export PATH="$venv/bin:$PATH"
  pip install --quiet scikit-build-core pybind11 cmake ninja pytest pytest-timeout hypothesis jsonschema cupy-cuda13x ||
    return
  # Without isolation: pybind11 stays in one place, so that a kept environment compiles only what changed.
  PYHARNESS_CUDA=ON CUDAARCHS=$architecture pip install --quiet --no-build-isolation -Cbuild-dir="$venv/build" -e .
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
venv=${PYHARNESS_VENV:-$scratch/venv}
architecture=$(echo "$gpu" | awk -F', ' '{ sub(/\./, "", $2); print $2 }')-real
export venv python architecture scratch
export -f build device device_tests

if step build 240 bash -c build && export PATH="$venv/bin:$PATH" && step device 30 bash -c device; then
  library=$(python -P -c 'import pyharness._cuda as m; print(m.__file__)' 2>>"$log")
  step "instruction count" 30 python bench/device/check_sass.py "$library"
  step tests 90 bash -c device_tests
  grep -a "tests ran, " "$log" >>"$summary"
  sanitize memcheck 60
  sanitize racecheck 60
  # 28 tables (shape, dtype, cold and warm) of 4 s at most. What ran out of time has left the shapes that it finished.
  profile entropy 130
  profile linear_entropy 80
  profile pair_histogram 60
fi
echo "results in $results"
exit $failed
