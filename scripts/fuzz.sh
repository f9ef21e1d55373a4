#!/bin/bash
# Runs the mutation fuzzer over every parser, with limits of memory and time for each.
#
#   SHOEBOX_FUZZ_RUNS=N    how many mutated files for each parser (default 100000)
#   SHOEBOX_FUZZ_SEED=K    the first seed (default 1); a failure is seen again with the same seed and parser
#   SHOEBOX_FUZZ_SECONDS=S how long it may take (default 3600)
set -euo pipefail
cd "$(dirname "$0")/.."

export SHOEBOX_FUZZ_RUNS=${SHOEBOX_FUZZ_RUNS:-100000}
swift build --build-tests
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Every parser starts from files of a few kilobytes: what needs gigabytes for one has no bound.
ulimit -v $((16 * 1024 * 1024))
timeout "${SHOEBOX_FUZZ_SECONDS:-3600}" swift test --skip-build --filter FuzzTests 2>&1 | tee "$log"
if ! grep -Eq 'Test run with [1-9][0-9]* tests?.* passed' "$log"; then
    echo "shoebox: the fuzzer found something, or did not end in time; see above" >&2
    exit 1
fi
