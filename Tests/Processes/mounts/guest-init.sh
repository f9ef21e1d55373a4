#!/bin/bash
# The first process of a guest that guest.sh starts: one server, two kernel clients of it, hooks, then the command.
export LANG=C.UTF-8 HOME=/root
mount -t proc proc /proc
work=$(tr ' ' '\n' </proc/cmdline | sed -n 's/^guestjob=//p')
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev 2>/dev/null
mkdir -p /dev/shm /dev/pts
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts 2>/dev/null
ln -sf /proc/self/fd /dev/fd 2>/dev/null
. "$work/job"
export PATH=$HOSTPATH
mount -t tmpfs run /run
for directory in "$WORK/out" "$WRITABLE"; do
    mount -t hostfs none "$directory" -o "$directory" || echo "cannot mount $directory writable" >&2
done

# Tells the exit code and ends the guest.
finish() {
    echo "$1" >"$WORK/out/code"
    umount -l "$WORK/out" "$WRITABLE"
    echo o >/proc/sysrq-trigger
    sleep 5
}

# The guest kernel's modules are not where modprobe looks for them.
mkdir -p /run/lib/modules
kernel=$(uname -r)
ln -s "/usr/lib/uml/modules/$kernel" "/run/lib/modules/$kernel"
printf '#!/bin/sh\nexec /sbin/modprobe -d /run "$@"\n' >/run/modprobe
chmod +x /run/modprobe
echo /run/modprobe >/proc/sys/kernel/modprobe
modules() { local name; for name; do modprobe -d /run "$name" 2>/dev/null || echo "no module $name" >&2; done; }

ip link set lo up
hostname guest
export MOUNTS=/run/m
A=$MOUNTS/A B=$MOUNTS/B HOOKS=$MOUNTS/run STORE=$MOUNTS/disk/store
mkdir -p "$A" "$B" "$HOOKS" "$MOUNTS/disk"
mount -t ext4 /dev/ubda "$MOUNTS/disk" || finish 77
mkdir -p "$STORE" "$MOUNTS/disk/tmp"
export TMPDIR=$MOUNTS/disk/tmp
for directory in /var/tmp /var/lib/nfs /var/lib/samba; do
    [ ! -d "$directory" ] || mount -t tmpfs tmp "$directory"
done

# hook NAME <<< SCRIPT
hook() {
    { echo '#!/bin/bash'; echo "A=$A B=$B"; cat; } >"$HOOKS/hook-$1"
    chmod +x "$HOOKS/hook-$1"
}

# A second network stack for client B: an identity and a cable of its own.
modules veth
ip netns add other
ip link add near type veth peer name far
ip link set far netns other
ip addr add 10.9.0.1/24 dev near
ip link set near up
ip netns exec other ip addr add 10.9.0.2/24 dev far
ip netns exec other ip link set far up
ip netns exec other ip link set lo up
# mount_both TYPE OPTIONS EXPORT: EXPORT with the server's address in place of @.
mount_both() {
    cat >"$HOOKS/mount-both" <<EOF
mount -t $1 -o $2 ${3//@/127.0.0.1} $A &&
    ip netns exec other nsenter --mount=/proc/1/ns/mnt mount -t $1 -o $2 ${3//@/10.9.0.1} $B
EOF
    bash "$HOOKS/mount-both"
    hook remount <<<"umount -f -l $A; umount -f -l $B; bash $HOOKS/mount-both"
}
# Where the server is the kernel's own or has many processes, the network fails instead.
freeze_by_network() {
    hook server-freeze <<<'ip link set near down; ip link set lo down; exit 0'
    hook server-thaw <<<'ip link set lo up; ip link set near up; exit 0'
}
# wait_for_port NUMBER: lines for a hook.
wait_for_port() {
    echo "for i in \$(seq 200); do (exec 3<>/dev/tcp/127.0.0.1/$1) 2>/dev/null && exit 0; sleep 0.1; done; exit 1"
}

case $KIND in
    nfs3 | nfs4)
        modules nfsd nfs nfsv4 nfsv3
        echo client-b | ip netns exec other bash -c \
            'mount -t sysfs s /sys 2>/dev/null; cat > /sys/fs/nfs/net/nfs_client/identifier' 2>/dev/null
        ip link set lo up
        mkdir -p /var/lib/nfs/{rpc_pipefs,sm,sm.bak,v4recovery}
        touch /var/lib/nfs/{etab,rmtab,state,xtab}
        mount -t nfsd nfsd /proc/fs/nfsd
        mkdir -p /run/sendsigs.omit.d /run/rpcbind
        rpcbind -w 2>/dev/null || rpcbind
        [ "$KIND" = nfs4 ] || rpc.statd 2>/dev/null
        exportfs -i -o rw,sync,no_root_squash,insecure,no_subtree_check,fsid=0 "*:$STORE"
        echo 10 >/proc/fs/nfsd/nfsv4leasetime 2>/dev/null
        echo 10 >/proc/fs/nfsd/nfsv4gracetime 2>/dev/null
        rpc.mountd 2>/dev/null
        rpc.nfsd 4
        if [ "$KIND" = nfs4 ]; then
            mount_both nfs vers=4.2,proto=tcp @:/
        else
            ip netns exec other nsenter --mount=/proc/1/ns/mnt rpcbind -w 2>/dev/null
            mount_both nfs vers=3,nosharecache "@:$STORE"
        fi
        # In the background: stopping the server waits for clients of the same kernel.
        hook server-down <<<'(setsid rpc.nfsd 0 >/dev/null 2>&1 </dev/null &); sleep 4; exit 0'
        hook server-up <<<'(setsid rpc.nfsd 4 >/dev/null 2>&1 </dev/null &); sleep 4; exit 0'
        freeze_by_network
        ;;
    ganesha)
        modules nfs nfsv4
        mkdir -p /var/lib/nfs/ganesha /run/ganesha
        cat >/run/ganesha/conf <<EOF
NFS_CORE_PARAM { NFS_Port = 2049; Protocols = 4; Enable_NLM = false; Enable_RQUOTA = false;
    Plugins_Dir = /usr/lib/x86_64-linux-gnu/ganesha; }
NFSv4 { Grace_Period = 6; Lease_Lifetime = 6; RecoveryBackend = fs; Minor_Versions = 0,1,2; }
NFS_KRB5 { Active_krb5 = false; }
EXPORT { Export_Id = 1; Path = $STORE; Pseudo = /s; Access_Type = RW; Squash = No_Root_Squash; SecType = sys;
    Protocols = 4; Transports = TCP; FSAL { Name = VFS; } }
EOF
        { echo 'setsid ganesha.nfsd -F -f /run/ganesha/conf -L /run/ganesha/log -p /run/ganesha/pid >/run/ganesha/out 2>&1 </dev/null &'
          echo 'echo $! >/run/ganesha/mine'; wait_for_port 2049; } | hook server-up
        "$HOOKS/hook-server-up" || { cat /run/ganesha/out /run/ganesha/log; finish 77; }
        mount_both nfs vers=4.2,proto=tcp @:/s
        hook server-down <<<'kill -9 $(cat /run/ganesha/mine); sleep 0.3; exit 0'
        hook server-freeze <<<'kill -STOP $(cat /run/ganesha/mine); exit 0'
        hook server-thaw <<<'kill -CONT $(cat /run/ganesha/mine); exit 0'
        ;;
    smb)
        modules cifs cmac sha512_generic ccm gcm aes_generic hmac md5 sha256_generic
        place=/run/smb
        mkdir -p $place/{private,lock,state,cache,pid,log,ncalrpc}
        cat >$place/smb.conf <<EOF
[global]
  server role = standalone server
  smb ports = 445
  disable netbios = yes
  disable spoolss = yes
  load printers = no
  private dir = $place/private
  lock directory = $place/lock
  state directory = $place/state
  cache directory = $place/cache
  pid directory = $place/pid
  ncalrpc dir = $place/ncalrpc
  log file = $place/log/smbd.log
  passdb backend = tdbsam
[s]
  path = $STORE
  read only = no
  force user = root
EOF
        printf 'probe\nprobe\n' | smbpasswd -c $place/smb.conf -L -s -a root >/dev/null 2>&1
        { echo "setsid smbd -F --no-process-group -s $place/smb.conf >>$place/out 2>&1 </dev/null &"
          echo "echo \$! >$place/mine"; wait_for_port 445; } | hook server-up
        "$HOOKS/hook-server-up" || { cat $place/out; finish 77; }
        mount_both cifs vers=3.1.1,username=root,password=probe,nosharesock,iocharset=utf8 //@/s
        hook server-down <<'EOF'
below() { local child; echo $1; for child in $(cat /proc/$1/task/*/children 2>/dev/null); do below $child; done; }
kill -9 $(below $(cat /run/smb/mine))
sleep 0.3
exit 0
EOF
        freeze_by_network
        ;;
    *) echo "there is no kind '$KIND'" >&2; finish 77 ;;
esac
mountpoint -q "$A" && mountpoint -q "$B" || { echo "mounting failed"; finish 77; }

cd /
"${COMMAND[@]}" </dev/null > >(cat) 2>&1
finish $?
