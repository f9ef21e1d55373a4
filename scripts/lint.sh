#!/bin/bash
# Checks what needs no build: the format of the sources, the shell scripts' syntax, and that the fixtures are what their
# generator makes.
set -euo pipefail
cd "$(dirname "$0")/.."

mapfile -t sources < <(git ls-files -co --exclude-standard -- '*.swift' | grep -v '\.pb\.swift$' |
    while IFS= read -r file; do [ ! -f "$file" ] || printf '%s\n' "$file"; done)
swift format lint --strict "${sources[@]}"
for script in .ci/run scripts/*.sh Benchmarks/*.sh Tests/Processes/mounts/*.sh; do bash -n "$script"; done
for script in Tests/Processes/*.py Benchmarks/*.py; do python3 -c 'import ast, sys; ast.parse(open(sys.argv[1]).read())' "$script"; done
fixtures/generate.py --check
