#!/bin/bash
# Unmounts and ends what a start script started in DIR, and removes DIR.
. "$(dirname "$0")/common.sh"
dirs "${1:-}"
[ -x "$RUN/hook-server-thaw" ] && "$RUN/hook-server-thaw"
unmount "$A" || echo "warning: $A is still mounted" >&2
unmount "$B" || echo "warning: $B is still mounted" >&2
[ -x "$RUN/hook-server-down" ] && "$RUN/hook-server-down"
for file in "$RUN"/*.pid; do [ -e "$file" ] && end "$(basename "$file" .pid)"; done
rmdir "$A" "$B" 2>/dev/null
rm -rf --one-file-system "$RUN" "$STORE"
rmdir "$D" 2>/dev/null
exit 0
