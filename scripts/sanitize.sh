#!/bin/bash
# Builds and runs the tests under the thread and the address sanitizer, each in a build directory of its own.
#
#   scripts/sanitize.sh [thread] [address]     both by default
#   SANITIZE_FILTER=REGEX                      which tests (default: those with threads, C shims and processes of their own)
set -euo pipefail
cd "$(dirname "$0")/.."

kinds=("$@")
[ ${#kinds[@]} -gt 0 ] || kinds=(thread address)
filter=${SANITIZE_FILTER:-ShoeboxWorldTests|ShoeboxLibraryTests|ShoeboxStoreTests|ShoeboxModelTests|MainJobTests|BatchTests}
# A crash under a sanitizer is told by it; Swift's own backtrace can hang then.
export SWIFT_BACKTRACE=enable=no
# The runtime keeps a few bytes for good, which is no leak of ours.
export ASAN_OPTIONS=detect_leaks=0
for kind in "${kinds[@]}"; do
    case $kind in
        thread | address) ;;
        *) echo "shoebox: there is no sanitizer '$kind' here; thread and address are" >&2; exit 64 ;;
    esac
    echo "$kind sanitizer"
    swift test --scratch-path ".build/sanitize-$kind" --sanitize="$kind" --filter "$filter"
done
