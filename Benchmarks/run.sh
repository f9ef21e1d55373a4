#!/bin/bash
# Measures the release executables beside cp and rsync on the same trees, in one run; see Benchmarks/README.md.
set -euo pipefail
cd "$(dirname "$0")/.."

for program in rsync python3; do
    command -v "$program" >/dev/null || { echo "shoebox: $program is needed; apt-get install $program" >&2; exit 1; }
done
export SHOEBOX_BIN=${SHOEBOX_BIN:-$PWD/.build/release}
[ -x "$SHOEBOX_BIN/shoebox" ] || { echo "shoebox: there is no $SHOEBOX_BIN/shoebox; run 'make build'" >&2; exit 1; }
exec python3 Benchmarks/benchmark.py "$@"
