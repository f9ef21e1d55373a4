#!/bin/bash
# sshfs with its default caches, over an sshd of our own on 127.0.0.1. Debian: sshfs openssh-server.
. "$(dirname "$0")/common.sh"
dirs "${1:-}"
need sshfs ssh ssh-keygen
sshd=/usr/sbin/sshd sftp=/usr/lib/openssh/sftp-server
[ -x $sshd ] || skip "there is no sshd"
is_up && exit 0
make_dirs
port=$(free_port sshd)
[ -f "$RUN/host" ] || ssh-keygen -q -t ed25519 -N '' -f "$RUN/host"
[ -f "$RUN/user" ] || ssh-keygen -q -t ed25519 -N '' -f "$RUN/user"
cp "$RUN/user.pub" "$RUN/authorized_keys"
echo "[127.0.0.1]:$port $(cut -d' ' -f1,2 "$RUN/host.pub")" >"$RUN/known_hosts"
cat >"$RUN/sshd_config" <<C
ListenAddress 127.0.0.1
Port $port
HostKey $RUN/host
PidFile none
AuthorizedKeysFile $RUN/authorized_keys
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
PasswordAuthentication no
KbdInteractiveAuthentication no
AllowTcpForwarding no
X11Forwarding no
Subsystem sftp $sftp
ForceCommand $sftp
C
mkdir -p /run/sshd
hook server-up <<<"background sshd $sshd -D -e -f '$RUN/sshd_config'; wait_port $port"
hook server-down <<<'signal KILL sshd; sleep 0.2'
hook server-freeze <<<'signal STOP sshd'
hook server-thaw <<<'signal CONT sshd'
"$RUN/hook-server-up" || skip "sshd did not start: $(tail -n 2 "$RUN/sshd.log")"
for c in A B; do
    is_mounted "$D/$c" || background "client$c" sshfs -f "$(id -un)@127.0.0.1:$STORE" "$D/$c" -p "$port" -o allow_other \
        -F /dev/null -o "IdentityFile=$RUN/user,IdentitiesOnly=yes,UserKnownHostsFile=$RUN/known_hosts" \
        -o GlobalKnownHostsFile=/dev/null,StrictHostKeyChecking=yes,BatchMode=yes
    wait_mounted "$D/$c" || skip "sshfs did not mount: $(tail -n 2 "$RUN/client$c.log")"
done
are_same || die "A and B differ"
