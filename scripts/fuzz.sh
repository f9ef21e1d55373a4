#!/bin/bash
# Fuzzes every parser: mutated files by fixed seeds first, then what coverage leads to (libFuzzer, under the address
# sanitizer), with limits of memory and time for each file.
#
#   SHOEBOX_FUZZ_RUNS=N     how many mutated files for each parser (default 100000)
#   SHOEBOX_FUZZ_SEED=K     the first seed (default 1); a failure is seen again with the same seed and parser
#   SHOEBOX_FUZZ_SECONDS=S  how long coverage is followed for each parser (default 300; 0 for not at all)
#   SHOEBOX_FUZZ_PARSERS=…  which parsers (default: all)
#
# What coverage found worth keeping stays in .build/fuzz/<parser>; a file that breaks a parser is put beside it, and belongs
# into Tests/Corpus/<parser>.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/address-flags.sh
. scripts/test-flags.sh

export SHOEBOX_FUZZ_RUNS=${SHOEBOX_FUZZ_RUNS:-100000}
seconds=${SHOEBOX_FUZZ_SECONDS:-300}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
scripts/build-tests.sh
# Every parser starts from files of a few kilobytes: what needs gigabytes for one has no bound.
(
    ulimit -v $((16 * 1024 * 1024))
    swift test --skip-build "${test_flags[@]}" --filter 'FuzzTests/' 2>&1
) | tee "$log" || true
if ! grep -Eq 'Test run with [1-9][0-9]* tests?.* passed' "$log"; then
    echo "shoebox: the fuzzer found something, or did not end; see above" >&2
    exit 1
fi
[ "$seconds" != 0 ] || exit 0
if [ -z "$fuzzer" ]; then
    echo "skipped: the toolchain has no libFuzzer, so coverage is not followed"
    exit 0
fi

swift build --build-tests "${address_flags[@]}"
export SWIFT_BACKTRACE=enable=no ASAN_OPTIONS=detect_leaks=0 SHOEBOX_FUZZ_RUNS=0
parsers=${SHOEBOX_FUZZ_PARSERS:-$(sed -n '/static let names/,/]/p' Tests/ScenarioTests/FuzzTests.swift | grep -o '"[a-zA-Z]*"' | tr -d '"')}
failed=()
for parser in $parsers; do
    mkdir -p ".build/fuzz/$parser"
    SHOEBOX_FUZZ_GUIDED=$parser SHOEBOX_FUZZ_DIRECTORY=$PWD/.build/fuzz/$parser SHOEBOX_FUZZ_SECONDS=$seconds \
        swift test --skip-build "${address_flags[@]}" --filter 'FuzzGuidedTests' >"$log" 2>&1 || true
    if grep -q '^Done [0-9]* runs' "$log" && ! grep -qE 'ERROR:|SUMMARY:|deadly signal' "$log"; then
        echo "$parser: $(grep '^Done' "$log"); $(grep -E '^#[0-9]+.*cov:' "$log" | tail -1 | grep -oE 'cov: [0-9]+ ft: [0-9]+ corp: [^ ]+')"
    else
        failed+=("$parser")
        tail -40 "$log"
        echo "$parser: FAILED; see above"
    fi
done
[ ${#failed[@]} -eq 0 ] || { echo "shoebox: these parsers were broken: ${failed[*]}" >&2; exit 1; }
