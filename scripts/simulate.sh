#!/bin/bash
# Runs only the suites whose names have Simulation in them, and fails if there are none.
set -euo pipefail
cd "$(dirname "$0")/.."

log=$(mktemp)
trap 'rm -f "$log"' EXIT
swift test --filter Simulation 2>&1 | tee "$log"
if ! grep -Eq 'Test run with [1-9][0-9]* tests?' "$log"; then
    echo "shoebox: no simulation was run" >&2
    exit 1
fi
