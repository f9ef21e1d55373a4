#!/usr/bin/env python3
"""The scenario of two people on real mounts, each with a client of its own; prints what each mount's latency is.

For each kind in MOUNTS (default: all that there are) the packages that it needs are installed (as root, on Debian), a
server and two clients are started on this machine, and ended again. A kind that can't be started is skipped, with the
reason. Fails if anything that must hold does not.
"""

import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from people import BIN, Failure, Person, difference, photos, wait_for  # noqa: E402

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
# Longest time for one kind in a guest, seconds.
GUEST_SECONDS = float(os.environ.get("GUEST_SECONDS", "1500"))
PROBES = int(os.environ.get("PROBES", "7"))


class Skipped(Exception):
    """A kind that can't be had here."""


def install(packages):
    missing = [package for package in packages if subprocess.run(
        ["dpkg", "-s", package], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode != 0]
    if not missing:
        return
    if not shutil.which("apt-get"):
        raise Skipped(f"{' '.join(missing)} cannot be installed: there is no apt-get")
    # No server is started by its package: each test starts its own.
    done = subprocess.run(
        ["apt-get", "install", "-y", "--no-install-recommends", *missing], capture_output=True, text=True,
        env=dict(os.environ, DEBIAN_FRONTEND="noninteractive", RUNLEVEL="1"))
    if done.returncode != 0:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines() or ["no reason given"]
        raise Skipped(f"{' '.join(missing)} cannot be installed: {lines[-1]}")


class Mount:
    """Two clients of one storage."""

    def __init__(self, kind, directory):
        self.kind, self.directory = kind, directory

    def start(self):
        done = subprocess.run(
            [os.path.join(HERE, "mounts", f"start-{self.kind}.sh"), self.directory], capture_output=True, text=True,
            timeout=240)
        if done.returncode == 77:
            raise Skipped(done.stderr.strip().splitlines()[-1])
        if done.returncode != 0:
            raise Skipped(f"it did not start: {done.stderr.strip()}")

    def has(self, hook):
        return os.access(os.path.join(self.directory, "run", f"hook-{hook}"), os.X_OK)

    def call(self, hook):
        done = subprocess.run(
            [os.path.join(self.directory, "run", f"hook-{hook}")], capture_output=True, text=True, timeout=240)
        if done.returncode != 0:
            raise Failure(f"{hook} of {self.kind} failed: {done.stderr.strip()}")

    def stop(self):
        subprocess.run([os.path.join(HERE, "mounts", "stop.sh"), self.directory], timeout=240)

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


class GuestMount(Mount):
    """Two clients that are there already: this process runs in a guest that was made for them."""

    def start(self):
        pass

    def stop(self):
        pass


class Covered:
    """A file system in memory, or another directory, mounted over a directory of this machine."""

    def __init__(self, path, size="1m", source=None):
        self.path = path
        self.arguments = ["--bind", source] if source else ["-t", "tmpfs", "-o", f"size={size}", "shoebox-test"]

    def __enter__(self):
        subprocess.run(["mount", *self.arguments, self.path], check=True)

    def __exit__(self, *_):
        # Lazily: a daemon may be looking at it just now.
        subprocess.run(["umount", "-l", self.path], check=True)


def put(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


class Scenario:
    """Alice behind client A, Bob behind client B."""

    def __init__(self, mount, base):
        self.mount, self.base = mount, base
        self.random = random.Random(11)
        self.expected = {}
        self.latencies = []
        self.others = 0
        self.findings = []

    def set_up(self):
        clients = [os.path.join(self.mount.directory, client) for client in ("A", "B")]
        settings = {"deleteDelayMilliseconds": 500}
        cloud = os.path.join(clients[0], "cloud")
        os.makedirs(cloud, exist_ok=True)
        self.alice = Person(self.base, "alice", cloud, settings)
        other = os.path.join(clients[1], "cloud")
        wait_for("the container shows at the other client", lambda: os.path.exists(
            os.path.join(other, "container.json")), 120, 0.5)
        self.bob = Person(self.base, "bob", other, settings)
        self.people = [self.alice, self.bob]

    def start(self):
        for person in self.people:
            person.start_daemon()

    def check(self, what, seconds=180):
        def of_bob():
            return {f"alice/Summer/{path}": content for path, content in self.expected.items()}

        wait_for(f"{what}: Alice's folder", lambda: difference(
            self.expected, photos(os.path.join(self.alice.library, "Summer"))), seconds, 0.1)
        wait_for(f"{what}: Bob's folder", lambda: difference(of_bob(), photos(self.bob.shared)), seconds, 0.1)
        for person in self.people:
            wait_for(f"{what}: {person.name} is in sync", person.is_in_sync, seconds, 0.5)
        for person, expected, root in (
            (self.alice, self.expected, os.path.join(self.alice.library, "Summer")), (self.bob, of_bob(), self.bob.shared),
        ):
            answer = difference(expected, photos(root))
            if answer is not True:
                raise Failure(f"{what}: {person.name}'s folder changed after being in sync: {answer}")

    def put(self, person, name, size=None):
        content = self.random.randbytes(size or self.random.choice([300, 40_000, 900_000, 3_000_000]))
        self.expected[name] = content
        root = os.path.join(self.alice.library, "Summer") if person is self.alice else \
            os.path.join(self.bob.shared, "alice", "Summer")
        put(os.path.join(root, name), content)
        return content

    def share(self):
        for number in range(20):
            self.put(self.alice, f"day {number % 3}/{number}.jpg")
        self.start()
        wait_for("Alice's photos are taken", self.alice.is_in_sync, 180, 0.3)
        self.alice.run("share", "create", os.path.join(self.alice.library, "Summer"), "--title", "Summer")
        wait_for("Alice knows Bob", lambda: self.alice.attempt(
            "share", "invite", "Summer", "bob", "--permission", "readWrite")[0] == 0, 180, 1)
        link = self.alice.run("share", "link", "Summer").strip().splitlines()[-1]
        wait_for("Bob can accept", lambda: self.bob.attempt("accept", link)[0] == 0, 180, 1)
        self.check("the first mirror")

    def exchange(self):
        for number in range(5):
            self.put(self.alice, f"from alice {number}.jpg")
            self.put(self.bob, f"from bob {number}.jpg")
        self.check("photos both ways")
        shared = os.path.join(self.bob.shared, "alice", "Summer")
        library = os.path.join(self.alice.library, "Summer")
        self.put(self.bob, "from alice 0.jpg")
        self.expected["renamed.jpg"] = self.expected.pop("from bob 1.jpg")
        os.rename(os.path.join(library, "from bob 1.jpg"), os.path.join(library, "renamed.jpg"))
        del self.expected["from bob 2.jpg"]
        os.remove(os.path.join(shared, "from bob 2.jpg"))
        self.check("an edit, a rename and a deletion")

    def tag(self):
        def has(person, path, word):
            try:
                with open(path + ".json") as file:
                    return word in file.read()
            except OSError:
                return False

        mine = os.path.join(self.alice.library, "Summer", "renamed.jpg")
        his = os.path.join(self.bob.shared, "alice", "Summer", "renamed.jpg")
        self.bob.run("tag", "add", his, "swim")
        wait_for("Bob's tag is beside Alice's photo", lambda: has(self.alice, mine, "swim"), 180, 0.2)
        self.alice.run("tag", "add", mine, "favourite")
        wait_for("Alice's tag is beside Bob's photo", lambda: has(self.bob, his, "favourite"), 180, 0.2)

    def measure(self):
        """From the close of a photo at one until it is whole at the other, milliseconds."""
        for number in range(PROBES):
            time.sleep(self.random.uniform(0.3, 1.5))
            writer = self.people[number % 2]
            name = f"probe {number}.jpg"
            root = os.path.join(self.bob.shared, "alice", "Summer") if writer is self.alice else \
                os.path.join(self.alice.library, "Summer")
            content = self.put(writer, name, 100_000)
            start = time.monotonic()

            def is_whole():
                try:
                    with open(os.path.join(root, name), "rb") as file:
                        return file.read() == content
                except OSError:
                    return False

            wait_for(f"{name} is at the other", is_whole, 120, 0.005)
            self.latencies.append((time.monotonic() - start) * 1000)

    def doctor(self):
        """What `doctor` says of this mount, in a line; it must find that a container works here."""
        clouds = [person.container for person in self.people]
        code, out, error = self.alice.attempt(
            "doctor", clouds[0], "--second", clouds[1], "--patience", "40", "--deadline", "240", "--megabytes", "8",
            "--json", seconds=300)
        if code != 0:
            raise Failure(f"doctor ended with {code}: {out.strip()} {error.strip()}")
        report = json.loads(out)
        self.findings = [
            one["text"] for one in report["results"]
            if one["verdict"] != "good" or one["name"].endswith("Freshness")]

    def status_answers(self, what):
        for person in self.people:
            start = time.monotonic()
            person.status()
            seconds = time.monotonic() - start
            if seconds > 10:
                raise Failure(f"{what}: {person.name}'s status took {seconds:.0f} s")

    def lose_server(self):
        """The server dies while both go on working, and comes back."""
        self.mount.call("server-down")
        for number in range(3):
            self.put(self.alice, f"while down, alice {number}.jpg")
            self.put(self.bob, f"while down, bob {number}.jpg")
        time.sleep(3)
        self.status_answers("with the server down")
        self.mount.call("server-up")
        # A client whose server died may be dead for good; then whoever looks after the machine mounts again.
        end = time.monotonic() + 30
        while not self.mount.answers() and time.monotonic() < end:
            time.sleep(0.5)
        if not self.mount.answers():
            self.mount.call("remount")
        wait_for("the mount answers again", self.mount.answers, 60, 0.5)
        self.check("the server was killed and restarted", 240)

    def freeze_server(self):
        """The server hangs: status answers, daemons stop and start, and go on when it is back. So does all the time what
        the same user has in another container."""
        other = Person(os.path.join(self.base, "other"), "alice", self.make_container())
        other.start_daemon()
        try:
            self.mount.call("server-freeze")
            self.hang(other)
        finally:
            other.stop_daemon(60)

    def make_container(self):
        """A directory on this machine for a container of its own."""
        path = os.path.join(self.base, "other", "cloud")
        os.makedirs(path)
        return path

    def goes_on(self, other, name):
        """A photo in another container is passed on, and its status says so."""
        content = self.random.randbytes(40_000)
        put(os.path.join(other.library, name), content)

        def is_there():
            names = [name for _, _, names in os.walk(os.path.join(other.container, "assets")) for name in names]
            status = other.status()
            return len(names) == self.others and status["state"] == "inSync" and status["pendingPush"] == 0

        self.others += 1
        wait_for(f"{name} is in the other container while this one hangs", is_there, 60, 0.2)

    def hang(self, other):
        try:
            self.goes_on(other, "while frozen.jpg")
            self.put(self.alice, "while frozen, alice.jpg")
            self.put(self.bob, "while frozen, bob.jpg")
            time.sleep(3)
            self.status_answers("with the server frozen")
            for person in self.people:
                person.stop_daemon(60)
            self.start()
            time.sleep(1)
            self.status_answers("after a start with the server frozen")
            self.goes_on(other, "later.jpg")
        finally:
            self.mount.call("server-thaw")
        wait_for("the mount answers again", self.mount.answers, 120, 0.5)
        self.check("the server hung for a while", 240)

    def lose_brick(self):
        self.mount.call("brick-down")
        self.put(self.alice, "without a brick, alice.jpg")
        self.put(self.bob, "without a brick, bob.jpg")
        self.check("one brick was killed", 240)
        self.mount.call("brick-up")
        self.put(self.alice, "with the brick, alice.jpg")
        self.check("the brick came back", 240)

    def cover_folders(self):
        """Another file system is mounted over a watched folder, or over a share in it, while the daemon runs: that is noticed
        though nothing happens there, nothing is deleted, and all goes on when it is gone."""
        library = self.alice.library
        share = os.path.join(self.bob.shared, "alice", "Summer")
        for person, path in ((self.alice, library), (self.bob, self.bob.shared), (self.bob, share)):
            with Covered(path):
                wait_for(f"{person.name} notices what is mounted over {path}", lambda: person.is_in_sync() is not True, 60, 0.2)
                other = self.bob if person is self.alice else self.alice
                self.put(other, f"while {os.path.basename(path)} of {person.name} was covered.jpg")
                # Long enough for what is missing to be taken for deleted.
                time.sleep(3)
                if (left := os.listdir(path)) not in ([], ["lost+found"]):
                    raise Failure(f"{person.name} wrote {left} into what is mounted over {path}")
            self.check(f"another file system was mounted over {path}")
            self.put(person, f"after {os.path.basename(path)} of {person.name} was covered.jpg")
            self.check(f"a photo was put there after another file system was mounted over {path}")

    def mount_late(self):
        """Alice's daemon starts before the disk of her library is mounted."""
        self.alice.stop_daemon(60)
        disk = self.alice.library + ".disk"
        os.rename(self.alice.library, disk)
        os.makedirs(self.alice.library)
        self.alice.start_daemon()
        wait_for("Alice's library is offline", lambda: self.alice.status()["state"] == "offline", 60, 0.2)
        with Covered(self.alice.library, source=disk):
            self.check("the library was mounted after the daemon's start")
            self.put(self.alice, "on the late disk.jpg")
            self.check("a photo was put on the disk that was mounted late")
            self.alice.stop_daemon(60)
        os.rmdir(self.alice.library)
        os.rename(disk, self.alice.library)
        self.alice.start_daemon()
        self.check("the library is where it was")

    def bind_within(self):
        """A directory of the same disk, mounted within Alice's folder: away, it deletes nothing, and what others do to it
        meanwhile is not undone when it is back. Another one there, with the same names, is no edit."""
        place = os.path.join(self.alice.library, "Summer", "bound")
        own, foreign = os.path.join(self.base, "own disk"), os.path.join(self.base, "foreign disk")
        for directory in (place, own, foreign):
            os.makedirs(directory)
        with Covered(place, source=own):
            for number in range(3):
                self.put(self.alice, f"bound/{number}.jpg")
            self.check("photos on a mount within the folder")
        kept = dict(self.expected)
        his = {f"alice/Summer/{path}": content for path, content in kept.items()}
        put(os.path.join(foreign, "0.jpg"), b"another photo of that name")

        def stay(what):
            wait_for(f"{what} is noticed", lambda: self.alice.status()["state"] == "offline", 60, 0.2)
            time.sleep(3)
            if (answer := difference(his, photos(self.bob.shared))) is not True:
                raise Failure(f"{what}: Bob's folder: {answer}")

        stay("a mount that went")
        with Covered(place, source=foreign):
            stay("another one in its place")
        with Covered(place, source=own):
            self.check("what was mounted within the folder is back")
            for number in range(3):
                del self.expected[f"bound/{number}.jpg"]
                os.remove(os.path.join(place, f"{number}.jpg"))
            self.check("its photos were deleted")

    def fill_state_disk(self):
        """The disk of Bob's state directory is full: `sync` says so and ends, and all goes on when there is room."""
        state = os.path.join(self.bob.base, "state")
        self.bob.stop_daemon(60)
        kept = state + ".kept"
        os.rename(state, kept)
        os.makedirs(state)
        with Covered(state, "16m"):
            subprocess.run(["cp", "-a", f"{kept}/.", state], check=True)
            self.bob.start_daemon()
            self.check("the state is on a small disk")
            filler = os.path.join(state, "filler")
            with open(filler, "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(bytes(4096))
                except OSError:
                    pass
            self.put(self.bob, "while the disk was full, bob.jpg", 900_000)
            self.put(self.alice, "while the disk was full, alice.jpg", 900_000)
            start = time.monotonic()
            code, out, error = self.bob.attempt("sync", seconds=150)
            if code == 0 or "full" not in (out + error) and "space" not in (out + error):
                raise Failure(f"with a full state disk 'sync' ended with {code}: {out.strip()} {error.strip()}")
            print(f"  with a full state disk 'sync' ends with {code} after {time.monotonic() - start:.0f} s", flush=True)
            os.remove(filler)
            self.check("the state's disk was full")
            self.bob.stop_daemon(60)
            subprocess.run(["cp", "-a", f"{state}/.", kept], check=True)
        os.rmdir(state)
        os.rename(kept, state)
        self.bob.start_daemon()
        self.check("the state is where it was")

    def run(self):
        self.set_up()
        try:
            self.share()
            self.exchange()
            self.tag()
            self.measure()
            self.check("the probes")
            self.doctor()
            if self.mount.kind == "plain":
                self.cover_folders()
                self.bind_within()
                self.mount_late()
                self.fill_state_disk()
            if self.mount.has("brick-down"):
                self.lose_brick()
            if self.mount.has("server-freeze"):
                self.freeze_server()
            if self.mount.has("server-down"):
                self.lose_server()
        finally:
            for person in self.people:
                if sys.exc_info()[0] is None:
                    person.stop_daemon(60)
                elif person.daemon is not None:
                    person.daemon.send_signal(signal.SIGKILL)
                    person.daemon.wait()


def play(mount, base):
    """The whole scenario on a mount that is started; prints how it went."""
    started = time.monotonic()
    scenario = Scenario(mount, base)
    scenario.run()
    times = sorted(scenario.latencies)
    print(
        f"{mount.kind}: all well in {time.monotonic() - started:.0f} s; closed here to whole there: median "
        f"{statistics.median(times):.0f} ms, longest {times[-1]:.0f} ms of {len(times)}", flush=True)
    for text in scenario.findings:
        print(f"  doctor: {text}", flush=True)


def play_in_guest(kind, base):
    """The same in a guest, by this very script."""
    os.makedirs(base)
    inside = [
        "env", f"SHOEBOX_BIN={BIN}", f"PROBES={PROBES}", f"SHOEBOX_PATIENCE={os.environ.get('SHOEBOX_PATIENCE', '180')}",
        "PYTHONDONTWRITEBYTECODE=1", sys.executable, os.path.abspath(__file__), "--in-guest", kind, base]
    process = subprocess.Popen(
        [os.path.join(HERE, "mounts", "guest.sh"), kind, base, "--", *inside], stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True)
    try:
        out, _ = process.communicate(timeout=GUEST_SECONDS)
    except BaseException as reason:
        os.killpg(process.pid, signal.SIGKILL)
        out, _ = process.communicate()
        if isinstance(reason, subprocess.TimeoutExpired):
            raise Failure(f"not done within {GUEST_SECONDS:.0f} s: {out.strip()}") from None
        raise
    if process.returncode == 77:
        raise Skipped(" ".join(out.split()) or "no reason given")
    if process.returncode != 0:
        raise Failure(out.strip())
    print(out.strip(), flush=True)


def in_guest(kind, base):
    try:
        play(GuestMount(kind, os.environ["MOUNTS"]), os.path.join(os.environ["TMPDIR"], "people"))
        return 0
    except (Failure, subprocess.TimeoutExpired, OSError) as failure:
        print(failure, flush=True)
        subprocess.run(["cp", "-a", os.path.join(os.environ["TMPDIR"], "people"), base])
        return 1


def main():
    if sys.argv[1:2] == ["--in-guest"]:
        return in_guest(*sys.argv[2:4])
    packages = {**KINDS, **GUEST_KINDS}
    kinds = os.environ.get("MOUNTS", " ".join(packages)).split()
    unknown = [kind for kind in kinds if kind not in packages]
    if unknown:
        print(f"shoebox: MOUNTS knows {' '.join(packages)}, not {' '.join(unknown)}", file=sys.stderr)
        return 64
    if not os.access(os.path.join(BIN, "shoebox"), os.X_OK):
        print(f"shoebox: there is no {BIN}/shoebox; run 'make build'", file=sys.stderr)
        return 1
    if os.geteuid() != 0:
        print("skipped: mounting needs root")
        return 0
    # Whatever ends this, servers and mounts go with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    failed = 0
    for kind in kinds:
        base = tempfile.mkdtemp(prefix=f"shoebox-mount-{kind}-")
        mount = Mount(kind, os.path.join(base, "mount")) if kind in KINDS else None
        keeps = False
        try:
            install(packages[kind])
            if mount is None:
                play_in_guest(kind, os.path.join(base, "people"))
            else:
                mount.start()
                play(mount, os.path.join(base, "people"))
        except Skipped as reason:
            print(f"{kind}: skipped: {reason}", flush=True)
        except (Failure, subprocess.TimeoutExpired, OSError) as failure:
            failed += 1
            keeps = True
            print(f"{kind}: FAILED: {failure}", flush=True)
        finally:
            if mount is not None:
                mount.stop()
            if keeps:
                print(f"hint: what the people had is still in {base}", file=sys.stderr)
            else:
                shutil.rmtree(base, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
