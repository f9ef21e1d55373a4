"""People with real shoebox processes, for the tests that kill them and for the mounts."""

import json
import os
import signal
import subprocess
import time

BIN = os.environ.get("SHOEBOX_BIN") or os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "..", "..", ".build", "release")
BIN = os.path.abspath(BIN)
PATIENCE = float(os.environ.get("SHOEBOX_PATIENCE", "90"))


class Failure(Exception):
    """Something that must hold does not."""


def wait_for(what, check, seconds=None, interval=0.05):
    """Waits until `check()` is true; its last answer is in the failure."""
    seconds = seconds or PATIENCE
    end = time.monotonic() + seconds
    while True:
        answer = check()
        if answer is True:
            return
        if time.monotonic() > end:
            raise Failure(f"not within {seconds:.0f} s: {what}" + ("" if answer is False else f": {answer}"))
        time.sleep(interval)


class Person:
    """An account with its folders below one directory; its photos are in another one, `home`, if there is one."""

    def __init__(self, base, name, container, settings=None, home=None):
        self.name, self.base, self.container = name, os.path.join(base, name), container
        home = home or self.base
        self.library, self.shared = os.path.join(home, "library"), os.path.join(home, "shared")
        self.config = os.path.join(self.base, "config.json")
        for folder in (self.base, self.library, self.shared):
            os.makedirs(folder, exist_ok=folder == self.base)
        self.environment = dict(
            os.environ, SHOEBOX_CONFIG=self.config, XDG_STATE_HOME=os.path.join(self.base, "state"))
        self.daemon = None
        self.run("init", "--account", name, "--container", container, "--library", self.library, "--shared",
                 self.shared)
        if settings:
            with open(self.config) as file:
                config = json.load(file)
            config.update(settings)
            with open(self.config, "w") as file:
                json.dump(config, file, indent=2)

    # Commands

    def start(self, *arguments):
        """A command that has been started."""
        return subprocess.Popen(
            [os.path.join(BIN, "shoebox"), *arguments], env=self.environment, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def attempt(self, *arguments, seconds=None):
        """(exit code, standard output, standard error) of a command."""
        process = self.start(*arguments)
        try:
            out, error = process.communicate(timeout=seconds or PATIENCE * 2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Failure(f"{self.name}: 'shoebox {' '.join(arguments)}' did not end") from None
        return process.returncode, out, error

    def run(self, *arguments, seconds=None):
        """What a command printed; it must end with 0."""
        code, out, error = self.attempt(*arguments, seconds=seconds)
        if code != 0:
            raise Failure(f"{self.name}: 'shoebox {' '.join(arguments)}' ended with {code}: {error.strip()} {out.strip()}")
        return out

    def status(self):
        """`status --json`; it must answer whatever state the mount is in."""
        code, out, error = self.attempt("status", "--json", seconds=30)
        try:
            return json.loads(out)
        except ValueError:
            raise Failure(f"{self.name}: status ended with {code} and said {out!r} {error!r}") from None

    def shares(self):
        """Titles of the shares that are there, with their rows."""
        code, out, error = self.attempt("share", "list", "--json")
        if code != 0:
            raise Failure(f"{self.name}: 'share list' ended with {code}: {error}")
        found = json.loads(out)
        rows = found if isinstance(found, list) else found.get("shares", [])
        return {row["title"]: row for row in rows}

    # The daemon

    def start_daemon(self):
        self.log = open(os.path.join(self.base, "daemon.log"), "a")
        self.daemon = subprocess.Popen(
            [os.path.join(BIN, "shoebox"), "run"], env=self.environment, stdin=subprocess.DEVNULL, stdout=self.log,
            stderr=self.log)

    def kill_daemon(self, may_be_busy=False):
        """kill -9. It must be running; but a command that was first may have kept it from starting."""
        if self.daemon is None:
            return
        if self.daemon.poll() is not None and not (may_be_busy and self.daemon.returncode == 11):
            raise Failure(f"{self.name}'s daemon ended with {self.daemon.returncode}: {self.log_end()}")
        self.daemon.kill()
        self.daemon.wait()
        self.daemon = None
        self.log.close()

    def stop_daemon(self, seconds=30, may_be_busy=False):
        """SIGTERM; it must end with 0."""
        if self.daemon is None:
            return
        daemon, self.daemon = self.daemon, None
        if may_be_busy and daemon.poll() == 11:
            self.log.close()
            return
        daemon.send_signal(signal.SIGTERM)
        try:
            code = daemon.wait(seconds)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()
            raise Failure(f"{self.name}'s daemon did not stop within {seconds} s of SIGTERM") from None
        finally:
            self.log.close()
        if code != 0:
            raise Failure(f"{self.name}'s daemon ended with {code}: {self.log_end()}")

    def log_end(self):
        with open(os.path.join(self.base, "daemon.log")) as file:
            return " / ".join(line.strip() for line in file.readlines()[-8:])

    def is_in_sync(self):
        """True, or what keeps it."""
        if self.daemon is not None and self.daemon.poll() is not None:
            raise Failure(f"{self.name}'s daemon ended with {self.daemon.returncode}: {self.log_end()}")
        status = self.status()
        if status.get("state") == "inSync":
            return True
        # That a share was closed is said to its participant, and is nothing that waits.
        if status.get("state") == "attention" and all(problem["code"] == "ended" for problem in status["problems"]) \
                and not any(status[key] for key in ("pendingPush", "pendingFetch", "pendingApply", "pendingRequests")):
            return True
        return {key: status.get(key) for key in (
            "state", "pendingPush", "pendingFetch", "pendingApply", "pendingRequests", "problems")}


def photos(directory):
    """Relative path -> bytes of every file that a person put or would see, without sidecars."""
    result = {}
    for where, folders, names in os.walk(directory):
        folders[:] = [name for name in folders if name not in (".shoebox", ".tags")]
        for name in names:
            if name.endswith(".json"):
                continue
            path = os.path.join(where, name)
            try:
                with open(path, "rb") as file:
                    result[os.path.relpath(path, directory)] = file.read()
            except FileNotFoundError:
                pass
    return result


def difference(expected, found):
    """True if two trees are equal, else a line that says how they differ."""
    parts = []
    missing = sorted(set(expected) - set(found))
    extra = sorted(set(found) - set(expected))
    other = sorted(path for path in set(expected) & set(found) if expected[path] != found[path])
    for word, paths in (("missing", missing), ("not expected", extra), ("other bytes", other)):
        if paths:
            parts.append(f"{word}: {', '.join(paths[:5])}" + (f" and {len(paths) - 5} more" if len(paths) > 5 else ""))
    return "; ".join(parts) if parts else True
