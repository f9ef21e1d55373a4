# Shared by start-*.sh and stop.sh. Source it; needs bash and root.
#
# start-X.sh DIR gives DIR/A and DIR/B, two clients of one storage; everything it starts listens on this machine only.
#   DIR/store  what the server stores          DIR/run  processes (number and start time), logs, and hooks:
#   hook-server-down (kill -9), hook-server-up, hook-server-freeze, hook-server-thaw, hook-remount; some: hook-brick-down
# Exit code 0 only when both clients answer and one sees what the other wrote; 77 when something needed is not here.
# stop.sh DIR unmounts and ends all of it, and removes DIR.
set -u
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() { echo "$(basename "$0"): $*" >&2; exit 1; }
skip() { echo "$*" >&2; exit 77; }
need() { local c; for c in "$@"; do command -v "$c" >/dev/null || skip "there is no $c"; done; }

dirs() {
    [ -n "${1:-}" ] || die "usage: $(basename "$0") DIR"
    mkdir -p "$1" || exit 1
    D=$(cd "$1" && pwd -P) RUN=$D/run STORE=$D/store A=$D/A B=$D/B
}
make_dirs() {
    mkdir -p "$RUN" "$STORE" "$A" "$B" 2>/dev/null
    chmod 700 "$RUN"
    hook remount <<<"unmount '$A'; unmount '$B'; end clientA; end clientB; exec '$HERE/$(basename "$0")' '$D'"
}

# Processes are known by number and start time, so that no other one is ever ended.
start_time() { local s; s=$(cat "/proc/$1/stat" 2>/dev/null) || return 1; s=${s##*) }; set -- $s; [ "$1" != Z ] && echo "${20}"; }
record() { echo "$2 $(start_time "$2")" >"$RUN/$1.pid"; }
process() { local pid time; read -r pid time <"$RUN/$1.pid" && echo "$pid"; }
alive() {
    local pid time
    [ -f "$RUN/$1.pid" ] || return 1
    read -r pid time <"$RUN/$1.pid"
    [ -n "$pid" ] && [ "$(start_time "$pid")" = "$time" ]
}
background() { # background NAME COMMAND...: in a session of its own
    local name=$1
    shift
    alive "$name" && return 0
    setsid "$@" >>"$RUN/$name.log" 2>&1 </dev/null &
    record "$name" $!
}
end() {
    alive "$1" || { rm -f "$RUN/$1.pid"; return 0; }
    local pid i
    pid=$(process "$1")
    kill -CONT "$pid" 2>/dev/null
    kill -TERM "$pid" 2>/dev/null
    for i in $(seq 30); do alive "$1" || break; sleep 0.1; done
    alive "$1" && kill -9 "$pid" 2>/dev/null
    for i in $(seq 30); do alive "$1" || break; sleep 0.1; done
    rm -f "$RUN/$1.pid"
}
# A process and all that came from it.
tree() { local c; echo "$1"; for c in $(cat "/proc/$1"/task/*/children 2>/dev/null); do tree "$c"; done; }
signal() { # signal SIGNAL NAME...
    local name s=$1
    shift
    for name in "$@"; do alive "$name" && kill -"$s" $(tree "$(process "$name")") 2>/dev/null; done
    return 0
}

free_port() {
    [ -s "$RUN/$1.port" ] || python3 -c \
        'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])' >"$RUN/$1.port"
    cat "$RUN/$1.port"
}
wait_port() { # wait_port PORT [ADDRESS]
    local i
    for i in $(seq 100); do (exec 3<>"/dev/tcp/${2:-127.0.0.1}/$1") 2>/dev/null && return 0; sleep 0.1; done
    return 1
}
is_mounted() { awk -v m="$1" '$2==m{f=1} END{exit !f}' /proc/self/mounts; }
answers() { timeout 5 stat "$1/." >/dev/null 2>&1 && timeout 5 ls "$1" >/dev/null 2>&1; }
wait_mounted() { local i; for i in $(seq 300); do is_mounted "$1" && answers "$1" && return 0; sleep 0.1; done; return 1; }
is_up() { is_mounted "$A" && is_mounted "$B" && answers "$A" && answers "$B"; }
unmount() {
    local i
    for i in 1 2 3; do
        is_mounted "$1" || return 0
        timeout 20 umount "$1" 2>/dev/null && continue
        sleep 0.3
        [ "$i" -lt 2 ] || { timeout 5 umount -f "$1" 2>/dev/null; timeout 5 umount -l "$1" 2>/dev/null; }
    done
    ! is_mounted "$1"
}
are_same() { # B must see what A wrote: both reach the same storage
    local name=".probe-$$" i
    echo hi >"$A/$name" || return 1
    for i in $(seq 300); do [ -e "$B/$name" ] && { rm -f "$A/$name"; return 0; }; sleep 0.1; done
    rm -f "$A/$name"
    return 1
}
hook() { # hook NAME <<<script
    { echo '#!/bin/bash'; echo ". '$HERE/common.sh'; dirs '$D'"; cat; } >"$RUN/hook-$1"
    chmod +x "$RUN/hook-$1"
}
