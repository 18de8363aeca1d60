#!/usr/bin/env bash
# Makes .venv with what `make run` or `make test` needs. Usage: tools/setup.sh run|test
set -euo pipefail
cd "$(dirname "$0")/.."
want=${1:?run or test}
venv=.venv

find_python() {
  for candidate in ${PYTHON:-} python3.12 python3.13 python3.11 python3; do
    if command -v "$candidate" >/dev/null 2>&1 &&
      "$candidate" -c 'import sys; raise SystemExit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null; then
      echo "$candidate"
      return
    fi
  done
  echo "clef: no Python 3.11, 3.12 or 3.13 was found. Install one, or name it: make $want PYTHON=/path/to/python3.12" >&2
  exit 1
}

if [ ! -x "$venv/bin/python" ] || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
  python=$(find_python)
  echo "clef: making $venv with $("$python" --version)"
  rm -rf "$venv"
  why=$(mktemp)
  if ! "$python" -m venv "$venv" 2>"$why"; then
    # Debian and Ubuntu ship Python without its venv part
    rm -rf "$venv"
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
      apt-get update -qq && apt-get install -y -qq python3-venv && "$python" -m venv "$venv"
    else
      cat "$why" >&2
      echo "clef: this Python cannot make a virtual environment. On Debian or Ubuntu: sudo apt install python3-venv" >&2
      exit 1
    fi
  fi
  rm -f "$why"
fi
pip() { "$venv/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }

# torch first: the build must fit the machine, and a later range must not fetch another one.
pinned_torch=$(grep -E '^torch==' requirements-dev.txt)
if ! "$venv/bin/python" -c 'import torch' 2>/dev/null; then
  if [ -n "${TORCH_INDEX_URL:-}" ]; then
    echo "clef: installing $pinned_torch from TORCH_INDEX_URL"
    pip install --index-url "$TORCH_INDEX_URL" "$pinned_torch"
  else
    case "$(uname -s)" in
      Darwin) echo "clef: installing $pinned_torch, the macOS build (uses Metal on Apple chips)" ;;
      *) if command -v nvidia-smi >/dev/null 2>&1; then
           echo "clef: installing $pinned_torch, the CUDA build: an NVIDIA driver is here"
         else
           echo "clef: installing $pinned_torch, the default build of your package index. There is no NVIDIA driver here;"
           echo "clef: a CPU-only build is smaller, see README, 'Set-up'"
         fi ;;
    esac
    pip install "$pinned_torch"
  fi
fi

case "$want" in
  run) pip install -r requirements.txt ;;
  test)
    pip install -r requirements-dev.txt
    # the oracle of the parity tests; its own requirements are training tools that no test uses
    pip install --no-deps clef-finetune==0.1.0
    ;;
  *) echo "usage: tools/setup.sh run|test" >&2; exit 2 ;;
esac
touch "$venv/.ready-$want"
