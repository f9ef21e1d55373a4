#!/bin/bash
# Builds and runs the tests under the thread and the address sanitizer, each in a build directory of its own.
#
#   scripts/sanitize.sh [thread] [address]     both by default
#   SANITIZE_FILTER=REGEX                      which tests (default: all)
set -euo pipefail
cd "$(dirname "$0")/.."

# Optimized, as otherwise a run takes an hour; and without what the fuzzer's build adds, which costs most of all.
optimized=(-Xswiftc -O -Xcc -O2)

kinds=("$@")
[ ${#kinds[@]} -gt 0 ] || kinds=(thread address)
# A crash under a sanitizer is told by it; Swift's own backtrace can hang then.
export SWIFT_BACKTRACE=enable=no
# The runtime keeps a few bytes for good, which is no leak of ours.
export ASAN_OPTIONS=detect_leaks=0
# Locks that it can't follow are others in its build; see Sources/ShoeboxWorld/Mutex.swift.
export TSAN_OPTIONS="halt_on_error=0 exitcode=66"
for kind in "${kinds[@]}"; do
    case $kind in
        thread) flags=(--scratch-path .build/sanitize-thread --sanitize=thread "${optimized[@]}" -Xswiftc -DTHREAD_SANITIZER) ;;
        address) flags=(--scratch-path .build/sanitize-address-tests --sanitize=address "${optimized[@]}") ;;
        *) echo "shoebox: there is no sanitizer '$kind' here; thread and address are" >&2; exit 64 ;;
    esac
    echo "$kind sanitizer"
    swift build --build-tests "${flags[@]}"
    swift test --skip-build "${flags[@]}" --filter "${SANITIZE_FILTER:-.}"
done
