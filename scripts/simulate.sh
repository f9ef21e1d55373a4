#!/bin/bash
# Simulates the whole engine with many seeds, and says how many a second. The first seed that fails is printed with the
# shortest script found that still fails, as Swift text.
#   SEEDS=1000 FIRST=1000   how many seeds, and from which on
#   WEATHER=everything      what fate sends (a list with commas, or all); see Tests/ScenarioTests/EngineSimulationWeather.swift
#   FAILURES=1 TRIES=300    how many failing seeds to look for, and how often to try a shorter script
#   SHOEBOX_NARRATE=1       tell the shrunk run step by step: logs, files, and changes of records
#   JOBS=2                  how many seeds at once; as many as there are cores if not given
#   THOROUGH=1              instead: every scenario once for each file operation in it, that one failing, as far as
#                           SHOEBOX_DEEDS names them (see Tests/ScenarioTests/EveryOperationDeed.swift); SHOEBOX_OPERATION=84
#                           for one operation only
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/test-flags.sh

scripts/build-tests.sh
# Hashing as a fresh process does it differs from run to run; a seed should not.
export SWIFT_DETERMINISTIC_HASHING=1
if [ -n "${THOROUGH:-}" ]; then
    export SHOEBOX_THOROUGH=1
    filter='EveryOperationTests|HostileCrashTests|CompactionTests'
else
    export SHOEBOX_SEEDS=${SEEDS:-1000} SHOEBOX_FIRST_SEED=${FIRST:-1000} SHOEBOX_WEATHER=${WEATHER:-everything}
    export SHOEBOX_FAILURES=${FAILURES:-1} SHOEBOX_TRIES=${TRIES:-300}
    [ -z "${JOBS:-}" ] || export SHOEBOX_JOBS=$JOBS
    filter='as many seeds as asked for pass|EngineSimulationTests.*the same seed gives'
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"${SWIFT:-swift}" test --skip-build "${test_flags[@]}" --filter "$filter" 2>&1 | tee "$log"
if ! grep -Eq 'Test run with [1-9][0-9]* tests?' "$log"; then
    echo "shoebox: no simulation was run" >&2
    exit 1
fi
