#!/bin/bash
# GlusterFS: a glusterd of our own, a volume of three bricks, each file on all of them, two FUSE clients with default
# options. Debian: glusterfs-server glusterfs-client.
. "$(dirname "$0")/common.sh"
dirs "${1:-}"
need glusterd gluster glusterfs glusterfsd
is_up && exit 0
make_dirs
g=$RUN/gluster
mkdir -p "$g/work" "$g/run/gluster" "$g/log" "$STORE/b1" "$STORE/b2" "$STORE/b3"
# gluster takes no 127.0.0.1 for a brick, but any other address of 127/8; bricks find glusterd on the port 24007 of it.
[ -s "$RUN/address" ] || python3 - >"$RUN/address" <<'P'
import random
import socket
while True:
    address = "127.77.%d.%d" % (random.randrange(1, 255), random.randrange(1, 255))
    try:
        probe = socket.socket()
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind((address, 24007))
    except OSError:
        continue
    print(address)
    break
P
address=$(cat "$RUN/address")
cat >"$g/glusterd.vol" <<C
volume management
  type mgmt/glusterd
  option working-directory $g/work
  option run-directory $g/run
  option logging-directory $g/log
  option glusterd-sockfile $g/sock
  option transport-type socket
  option transport.socket.bind-address $address
  option transport.address-family inet
  option transport.socket.keepalive-time 10
  option transport.socket.keepalive-interval 2
  option ping-timeout 0
  option event-threads 1
end-volume
C
cat >"$RUN/gl" <<C
#!/bin/bash
exec timeout 60 gluster --mode=script --glusterd-sock='$g/sock' --log-file='$g/log/cli.log' "\$@"
C
# glusterd and the bricks that it started: their command lines name our directory.
cat >"$RUN/servers" <<C
#!/bin/bash
for p in \$(ls /proc | grep -E '^[0-9]+\$'); do
    c=\$({ tr '\\0' ' ' <"/proc/\$p/cmdline"; } 2>/dev/null)
    case \$c in *--process-name\ fuse*|*bash*|*timeout*) ;; *gluster*"$g/"*) echo "\$p" ;; esac
done
C
chmod +x "$RUN/gl" "$RUN/servers"
hook server-up <<C
rm -f '$g/glusterd.pid'
background glusterd glusterd -N -f '$g/glusterd.vol' -p '$g/glusterd.pid' -l '$g/log/glusterd.log'
for i in \$(seq 100); do "\$RUN/gl" volume info >/dev/null 2>&1 && break; sleep 0.1; done
"\$RUN/gl" volume info vol >/dev/null 2>&1 || exit 0
for i in \$(seq 100); do
    "\$RUN/gl" volume status vol 2>/dev/null | awk '/^Brick/{n++; if (\$(NF-1) == "Y") y++} END{exit !(n > 0 && n == y)}' && exit 0
    sleep 0.1
done
exit 0
C
hook server-down <<<'p=$("$RUN/servers"); [ -z "$p" ] || kill -9 $p; sleep 0.3'
hook server-freeze <<<'p=$("$RUN/servers"); [ -z "$p" ] || kill -STOP $p'
hook server-thaw <<<'p=$("$RUN/servers"); [ -z "$p" ] || kill -CONT $p'
hook brick-down <<<'for p in $("$RUN/servers"); do tr "\0" " " <"/proc/$p/cmdline" | grep -qF -- "--brick-name $STORE/b1 " && kill -9 "$p"; done; exit 0'
hook brick-up <<<'"$RUN/gl" volume start vol force >/dev/null'
"$RUN/hook-server-up"
if ! "$RUN/gl" volume info vol >/dev/null 2>&1; then
    "$RUN/gl" volume create vol replica 3 "$address:$STORE/b1" "$address:$STORE/b2" "$address:$STORE/b3" force \
        >"$RUN/create.log" 2>&1 || skip "no volume can be made: $(tail -n 2 "$RUN/create.log")"
fi
"$RUN/gl" volume status vol >/dev/null 2>&1 || "$RUN/gl" volume start vol >"$RUN/start.log" 2>&1 ||
    skip "the volume does not start: $(tail -n 2 "$RUN/start.log")"
for c in A B; do
    is_mounted "$D/$c" || background "client$c" glusterfs -N --process-name fuse --volfile-server="$address" \
        --volfile-id=vol -l "$RUN/mount$c.log" "$D/$c"
    wait_mounted "$D/$c" || skip "it did not mount: $(tail -n 2 "$RUN/mount$c.log")"
done
are_same || die "A and B differ"
