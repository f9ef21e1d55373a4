#!/bin/bash
# MooseFS: a master and a chunk server of our own, two FUSE clients. The chunk server takes no address of 127/8, so all of
# it is in a network namespace from which nothing leads out. Debian: moosefs-master moosefs-chunkserver moosefs-client iproute2.
. "$(dirname "$0")/common.sh"
dirs "${1:-}"
need mfsmaster mfschunkserver mfsmount ip nsenter
is_up && exit 0
make_dirs
m=$RUN/mfs
address=10.88.0.1
background namespace unshare --net sleep infinity
sleep 0.3
inside="nsenter --net=/proc/$(process namespace)/ns/net"
$inside true 2>/dev/null || skip "this machine allows no network namespace"
$inside ip address show v0 >/dev/null 2>&1 || {
    $inside ip link set lo up
    $inside ip link add v0 type veth peer name v1 || skip "no virtual network device can be made"
    $inside ip address add $address/24 dev v0
    $inside ip link set v0 up
    $inside ip link set v1 up
}
mkdir -p "$m/master" "$m/chunk" "$STORE/disk"
cat >"$m/master.cfg" <<C
WORKING_USER = $(id -un)
WORKING_GROUP = $(id -gn)
DATA_PATH = $m/master
EXPORTS_FILENAME = $m/exports
TOPOLOGY_FILENAME = $m/topology
BIND_HOST = $address
MATOML_LISTEN_HOST = $address
MATOML_LISTEN_PORT = 9419
MATOCS_LISTEN_HOST = $address
MATOCS_LISTEN_PORT = 9420
MATOCL_LISTEN_HOST = $address
MATOCL_LISTEN_PORT = 9421
C
echo '* / rw,alldirs,admin,maproot=0:0' >"$m/exports"
: >"$m/topology"
cat >"$m/chunk.cfg" <<C
WORKING_USER = $(id -un)
WORKING_GROUP = $(id -gn)
DATA_PATH = $m/chunk
HDD_CONF_FILENAME = $m/disks
BIND_HOST = $address
MASTER_HOST = $address
MASTER_PORT = 9420
CSSERV_LISTEN_HOST = $address
CSSERV_LISTEN_PORT = 9422
HDD_LEAVE_SPACE_DEFAULT = 1GiB
C
echo "$STORE/disk" >"$m/disks"
ls "$m/master"/metadata.mfs* >/dev/null 2>&1 || printf 'MFSM NEW' >"$m/master/metadata.mfs"
hook server-up <<C
[ -f '$m/master/metadata.mfs' ] || again=-a
background master $inside mfsmaster -f -c '$m/master.cfg' \${again:-} start
for i in \$(seq 200); do $inside bash -c 'exec 3<>/dev/tcp/$address/9421' 2>/dev/null && break; sleep 0.1; done
alive master || die "master: \$(tail -n 3 '$RUN/master.log')"
background chunk $inside mfschunkserver -f -c '$m/chunk.cfg' start
for i in \$(seq 200); do $inside bash -c 'exec 3<>/dev/tcp/$address/9422' 2>/dev/null && break; sleep 0.1; done
alive chunk || die "chunk server: \$(tail -n 3 '$RUN/chunk.log')"
C
hook server-down <<<'signal KILL master chunk; sleep 0.2'
hook server-freeze <<<'signal STOP master chunk'
hook server-thaw <<<'signal CONT master chunk'
"$RUN/hook-server-up" || skip "the server did not start"
for c in A B; do
    is_mounted "$D/$c" || background "client$c" $inside mfsmount -f -H $address -P 9421 -o allow_other "$D/$c"
    wait_mounted "$D/$c" || skip "it did not mount: $(tail -n 2 "$RUN/client$c.log")"
done
# Until the chunk server has registered, nothing can be written.
for i in $(seq 50); do
    timeout -k 1 10 bash -c 'echo x >"$1/.w"' _ "$A" 2>/dev/null && [ "$(cat "$B/.w" 2>/dev/null)" = x ] && break
    sleep 0.3
done
rm -f "$A/.w"
are_same || die "A and B differ"
