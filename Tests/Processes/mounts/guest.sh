#!/bin/bash
# guest.sh KIND DIRECTORY -- COMMAND...
#
# Runs a command in a User-Mode Linux guest, for the network file systems whose client is in the kernel. The guest is an
# ordinary process; its root is this machine's, read-only, so that all programs are there; DIRECTORY is writable. In it
# $MOUNTS has two mounts A and B of one server on the guest's own network, by two separate clients (B in a network
# namespace of its own), and hooks in $MOUNTS/run as for the other kinds. Ends with the command's exit code.
#
# KIND: nfs4 and nfs3 (the kernel's server), ganesha (NFS 4.2 by a server in user space), smb (SMB 3.1.1 by Samba).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
kind=$1
writable=$(cd "$2" && pwd -P)
shift 2
[ "$1" = -- ] && shift

command -v linux.uml >/dev/null || { echo "there is no user-mode-linux" >&2; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/guest.XXXXXX")
trap 'rm -rf "$work"' EXIT
truncate -s 3G "$work/disk"
mkfs.ext4 -q -F "$work/disk"
mkdir "$work/out"
{
    printf 'KIND=%q\n' "$kind"
    printf 'WORK=%q\n' "$work"
    printf 'WRITABLE=%q\n' "$writable"
    printf 'HOSTPATH=%q\n' "$PATH"
    printf 'COMMAND=('
    printf '%q ' "$@"
    echo ')'
} >"$work/job"
cp "$here/guest-init.sh" "$work/init"
chmod +x "$work/init"
TMPDIR=$work linux.uml mem="${GUEST_MEMORY:-1536}M" root=/dev/root rootfstype=hostfs rootflags=/ ro init="$work/init" \
    ubd0="$work/disk" guestjob="$work" con=null con0=null,fd:1 con1=null ssl=null quiet uml_dir="$work" umid=g \
    </dev/null > >(grep -v -E '^(Core dump|Checking|Adding|\[ |Warning: tempdir|SELinux|mmapper_init|sysrq|reboot:)') 2>&1 &
wait $! || true
# The processes of a guest that was killed go on without it; they name our directory.
for process in /proc/[0-9]*; do
    command=$({ tr '\0' ' ' <"$process/cmdline"; } 2>/dev/null) || continue
    case $command in *"init=$work/init "*) kill -9 "${process#/proc/}" 2>/dev/null || true ;; esac
done
[ -f "$work/out/code" ] || { echo "the guest did not start, or died" >&2; exit 77; }
exit "$(cat "$work/out/code")"
