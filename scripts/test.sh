#!/bin/bash
# Runs the tests that scripts/build-tests.sh has built; arguments go to the runner, such as --filter UndoTests. When some
# fail, names them once more at the end, where they are seen. The runner's closing line is last.
set -uo pipefail
cd "$(dirname "$0")/.."
. scripts/test-flags.sh
# So that a failing seed fails again; see CONTRIBUTING.md.
export SWIFT_DETERMINISTIC_HASHING=1
log=$(mktemp)
trap 'rm -f "$log"' EXIT

"${SWIFT:-swift}" test --skip-build "${test_flags[@]}" "$@" 2>&1 | tee "$log"
result=${PIPESTATUS[0]}
if [ "$result" != 0 ]; then
    echo "failed:"
    grep -aE -A4 "recorded an issue|: error: |Fatal error|unexpected signal|overload" "$log" | head -100
    grep -aE "Test run with|Executed " "$log" | tail -1
fi
exit "$result"
