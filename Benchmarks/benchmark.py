"""Measures Shoebox beside cp and rsync; run by run.sh. README.md says what each line means."""

import datetime
import json
import os
import platform
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

SCALE = float(os.environ.get("BENCH_SCALE", "1"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
PARTS = os.environ.get("BENCH_PARTS", "small mirror latency").split()
BIN = os.environ["SHOEBOX_BIN"]

SMALL_FILES = max(100, round(100_000 * SCALE))
LARGE_FILES = max(3, round(500 * SCALE))
LARGE_BYTES = 4_000_000
PROBES = max(5, round(50 * min(1, SCALE * 10)))
PATIENCE_SECONDS = 600


class Failure(Exception):
    """A step that didn't do what it should; ends the run."""


class Person:
    """An account with its folders below one directory."""

    def __init__(self, base, name, container):
        self.name, self.base, self.container = name, os.path.join(base, name), container
        self.library, self.shared = os.path.join(self.base, "library"), os.path.join(self.base, "shared")
        os.makedirs(self.library)
        os.makedirs(self.shared)
        os.makedirs(container, exist_ok=True)
        self.environment = dict(
            os.environ, SHOEBOX_CONFIG=os.path.join(self.base, "config.json"),
            XDG_STATE_HOME=os.path.join(self.base, "state"))
        self.daemon = None
        self("init", "--account", name, "--container", container, "--library", self.library, "--shared", self.shared)

    def __call__(self, *arguments):
        """Runs a command to its end; what it printed."""
        done = subprocess.run(
            [os.path.join(BIN, "shoebox"), *arguments], env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failure(
                f"{self.name}: 'shoebox {' '.join(arguments)}' ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def start(self):
        with open(os.path.join(self.base, "daemon.log"), "w") as log:
            self.daemon = subprocess.Popen(
                [os.path.join(BIN, "shoebox"), "run"], env=self.environment, stdout=log, stderr=log)
        self.wait_in_sync()

    def wait_in_sync(self):
        def is_in_sync():
            if self.daemon is not None and self.daemon.poll() is not None:
                raise Failure(f"{self.name}'s daemon ended with {self.daemon.returncode}; see {self.base}/daemon.log")
            done = subprocess.run(
                [os.path.join(BIN, "shoebox"), "status", "--json"], env=self.environment, capture_output=True)
            try:
                return json.loads(done.stdout).get("state") == "inSync"
            except ValueError:
                return False

        wait_for(f"{self.name} is in sync", is_in_sync, 0.2)

    def stop(self):
        if self.daemon is None:
            return
        self.daemon.send_signal(signal.SIGTERM)
        try:
            self.daemon.wait(30)
        except subprocess.TimeoutExpired:
            self.daemon.kill()
            self.daemon.wait()
            raise Failure(f"{self.name}'s daemon did not stop within 30 s of SIGTERM") from None
        finally:
            self.daemon = None


def wait_for(what, check, interval):
    end = time.monotonic() + PATIENCE_SECONDS
    while not check():
        if time.monotonic() > end:
            raise Failure(f"not within {PATIENCE_SECONDS} s: {what}")
        time.sleep(interval)


def timed(*command):
    """Seconds that a command takes."""
    start = time.monotonic()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise Failure(f"'{' '.join(command)}' ended with {done.returncode}: {done.stderr.strip()}")
    return time.monotonic() - start


def timed_call(person, *arguments):
    start = time.monotonic()
    person(*arguments)
    return time.monotonic() - start


def fill(directory, count, size, seed):
    """Files of random bytes, 100 in a folder."""
    generator = random.Random(seed)
    for number in range(count):
        folder = os.path.join(directory, f"{number // 100:04}")
        if number % 100 == 0:
            os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"IMG_{number:06}.jpg"), "wb") as out:
            out.write(generator.randbytes(size))


def tree(directory, ignore_sidecars=True):
    """Relative path -> size of every photo in a folder."""
    result = {}
    for where, folders, names in os.walk(directory):
        folders[:] = [f for f in folders if not f.startswith(".")]
        for name in names:
            if ignore_sidecars and name.endswith(".json"):
                continue
            path = os.path.join(where, name)
            result[os.path.relpath(path, directory)] = os.stat(path).st_size
    return result


def share(owner, participant, folder, title):
    """Shares a folder of the owner's library and accepts it; the participant's folder."""
    owner("sync")
    participant("sync")
    owner("share", "create", folder, "--title", title)
    owner("share", "invite", title, participant.name, "--permission", "readWrite")
    link = owner("share", "link", title).strip().splitlines()[-1]
    owner("sync")
    participant("accept", link)
    participant("sync")
    return os.path.join(participant.shared, owner.name, title)


def memory(pid):
    """(VmRSS, VmHWM) of a process in MB, each the sum with its children."""
    sums = [0, 0]
    pids = [pid]
    for one in pids:
        try:
            with open(f"/proc/{one}/task/{one}/children") as children:
                pids += [int(child) for child in children.read().split()]
            with open(f"/proc/{one}/status") as status:
                for line in status:
                    for index, key in enumerate(("VmRSS:", "VmHWM:")):
                        if line.startswith(key):
                            sums[index] += int(line.split()[1]) / 1024
        except OSError:
            continue
    return sums


class Report:
    """The lines of the table."""

    def __init__(self):
        self.rows = []

    def compare(self, title, own, others, goal=None):
        """Medians of the own rounds beside those of the others."""
        self.add(title, f"{statistics.median(own):.3f} s", "", "")
        for index, (name, rounds) in enumerate(others):
            ratio = statistics.median(own) / max(statistics.median(rounds), 1e-9)
            limit = f"at most {goal}" if goal and index == 0 else ""
            self.add(f"  {name}", f"{statistics.median(rounds):.3f} s", f"{ratio:.2f}", limit)

    def add(self, title, value, ratio="", goal=""):
        self.rows.append((title, value, ratio, goal))
        print(f"  {title}: {value}" + (f", ratio {ratio}" if ratio else ""), file=sys.stderr)

    def text(self):
        head = ("what", "median", "Shoebox / this", "aim")
        widths = [max(len(row[i]) for row in [head, *self.rows]) for i in range(4)]
        lines = [head, tuple("-" * width for width in widths), *self.rows]
        return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(row, widths)) + " |" for row in lines)


def small_files(base, report):
    """First copy, no-op and memory of many small files."""
    person = Person(base, "alice", os.path.join(base, "cloud"))
    source = person.library
    print(f"  making {SMALL_FILES} files", file=sys.stderr)
    fill(source, SMALL_FILES, 1024, seed=1)
    first = [timed_call(person, "sync")]
    copies, mirrors = [], []
    for number in range(ROUNDS):
        target = os.path.join(base, f"copy{number}")
        copies.append(timed("cp", "-a", source, target))
        shutil.rmtree(target)
        mirrors.append(timed("rsync", "-a", source + "/", target))
        if number + 1 < ROUNDS:
            shutil.rmtree(target)
    report.compare(
        f"first sync of {SMALL_FILES} x 1 KiB (one round, sealed, durable)", first,
        [("rsync -a", mirrors), ("cp -a", copies)])
    no_ops, rsyncs = [], []
    for _ in range(ROUNDS):
        no_ops.append(timed_call(person, "sync"))
        rsyncs.append(timed("rsync", "-an", source + "/", target))
    report.compare(f"sync with nothing to do, {SMALL_FILES} files", no_ops, [("rsync -an", rsyncs)], goal=1.5)
    person.start()
    try:
        now, peak = memory(person.daemon.pid)
        report.add(f"daemon and its helpers, {SMALL_FILES} files: resident", f"{now:.1f} MB", "", "under 80 MB")
        report.add("  highest since its start", f"{peak:.1f} MB")
    finally:
        person.stop()


def mirror(base, report):
    """A to the cloud to B."""
    source = os.path.join(base, "source")
    print(f"  making {LARGE_FILES} files of {LARGE_BYTES} bytes", file=sys.stderr)
    fill(source, LARGE_FILES, LARGE_BYTES, seed=2)
    expected = tree(source)
    own, rsyncs, durable, copies = [], [], [], []
    for number in range(ROUNDS):
        place = os.path.join(base, f"round{number}")
        os.makedirs(place)
        alice = Person(place, "alice", os.path.join(place, "cloud"))
        bob = Person(place, "bob", os.path.join(place, "cloud"))
        folder = os.path.join(alice.library, "Set")
        os.makedirs(folder)
        with open(os.path.join(folder, "start.txt"), "w") as out:
            out.write("shared before the photos come\n")
        target = share(alice, bob, folder, "Set")
        subprocess.run(["cp", "-a", source + "/.", folder], check=True)
        os.sync()
        own.append(timed_call(alice, "sync") + timed_call(bob, "sync"))
        found = tree(target)
        found.pop("start.txt", None)
        if found != expected:
            raise Failure(f"{len(expected)} files were to arrive in {target}; {len(found)} are there")
        subprocess.run(["diff", "-rq", "-x", "*.json", "-x", ".*", folder, target], check=True)
        shutil.rmtree(place)
        for rounds, command, flush in (
            (rsyncs, ["rsync", "-a"], False), (durable, ["rsync", "-a"], True), (copies, ["cp", "-a"], False),
        ):
            os.sync()
            place = os.path.join(base, "plain")
            os.makedirs(place)
            seconds = 0
            for left, right in ((source, "cloud"), (os.path.join(place, "cloud"), "other")):
                seconds += timed(*command, left + "/.", os.path.join(place, right))
                if flush:
                    seconds += timed("sync", "-f", os.path.join(place, right))
            rounds.append(seconds)
            shutil.rmtree(place)
    report.compare(
        f"A to cloud to B, {LARGE_FILES} x 4 MB, sealed, durable", own,
        [("rsync -a twice", rsyncs), ("rsync -a twice, each with sync -f", durable), ("cp -a twice", copies)],
        goal=1.5)


def latency(base, report):
    """From the close of a file in the owner's folder until it is whole in the participant's."""
    container = os.path.join(base, "cloud")
    alice, bob = Person(base, "alice", container), Person(base, "bob", container)
    folder = os.path.join(alice.library, "Set")
    os.makedirs(folder)
    with open(os.path.join(folder, "start.txt"), "w") as out:
        out.write("shared before the photos come\n")
    target = share(alice, bob, folder, "Set")
    generator = random.Random(3)
    try:
        alice.start()
        bob.start()
        times = []
        for number in range(PROBES):
            time.sleep(generator.uniform(0.5, 1.5))
            body = generator.randbytes(200_000)
            name = f"IMG_{number}.jpg"
            with open(os.path.join(folder, name), "wb") as out:
                out.write(body)
            start = time.monotonic()
            arrived = os.path.join(target, name)

            def is_whole():
                try:
                    with open(arrived, "rb") as found:
                        return found.read() == body
                except OSError:
                    return False

            wait_for(f"{name} is in {target}", is_whole, 0.002)
            times.append((time.monotonic() - start) * 1000)
    finally:
        for person in (alice, bob):
            person.stop()
    times.sort()
    at = lambda share: times[min(len(times) - 1, int(share * len(times)))]
    report.add(f"closed here to whole there, {PROBES} photos: p50", f"{at(0.5):.0f} ms", "", "within 300 ms")
    report.add("  p95", f"{at(0.95):.0f} ms")


def main():
    chosen = {"small": small_files, "mirror": mirror, "latency": latency}
    unknown = [part for part in PARTS if part not in chosen]
    if unknown:
        print(f"shoebox: BENCH_PARTS knows {' '.join(chosen)}, not {' '.join(unknown)}", file=sys.stderr)
        return 64
    report = Report()
    root = tempfile.mkdtemp(prefix="shoebox-bench-", dir=os.environ.get("BENCH_DIR"))
    try:
        for part in PARTS:
            print(f"{part}:", file=sys.stderr)
            base = os.path.join(root, part)
            os.makedirs(base)
            chosen[part](base, report)
            shutil.rmtree(base)
    except Failure as failure:
        print(f"shoebox: {failure}\nhint: what was measured with is still in {root}", file=sys.stderr)
        return 1
    shutil.rmtree(root)
    head = (
        f"{datetime.date.today()}, {os.cpu_count()} cores, Linux {platform.release()}, scale {SCALE:g}, "
        f"median of {ROUNDS} interleaved rounds")
    text = f"{head}\n\n{report.text()}\n"
    print(text)
    if os.environ.get("BENCH_WRITE"):
        results = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
        os.makedirs(results, exist_ok=True)
        path = os.path.join(results, f"{datetime.date.today()}.md")
        with open(path, "w") as out:
            out.write(text)
        print(f"written to {path}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
