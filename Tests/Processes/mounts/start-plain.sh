#!/bin/bash
# A folder of this machine, seen through two bind mounts.
. "$(dirname "$0")/common.sh"
dirs "${1:-}"
is_up && exit 0
make_dirs
for c in A B; do is_mounted "$D/$c" || mount --bind "$STORE" "$D/$c" 2>/dev/null || skip "this machine allows no bind mount"; done
are_same || die "A and B differ"
