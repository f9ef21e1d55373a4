"""The kinds of mounts, and how two clients of one storage are started on this machine and ended again."""

import os
import shutil
import subprocess
import time

from people import Failure, wait_for

HERE = os.path.dirname(os.path.abspath(__file__))

# Kind -> Debian packages.
KINDS = {
    "plain": [],
    "bindfs": ["bindfs"],
    "sshfs": ["sshfs", "openssh-server"],
    "glusterfs": ["glusterfs-server", "glusterfs-client"],
    "moosefs": ["moosefs-master", "moosefs-chunkserver", "moosefs-client", "iproute2"],
}
# Kinds whose client is in the kernel: they run in a guest that has one.
GUEST = ["user-mode-linux", "e2fsprogs", "kmod", "iproute2"]
GUEST_KINDS = {
    "nfs4": [*GUEST, "nfs-kernel-server", "nfs-common"],
    "nfs3": [*GUEST, "nfs-kernel-server", "nfs-common"],
    "ganesha": [*GUEST, "nfs-ganesha", "nfs-ganesha-vfs", "nfs-common"],
    "smb": [*GUEST, "samba", "cifs-utils"],
}
# Kinds behind which there is a server and a network.
NETWORK_KINDS = [kind for kind in {**KINDS, **GUEST_KINDS} if kind not in ("plain", "bindfs")]


class Skipped(Exception):
    """A kind that can't be had here."""


def is_installed(package):
    said = subprocess.run(["dpkg", "-s", package], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return "Status: install ok installed" in said.stdout


# Whether the package lists were fetched in this run.
lists_are_new = False


def install(packages):
    """Installs Debian packages that are missing; with new package lists, once a run, if it fails with those that are here."""
    global lists_are_new
    if not shutil.which("dpkg"):
        return  # Another distribution: what is missing, the start script names.
    missing = [package for package in packages if not is_installed(package)]
    if not missing:
        return
    if not shutil.which("apt-get"):
        raise Skipped(f"{' '.join(missing)} cannot be installed: there is no apt-get")
    # No server is started by its package: each test starts its own.
    environment = dict(os.environ, DEBIAN_FRONTEND="noninteractive", RUNLEVEL="1")

    def attempt():
        return subprocess.run(
            ["apt-get", "install", "-y", "--no-install-recommends", *missing], capture_output=True, text=True,
            env=environment)

    done = attempt()
    if done.returncode != 0 and not lists_are_new:
        lists_are_new = True
        subprocess.run(["apt-get", "update"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
        done = attempt()
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines() or ["no reason given"]
        raise Skipped(f"{' '.join(missing)} cannot be installed: {lines[-1]}")


class Mount:
    """Two clients of one storage."""

    def __init__(self, kind, directory):
        self.kind, self.directory = kind, directory

    def start(self):
        try:
            done = subprocess.run(
                [os.path.join(HERE, "mounts", f"start-{self.kind}.sh"), self.directory], stdin=subprocess.DEVNULL,
                capture_output=True, text=True, timeout=240)
        except subprocess.TimeoutExpired:
            raise Skipped("it did not start within 240 s") from None
        if done.returncode != 0:
            lines = done.stderr.strip().splitlines() or ["no reason given"]
            raise Skipped(lines[-1] if done.returncode == 77 else f"it did not start: {' / '.join(lines[-5:])}")

    def has(self, hook):
        return os.access(os.path.join(self.directory, "run", f"hook-{hook}"), os.X_OK)

    def call(self, hook):
        done = subprocess.run(
            [os.path.join(self.directory, "run", f"hook-{hook}")], capture_output=True, text=True, timeout=240)
        if done.returncode != 0:
            raise Failure(f"{hook} of {self.kind} failed: {done.stderr.strip()}")

    def start_server(self):
        """The server that was taken down is up again, and both clients reach it."""
        self.call("server-up")
        # A client whose server died may be dead for good; then whoever looks after the machine mounts again.
        end = time.monotonic() + 30
        while not self.answers() and time.monotonic() < end:
            time.sleep(0.5)
        if not self.answers():
            self.call("remount")
        wait_for("the mount answers again", self.answers, 60, 0.5)

    def stop(self):
        """Ends all of it, whatever state it is in; false if something is left."""
        try:
            subprocess.run([os.path.join(HERE, "mounts", "stop.sh"), self.directory], stdin=subprocess.DEVNULL, timeout=240)
        except subprocess.TimeoutExpired:
            return False
        return not self.mounted()

    def mounted(self):
        """What is mounted in its directory."""
        inside = os.path.realpath(self.directory) + "/"
        with open("/proc/self/mounts") as table:
            points = [line.split(" ")[1].replace("\\040", " ") for line in table]
        return [point for point in points if point.startswith(inside)]

    def check_up(self):
        """Both clients are mounted and answer, and nothing that serves them has ended by itself."""
        down = [client for client in ("A", "B") if os.path.join(
            os.path.realpath(self.directory), client) not in self.mounted()]
        if down:
            raise Failure(f"{self.kind}: {' and '.join(down)} is not mounted any more")
        if not self.answers():
            raise Failure(f"{self.kind}: a client does not answer any more")
        run = os.path.join(self.directory, "run")
        for name in sorted(os.listdir(run)):
            if name.endswith(".pid") and not is_running(os.path.join(run, name)):
                raise Failure(f"{self.kind}: {name[:-4]} has ended, and nobody told it to")

    def answers(self):
        """Whether both clients reach the server, asked by processes that may hang."""
        for client in ("A", "B"):
            probe = subprocess.Popen(
                ["stat", os.path.join(self.directory, client, "cloud", "container.json")], stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL)
            try:
                if probe.wait(5) != 0:
                    return False
            except subprocess.TimeoutExpired:
                probe.kill()
                return False
        return True


def is_running(file):
    """Whether the process is there whose number and start time the file holds, as mounts/common.sh writes them."""
    try:
        with open(file) as recorded:
            number, start = recorded.read().split()
        with open(f"/proc/{number}/stat") as stat:
            fields = stat.read().rpartition(") ")[2].split()
    except (OSError, ValueError):
        return False
    return fields[0] != "Z" and fields[19] == start


class GuestMount(Mount):
    """Two clients that are there already: this process runs in a guest that was made for them."""

    def start(self):
        pass

    def stop(self):
        return True
