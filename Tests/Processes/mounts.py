#!/usr/bin/env python3
"""The scenario of two people on real mounts, each with a client of its own; prints what each mount's latency is.

For each kind in MOUNTS (default: all that there are) the packages that it needs are installed (as root, on Debian), a
server and two clients are started on this machine, and ended again. A kind that can't be had or does not start is skipped,
with the reason; whatever breaks once its scenario began is a failure. The last line says how many kinds ran, were skipped
and failed. The exit code is 1 if one failed, and if MOUNTS names network mounts of which none ran, or nothing ran at all:
unless MOUNTS_OPTIONAL is 1, which is for suites that must go through on machines that can't mount.
"""

import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from mount_disks import Disks  # noqa: E402
from mount_disputes import Disputes  # noqa: E402
from mount_homes import Homes  # noqa: E402
from mount_kinds import GUEST_KINDS, KINDS, NETWORK_KINDS, GuestMount, Mount, Skipped, install  # noqa: E402
from mount_outages import Outages  # noqa: E402
from mount_story import PROBES, Story  # noqa: E402
from people import BIN, Failure  # noqa: E402

# Longest time for one kind in a guest, seconds.
GUEST_SECONDS = float(os.environ.get("GUEST_SECONDS", "1500"))


class Scenario(Story):
    """What happens on a mount, in steps."""

    def run(self):
        self.set_up()
        try:
            for step in self.steps():
                started = time.monotonic()
                step()
                self.seconds.append((step.__name__, time.monotonic() - started))
        finally:
            for person in self.people:
                if sys.exc_info()[0] is None:
                    person.stop_daemon(60)
                elif person.daemon is not None:
                    person.daemon.send_signal(signal.SIGKILL)
                    person.daemon.wait()


class CloudScenario(Scenario, Disputes, Outages, Disks):
    """All that happens on a mount with the container."""

    def steps(self):
        yield from (self.share, self.exchange, self.tag, self.measure, self.doctor)
        yield from self.disputes()
        yield self.mount.check_up
        if self.mount.kind == "plain":
            yield from (self.cover_folders, self.bind_within, self.mount_late, self.fill_state_disk)
        if self.mount.has("brick-down"):
            yield self.lose_brick
        if self.mount.has("server-freeze"):
            yield self.freeze_server
        if self.mount.has("server-down"):
            yield self.lose_server
        yield self.leave
        yield self.mount.check_up


class HomeScenario(Scenario, Disputes, Homes):
    """All that happens if the people's own folders are on the mount, too."""

    def steps(self):
        yield from (self.share, self.exchange, self.tag, self.measure)
        yield from self.disputes()
        yield from (self.write_in_place, self.kill)
        if self.mount.has("server-down"):
            yield self.lose_homes
        yield self.leave
        yield self.mount.check_up


def play(mount, base):
    """Both scenarios on a mount that is started; prints how they went."""
    tell(CloudScenario(mount, base), mount.kind)
    if mount.kind != "plain":
        tell(HomeScenario(mount, os.path.join(base, "with homes")), f"{mount.kind}, libraries on it")


def tell(scenario, name):
    started = time.monotonic()
    try:
        scenario.run()
    except Failure as failure:
        raise Failure(f"{name}: {failure}") from None
    times = sorted(scenario.latencies)
    print(
        f"{name}: all well in {time.monotonic() - started:.0f} s; closed here to whole there: median "
        f"{statistics.median(times):.0f} ms, longest {times[-1]:.0f} ms of {len(times)}", flush=True)
    print("  seconds: " + ", ".join(f"{name} {seconds:.0f}" for name, seconds in scenario.seconds if seconds >= 0.5), flush=True)
    for text in scenario.findings:
        print(f"  doctor: {text}", flush=True)


def why(failure):
    """What went wrong, for whoever reads it: of a failure its sentence, of anything else where it comes from too."""
    if isinstance(failure, (Failure, subprocess.TimeoutExpired)):
        return str(failure)
    return "".join(traceback.format_exception(failure)).strip()


def began(base):
    """The file that a guest makes when its mounts are up and the scenario begins."""
    return os.path.join(base, "began")


def play_in_guest(kind, base):
    """The same in a guest, by this very script."""
    os.makedirs(base)
    inside = [
        "env", f"SHOEBOX_BIN={BIN}", f"PROBES={PROBES}", f"SHOEBOX_PATIENCE={os.environ.get('SHOEBOX_PATIENCE', '180')}",
        "PYTHONDONTWRITEBYTECODE=1", sys.executable, os.path.abspath(__file__), "--in-guest", kind, base]
    # Its disk and memory are beside the people's folders, and go with them, however it ends.
    machine = base + ".guest"
    os.makedirs(machine)
    process = subprocess.Popen(
        [os.path.join(HERE, "mounts", "guest.sh"), kind, base, "--", *inside], stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
        env=dict(os.environ, TMPDIR=machine))
    late = None
    try:
        out, _ = process.communicate(timeout=GUEST_SECONDS)
    except subprocess.TimeoutExpired:
        late = f"not done within {GUEST_SECONDS:.0f} s"
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            out, _ = process.communicate()
        shutil.rmtree(machine, ignore_errors=True)
    if process.returncode == 0 and late is None:
        print(out.strip(), flush=True)
        return
    said = ": ".join(part for part in (late, out.strip()) if part) or "no reason given"
    if os.path.exists(began(base)):
        raise Failure(said)
    raise Skipped(f"the guest with its mounts did not start: {' '.join(said.split())}")


def in_guest(kind, base):
    people = os.path.join(os.environ["TMPDIR"], "people")
    try:
        with open(began(base), "w"):
            pass
        play(GuestMount(kind, os.environ["MOUNTS"]), people)
        return 0
    except Exception as failure:
        print(why(failure), flush=True)
        subprocess.run(["cp", "-a", people, base])
        return 1


def run_kind(kind):
    """Plays the scenario on one kind of mount and cleans up: 'ran', 'skipped' or 'failed', with the reason said."""
    base = tempfile.mkdtemp(prefix=f"shoebox-mount-{kind}-")
    people = os.path.join(base, "people")
    mount = Mount(kind, os.path.join(base, "mount")) if kind in KINDS else None
    outcome = "interrupted"
    try:
        install({**KINDS, **GUEST_KINDS}[kind])
        if mount is None:
            play_in_guest(kind, people)
        else:
            mount.start()
            play(mount, people)
        outcome = "ran"
    except Skipped as reason:
        outcome = "skipped"
        print(f"{kind}: skipped: {reason}", flush=True)
    except Exception as failure:
        outcome = "failed"
        print(f"{kind}: FAILED: {why(failure)}", flush=True)
        try:
            if mount is not None:
                mount.check_up()
        except Exception as also:
            print(f"  and now: {also}", flush=True)
    finally:
        is_clean = mount is None or mount.stop()
        if not is_clean:
            outcome = "failed"
            print(f"{kind}: FAILED: {', '.join(mount.mounted()) or 'something'} could not be ended", flush=True)
        if outcome == "failed":
            print(f"hint: what the people had is still in {base}", file=sys.stderr)
        else:
            shutil.rmtree(base, ignore_errors=True)
    return outcome


def conclude(kinds, outcomes, is_optional):
    """Says what ran, in the last line, and gives the exit code."""
    parts = []
    for outcome in ("ran", "skipped", "failed"):
        which = [kind for kind in kinds if outcomes[kind] == outcome]
        parts.append(f"{len(which)} {outcome}" + (f" ({' '.join(which)})" if which else ""))
    ran = [kind for kind in kinds if outcomes[kind] == "ran"]
    failed = any(outcomes[kind] == "failed" for kind in kinds)
    wanted = [kind for kind in kinds if kind in NETWORK_KINDS]
    too_few = not ran or bool(wanted) and not any(kind in wanted for kind in ran)
    if too_few and not failed and not is_optional:
        print("shoebox: no network mount ran" if wanted else "shoebox: nothing ran", file=sys.stderr)
        print("hint: see above why; MOUNTS_OPTIONAL=1 lets that pass", file=sys.stderr, flush=True)
    print(f"mounts: {', '.join(parts)}", flush=True)
    return 1 if failed or too_few and not is_optional else 0


def main():
    if sys.argv[1:2] == ["--in-guest"]:
        return in_guest(*sys.argv[2:4])
    known = [*KINDS, *GUEST_KINDS]
    kinds = list(dict.fromkeys(os.environ.get("MOUNTS", "").split() or known))
    is_optional = os.environ.get("MOUNTS_OPTIONAL") == "1"
    unknown = [kind for kind in kinds if kind not in known]
    if unknown:
        print(f"shoebox: MOUNTS knows {' '.join(known)}, not {' '.join(unknown)}", file=sys.stderr)
        return 64
    if not os.access(os.path.join(BIN, "shoebox"), os.X_OK):
        print(f"shoebox: there is no {BIN}/shoebox; run 'make build'", file=sys.stderr)
        return 1
    if os.geteuid() != 0:
        if is_optional:
            print("skipped: mounting needs root")
            return conclude(kinds, dict.fromkeys(kinds, "skipped"), True)
        print("shoebox: mounting needs root, so no mount was tested\nhint: run 'make test-mounts' as root", file=sys.stderr)
        return 1
    # Whatever ends this, servers and mounts go with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    return conclude(kinds, {kind: run_kind(kind) for kind in kinds}, is_optional)


if __name__ == "__main__":
    sys.exit(main())
