#!/bin/bash
# Shows two people sharing photos through one folder, in ./shoebox-demo, which is made anew each time.
#
#   scripts/demo.sh            with the release executables (make build)
#   SHOEBOX_BIN=DIR            with the executables in DIR
#   SHOEBOX_DEMO=DIR           in another directory
#   SHOEBOX_DEMO_SECONDS=N     how long to wait for each step (default 30)
set -euo pipefail

project=$(cd "$(dirname "$0")/.." && pwd)
bin=${SHOEBOX_BIN:-$project/.build/release}
demo=${SHOEBOX_DEMO:-$PWD/shoebox-demo}
patience=${SHOEBOX_DEMO_SECONDS:-30}
photos=$project/fixtures/photos
alice_pid= bob_pid=

say() { printf '\n\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] && [ -z "${NO_COLOR:-}" ] || say() { printf '\n%s\n' "$*"; }

die() {
    echo >&2
    echo "shoebox demo: $1" >&2
    for person in alice bob; do
        [ -s "$demo/$person/daemon.log" ] || continue
        echo "--- the end of $person/daemon.log" >&2
        tail -n 20 "$demo/$person/daemon.log" >&2
    done
    echo "hint: everything is still in $demo; 'make run' starts over." >&2
    exit 1
}

# Runs shoebox as one of the two, as each would on a machine of their own.
as() {
    local person=$1
    shift
    env SHOEBOX_CONFIG="$demo/$person/config.json" XDG_STATE_HOME="$demo/$person/state" "$bin/shoebox" "$@"
}

# Prints a command as the person would type it, then runs it.
show() {
    local person=$1 word line="$1\$ shoebox"
    shift
    for word in "$@"; do
        case $word in *[!A-Za-z0-9_./:=@%+-]*) line+=" '$word'" ;; *) line+=" $word" ;; esac
    done
    printf '%s\n' "$line"
    as "$person" "$@" || die "the command above failed (exit code $?)"
}

# Prints an ordinary command, then runs it.
plain() {
    local prompt=$1
    shift
    printf '%s\n' "$prompt\$ $*"
    "$@" || die "the command above failed (exit code $?)"
}

# wait_for WHAT CHECK...: until the check succeeds, or the time is up.
wait_for() {
    local what=$1 end=$((SECONDS + patience))
    shift
    until "$@" >/dev/null 2>&1; do
        for person in alice bob; do
            local name=${person}_pid
            [ -z "${!name}" ] || kill -0 "${!name}" 2>/dev/null || die "$person's daemon ended while waiting: $what"
        done
        [ $SECONDS -lt $end ] || die "not within $patience s: $what"
        sleep 0.05
    done
}

is_same() { cmp -s "$1" "$2"; }
has_text() { grep -q -- "$2" "$1"; }
is_in_sync() { as "$1" status --json | grep -Eq '"state" *: *"inSync"'; }
answers() { as "$1" status --json | grep -q '"state"'; }
has_ended() { ! kill -0 "$1" 2>/dev/null; }

stop_daemons() {
    local pid end=$((SECONDS + patience))
    for pid in $alice_pid $bob_pid; do kill -TERM "$pid" 2>/dev/null || true; done
    for pid in $alice_pid $bob_pid; do
        until has_ended "$pid"; do
            if [ $SECONDS -ge $end ]; then
                echo "shoebox demo: process $pid did not stop, and is killed" >&2
                kill -KILL "$pid" 2>/dev/null || true
                break
            fi
            sleep 0.05
        done
    done
}
trap stop_daemons EXIT
trap 'exit 130' INT TERM

for program in shoebox shoebox-watch; do
    [ -x "$bin/$program" ] || { echo "shoebox demo: there is no $bin/$program; run 'make build'" >&2; exit 1; }
done
if [ -e "$demo" ]; then
    [ -f "$demo/.shoebox-demo" ] ||
        { echo "shoebox demo: $demo was not made by this demo, and is left alone; move it away" >&2; exit 1; }
    # Daemons of a run that was killed: ended only if the number is still that of a shoebox of this demo.
    while read -r pid; do
        if grep -qzF "SHOEBOX_CONFIG=$demo/" "/proc/$pid/environ" 2>/dev/null; then kill -TERM "$pid" || true; fi
    done <"$demo/.shoebox-demo"
    chmod -R u+w "$demo" 2>/dev/null || true
    rm -rf "$demo"
fi
mkdir -p "$demo"
touch "$demo/.shoebox-demo"
cd "$demo"
mkdir cloud alice bob alice/library alice/shared bob/library bob/shared camera
cp -p "$photos"/*.* "$photos/broken/cut.jpg" camera/

say "Two people, one folder that both can reach (here $demo/cloud; usually a mount)."
for person in alice bob; do
    show "$person" init --account "$person" --container cloud --library "$person/library" --shared "$person/shared"
done

say "Each runs the daemon in the background."
start_daemon() {
    printf '%s\n' "$1\$ shoebox run &"
    # `env` becomes the daemon, so the process's number is the daemon's.
    env SHOEBOX_CONFIG="$demo/$1/config.json" XDG_STATE_HOME="$demo/$1/state" "$bin/shoebox" run \
        >"$demo/$1/daemon.log" 2>&1 </dev/null &
}
start_daemon alice
alice_pid=$!
start_daemon bob
bob_pid=$!
printf '%s\n' "$alice_pid" "$bob_pid" >"$demo/.shoebox-demo"
wait_for "alice's daemon answers" answers alice
wait_for "bob's daemon answers" answers bob

say "Alice drops photos into a folder of her library and shares it with Bob."
plain alice mkdir alice/library/Lake
plain alice cp -p camera/lake.jpg camera/beach.jpg camera/cut.jpg alice/library/Lake/
wait_for "alice's photos are taken" is_in_sync alice
show alice share create alice/library/Lake --title Summer
show alice share invite Summer bob --permission readWrite
printf '%s\n' "alice\$ shoebox share link Summer"
link=$(as alice share link Summer) || die "the command above failed (exit code $?)"
printf '%s\n' "$link"
link=${link##*$'\n'}

say "Bob opens the link that Alice sent him. The photos appear as ordinary files."
show bob accept "$link"
for name in lake.jpg beach.jpg cut.jpg; do
    wait_for "$name is whole on bob's side" is_same "alice/library/Lake/$name" "bob/shared/alice/Summer/$name"
done
plain bob ls -l bob/shared/alice/Summer
for name in lake.jpg beach.jpg cut.jpg; do
    plain bob cmp "alice/library/Lake/$name" "bob/shared/alice/Summer/$name"
done
echo "(no difference: every byte is there, also those of the broken picture)"

say "Bob tags a photo, and Alice sees it in the file beside hers."
show bob tag add bob/shared/alice/Summer/lake.jpg swim
wait_for "bob's tag is on alice's side" has_text alice/library/Lake/lake.jpg.json '"swim"'
plain alice cat alice/library/Lake/lake.jpg.json

say "Alice tags it too, and Bob sees that."
show alice tag add alice/library/Lake/lake.jpg favourite
wait_for "alice's tag is on bob's side" has_text bob/shared/alice/Summer/lake.jpg.json '"favourite"'
plain bob cat bob/shared/alice/Summer/lake.jpg.json

say "Both go on dropping photos: hers arrive at his, his at hers."
plain alice cp -p camera/forest-orientation-6.jpg alice/library/Lake/forest.jpg
plain bob cp -p camera/chart.png bob/shared/alice/Summer/chart.png
wait_for "alice's new photo is on bob's side" is_same alice/library/Lake/forest.jpg bob/shared/alice/Summer/forest.jpg
wait_for "bob's photo is on alice's side" is_same bob/shared/alice/Summer/chart.png alice/library/Lake/chart.png
plain alice ls alice/library/Lake
plain bob ls bob/shared/alice/Summer

say "What they see."
wait_for "alice is in sync" is_in_sync alice
wait_for "bob is in sync" is_in_sync bob
show alice list
show alice share show Summer
show bob status

say "What lies in the folder that both can reach: signed, and sealed; no file name, no picture, no tag is readable."
printf '%s\n' "\$ find cloud -type f | sort | head -n 12"
find cloud -type f | sort | sed -n 1,12p
# The camera's name is in each picture, and its file's name in each record.
if grep -rqE 'Fixture One|lake\.jpg|favourite' cloud; then
    die "something in the container is readable"
fi

say "Both daemons stop."
for person in alice bob; do
    name=${person}_pid
    kill -TERM "${!name}"
    pid=${!name}
    printf -v "$name" ''  # No longer expected to run.
    wait_for "$person's daemon ends" has_ended "$pid"
    code=0
    wait "$pid" || code=$?
    [ "$code" -eq 0 ] || die "$person's daemon ended with exit code $code"
done

say "Done. Look around:"
cat <<END
  $demo/alice/library          Alice's photos, with a .json beside each that has something to say
  $demo/bob/shared/alice       what Bob sees of them
  $demo/cloud                  what lies on the mount
  $demo/alice/config.json      how Alice's side is set up

With your own folders, on each machine (CLOUD is the mount that all can reach):
  $bin/shoebox init --account NAME --container CLOUD --library ~/Pictures/Shoebox --shared ~/Pictures/Shared
  $bin/shoebox run
END
