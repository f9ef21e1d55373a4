#!/bin/bash
# Two FUSE views of one folder. Debian: bindfs.
. "$(dirname "$0")/common.sh"
dirs "${1:-}"
need bindfs
is_up && exit 0
make_dirs
for c in A B; do
    is_mounted "$D/$c" || background "client$c" bindfs -f -o allow_other "$STORE" "$D/$c"
    wait_mounted "$D/$c" || skip "bindfs did not mount: $(tail -n 2 "$RUN/client$c.log")"
done
are_same || die "A and B differ"
