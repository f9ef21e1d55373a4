#!/bin/bash
# Builds the tests, and the executables beside them: .build/tests/debug.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/test-flags.sh

"${SWIFT:-swift}" build --build-tests "${test_flags[@]}"
