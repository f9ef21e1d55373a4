#!/usr/bin/env python3
"""Kills real shoebox processes at random moments, and checks every byte that was ever written.

Two people share a folder on this machine's disk. A first mirror, fetching, sharing, stopping and folding what was published
go on while daemons and commands are killed with SIGKILL; after every few kills all that two people wrote must be there, on
both sides, and nothing else; at the end a third one, who knows nothing, is shown the same. So with captions and tags, which
are given by commands, that are killed too or whose daemon is, and captions that are written into sidecars. KILLS says how many
kills (default 1000), SEED what the random choices are made from.
"""

import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from people import BIN, Failure, Person, difference, photos, wait_for  # noqa: E402

KILLS = int(os.environ.get("KILLS", "1000"))
SEED = int(os.environ.get("SEED", str(time.time_ns() % 1_000_000)))
# Of a file each, so that a kill may come while it is read, sealed, fetched or written.
SIZES = (200, 5_000, 60_000, 400_000, 3_000_000)
WEIGHTS = (30, 30, 25, 12, 3)


class Words:
    """What was said of a photo: what must show beside it, and what may."""

    def __init__(self, is_by_hand):
        # By the sidecar only, or by commands only. And whether the photo was edited, or renamed, since it has words: one of
        # both only, as a photo that was edited and renamed unseen is another one.
        self.is_by_hand = is_by_hand
        self.is_edited = self.is_renamed = False
        # The last caption that is known to have been taken, those that may have been, and tags likewise.
        self.caption, self.captions = None, set()
        self.tags, self.possible_tags = set(), set()

    def say(self, field, text, is_certain):
        if field == "tag":
            (self.tags if is_certain else self.possible_tags).add(text)
        elif is_certain:
            self.caption = text
        else:
            self.captions.add(text)

    def difference(self, sidecar):
        """True if it is what a sidecar says, else a line that says why not."""
        caption, tags = sidecar.get("caption"), set(sidecar.get("tags", []))
        if caption != self.caption and caption not in self.captions:
            return f"caption {caption!r} instead of {self.caption!r}, or {sorted(self.captions)}"
        if not self.tags <= tags <= self.tags | self.possible_tags:
            return f"tags {sorted(tags)} instead of {sorted(self.tags)}, or {sorted(self.possible_tags)}"
        return True


class Village:
    """Alice, who shares, Bob, who takes part, and what each of them should see."""

    def __init__(self, base):
        self.base = base
        self.random = random.Random(SEED)
        settings = {"deleteDelayMilliseconds": 200, "limits": {
            "massDeletionCount": 100_000, "massDeletionPercent": 100, "zonesMax": 200},
            # So that chains are folded again and again, and what was folded is removed soon.
            "compaction": {"segmentsMin": 4, "segmentsMax": 4, "graceSeconds": 1}}
        self.settings = settings
        container = os.path.join(base, "cloud")
        os.makedirs(container)
        self.alice = Person(base, "alice", container, settings)
        self.bob = Person(base, "bob", container, settings)
        self.kills = 0
        self.number = 0
        self.shares, self.stops = 0, 0
        # What each should see: in Alice's library, and below Bob's folder of a share by its title.
        self.library = {}
        self.titles = {}
        # Every content that was ever closed; nothing else may ever be found.
        self.known = set()
        # Path in Alice's library -> what was said of the photo; commands that have not ended yet, with what they say; and
        # how many said it and ended with 0, were killed or refused, and how many sidecars were written.
        self.words = {}
        self.speaking = []
        self.said = self.unsaid = self.written = 0

    # What people do

    def content(self):
        size = self.random.choices(SIZES, WEIGHTS)[0]
        self.number += 1
        return f"{self.number}:".encode() + self.random.randbytes(size)

    def write(self, root, path, content):
        full = os.path.join(root, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        self.known.add(hashlib.sha256(content).digest())
        if os.path.exists(full):
            # As careful programs do: beside it, then over it.
            aside = os.path.join(os.path.dirname(full), f".tmp-{self.number}")
            with open(aside, "wb") as file:
                file.write(content)
            os.rename(aside, full)
        else:
            with open(full, "wb") as file:
                file.write(content)

    def act(self):
        """One thing that one of the two does. Nobody touches what the other one wrote: no conflicts, one right answer."""
        titles = [title for title, state in self.titles.items() if state == "shared"]
        if not titles:
            person, title = "alice", None
        else:
            person, title = self.random.choice(["alice", "bob"]), self.random.choice(titles)
        if title is None:
            root, prefix, below = self.alice.library, "", "Own/"
        elif person == "alice":
            root, prefix, below = self.alice.library, "", f"{title}/"
        else:
            root, prefix, below = os.path.join(self.bob.shared, "alice", title), f"{title}/", ""
            if not os.path.isdir(root):
                return
        mine = sorted(
            path for path in self.library if path.startswith(prefix + below) and f"/{person}-" in "/" + path)
        choice = self.random.random()
        speaks = len(mine) >= 5 and self.random.random() < 0.4
        if not speaks and (choice < 0.6 or len(mine) < 5):
            path = f"{below}{person}-{self.number}.jpg" if choice < 0.4 else \
                f"{below}day {self.random.randrange(4)}/{person}-{self.number}.jpg"
            content = self.content()
            self.write(root, path, content)
            self.library[prefix + path] = content
            return
        path = self.random.choice(mine)
        local = path[len(prefix):]
        if not os.path.exists(os.path.join(root, local)):
            return  # Not arrived again since a restart; nobody deletes what is not there.
        words = self.words.get(path)
        if speaks:
            self.speak(self.alice if person == "alice" else self.bob, os.path.join(root, local), path)
            return
        if words is not None and not any(word is words for _, word, _, _ in self.speaking):
            if choice < 0.75 and words.is_renamed or 0.75 <= choice < 0.9 and (words.is_edited or words.is_by_hand):
                return
            words.is_edited = words.is_edited or choice < 0.75
            words.is_renamed = words.is_renamed or 0.75 <= choice < 0.9
        elif words is not None:
            return
        if choice < 0.75:
            content = self.content()
            self.write(root, local, content)
            self.library[path] = content
        elif choice < 0.9:
            target = os.path.join(os.path.dirname(local), f"{person}-{self.number}-renamed.jpg")
            self.number += 1
            os.rename(os.path.join(root, local), os.path.join(root, target))
            self.library[prefix + target] = self.library.pop(path)
            if words is not None:
                self.words[prefix + target] = self.words.pop(path)
        else:
            os.remove(os.path.join(root, local))
            del self.library[path]
            self.words.pop(path, None)

    # What people say of their photos

    def speak(self, person, full, path):
        """A caption or a tag, by a command or by the sidecar."""
        words = self.words.setdefault(path, Words(is_by_hand=self.random.random() < 0.3))
        self.number += 1
        if words.is_by_hand:
            self.write_sidecar(full + ".json", f"written {self.number}", words)
            return
        field = self.random.choice(["caption", "tag"])
        text = f"{field} {self.number}"
        arguments = ("caption", full, text) if field == "caption" else ("tag", "add", full, text)
        if field == "caption" and any(word is words and other == field for _, word, other, _ in self.speaking):
            # Which of two captions that are given at once comes last is nobody's to say; tags all stay.
            self.listen()
        process = person.start(*arguments)
        self.speaking.append((process, words, field, text))
        if self.random.random() < 0.5:
            self.listen()

    def write_sidecar(self, path, text, words):
        try:
            with open(path) as file:
                sidecar = json.load(file)
        except FileNotFoundError:
            sidecar = {"format": "shoebox.sidecar/1"}
        sidecar["caption"] = text
        aside = os.path.join(os.path.dirname(path), f".tmp-{self.number}")
        with open(aside, "w") as file:
            json.dump(sidecar, file)
        os.rename(aside, path)
        words.say("caption", text, is_certain=True)
        self.written += 1

    def listen(self):
        """Each command that says something is killed after a moment, or ends; of what ended with 0 nothing may be lost."""
        speaking, self.speaking = self.speaking, []
        for process, words, field, text in speaking:
            if self.random.random() < 0.3:
                self.pause()
                process.kill()
                process.communicate()
                self.count_kill()
            else:
                self.wait(process, field)
            is_certain = process.returncode == 0
            words.say(field, text, is_certain)
            self.said += is_certain
            self.unsaid += not is_certain

    def spoken(self, root, paths):
        """True if the sidecars below `root` say what was said of the photos, else the first that does not."""
        for path, local in paths.items():
            try:
                with open(os.path.join(root, local + ".json")) as file:
                    sidecar = json.load(file)
            except FileNotFoundError:
                sidecar = {}
            if (answer := self.words[path].difference(sidecar)) is not True:
                return f"{local}: {answer}"
        return True

    def check_words(self, what, person, root, prefix, is_seen):
        paths = {path: prefix + path for path in self.words if is_seen(path)}
        wait_for(f"{what}: what was said shows at {person.name}", lambda: self.spoken(root, paths), interval=0.2)

    def is_shared(self, path):
        return self.titles.get(path.split("/")[0]) == "shared"

    # Killing

    def pause(self):
        """A moment that ends anywhere in what goes on: often early, now and then late."""
        time.sleep(self.random.choice([0.02, 0.1, 0.4, 1.0]) * self.random.random())

    def wait(self, process, what):
        """Until a command that nobody kills has ended."""
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Failure(f"'shoebox {what}' did not end in 60 s") from None

    def count_kill(self):
        self.kills += 1
        if self.kills % 50 == 0:
            print(f"  {self.kills} kills, {len(self.library)} files", file=sys.stderr, flush=True)

    def kill_while(self, people, times, act=True):
        """Runs daemons and one-round commands of these people, and kills each after a moment."""
        for _ in range(times):
            person = self.random.choice(people)
            if self.random.random() < 0.6:
                person.start_daemon()
                for _ in range(self.random.randrange(4) if act else 0):
                    self.act()
                self.pause()
                # A command that was first may have kept it from starting.
                person.kill_daemon(may_be_busy=act)
                self.listen()
            else:
                for _ in range(self.random.randrange(3) if act else 0):
                    self.act()
                process = person.start("compact" if self.random.random() < 0.3 else "sync")
                self.pause()
                process.kill()
                process.communicate()
                self.listen()
            self.count_kill()

    def insist(self, person, is_done, *arguments, at_least_once=False):
        """A command that is killed a few times, or whose daemon is, until it is done; once at least, if so asked."""
        for attempt in range(200):
            with_daemon = self.random.random() < 0.5
            if with_daemon:
                person.start_daemon()
            # Some attempts are left alone, so that this ends.
            kills = self.random.random() < (0.8 if attempt < 6 else 0.1) or at_least_once and attempt == 0
            process = person.start(*arguments)
            if kills:
                self.pause()
                if with_daemon:
                    person.kill_daemon(may_be_busy=True)
                process.kill()
                process.communicate()
                self.count_kill()
            else:
                self.wait(process, " ".join(arguments))
                if with_daemon:
                    person.stop_daemon(may_be_busy=True)
            if is_done():
                return
        raise Failure(f"'shoebox {' '.join(arguments)}' was not done after 200 attempts")

    # Checking

    def expected_of_bob(self):
        return {
            f"alice/{path}": content for path, content in self.library.items()
            if self.is_shared(path)
        }

    def heal_and_check(self, what):
        """No more kills: everything must come to what the two people wrote."""
        for person in (self.alice, self.bob):
            person.start_daemon()
        try:
            wait_for(
                f"{what}: alice's library is what was written",
                lambda: difference(self.library, photos(self.alice.library)), interval=0.2)
            wait_for(
                f"{what}: bob sees what is shared with him",
                lambda: difference(self.expected_of_bob(), photos(self.bob.shared)), interval=0.2)
            for person in (self.alice, self.bob):
                wait_for(f"{what}: {person.name} is in sync", person.is_in_sync, interval=0.2)
            self.check_words(what, self.alice, self.alice.library, "", lambda path: True)
            self.check_words(what, self.bob, self.bob.shared, "alice/", self.is_shared)
            for expected, person, root in (
                (self.library, self.alice, self.alice.library), (self.expected_of_bob(), self.bob, self.bob.shared),
                ({}, self.bob, self.bob.library), ({}, self.alice, self.alice.shared),
            ):
                answer = difference(expected, photos(root))
                if answer is not True:
                    raise Failure(f"{what}: {person.name}'s folder changed after being in sync: {answer}")
        finally:
            for person in (self.alice, self.bob):
                person.stop_daemon()
        for person, root in (
            (self.alice, self.alice.library), (self.bob, self.bob.shared),
        ):
            left = os.path.join(root, ".shoebox", "tmp")
            names = os.listdir(left) if os.path.isdir(left) else []
            if names:
                raise Failure(f"{what}: {left} still holds {', '.join(sorted(names)[:5])}")
            self.check_trash(root, what)

    def check_trash(self, root, what):
        """Whatever the trash holds is what somebody wrote, whole."""
        trash = os.path.join(root, ".shoebox", "trash")
        for where, _, names in os.walk(trash):
            for name in names:
                if name.endswith(".json"):
                    continue
                with open(os.path.join(where, name), "rb") as file:
                    if hashlib.sha256(file.read()).digest() not in self.known:
                        raise Failure(f"{what}: {os.path.join(where, name)} holds what nobody wrote")

    # The story

    def share(self):
        """A folder that is there is shared and accepted; files arrive by a first mirror."""
        self.shares += 1
        title = f"Album {self.shares}"
        for _ in range(self.random.randrange(20, 60)):
            path = f"{title}/day {self.random.randrange(4)}/alice-{self.number}.jpg"
            content = self.content()
            self.write(self.alice.library, path, content)
            self.library[path] = content
        self.kill_while([self.alice], 3, act=False)
        self.insist(
            self.alice, lambda: title in self.alice.shares(), "share", "create",
            os.path.join(self.alice.library, title), "--title", title)

        def is_invited():
            rows = self.alice.run("share", "show", title, "--json")
            return '"bob"' in rows

        self.insist(self.alice, is_invited, "share", "invite", title, "bob", "--permission", "readWrite")
        link = self.alice.run("share", "link", title).strip().splitlines()[-1]

        def is_accepted():
            row = self.bob.shares().get(title)
            return row is not None and row.get("state") in (None, "active")

        self.insist(self.bob, is_accepted, "accept", link)
        self.titles[title] = "shared"
        self.kill_while([self.bob], 5, act=False)

    def stop(self):
        """A share ends: the owner keeps everything, the participant's folder goes."""
        title = self.random.choice([title for title, state in self.titles.items() if state == "shared"])
        self.heal_and_check(f"before stopping '{title}'")

        def is_stopped():
            row = self.alice.shares().get(title)
            return row is None or row.get("state") not in (None, "active")

        self.insist(self.alice, is_stopped, "share", "stop", title, "--yes", at_least_once=True)
        self.titles[title] = "stopped"
        self.stops += 1

    def folded(self):
        """How many chains lack their beginning, and how many segments that were published are not there any more."""
        chains, removed = 0, 0
        zones = os.path.join(self.base, "cloud", "zones")
        for zone in os.listdir(zones):
            log = os.path.join(zones, zone, "log")
            for replica in os.listdir(log) if os.path.isdir(log) else []:
                numbers = sorted(
                    int(name.split("-")[0]) for name in os.listdir(os.path.join(log, replica))
                    if not name.startswith("."))
                if numbers and numbers[0] > 1:
                    chains += 1
                    removed += numbers[-1] - len(numbers)
        return chains, removed

    def newcomer(self):
        """Who comes to the shares that are left reads chains that were folded, and is shown what all others are."""
        carol = Person(self.base, "carol", os.path.join(self.base, "cloud"), self.settings)
        if "shared" not in self.titles.values():
            self.share()
        titles = [title for title, state in self.titles.items() if state == "shared"]
        self.alice.start_daemon()
        carol.start_daemon()
        try:
            for title in titles:
                self.alice.run("share", "invite", title, "carol")
                carol.run("accept", self.alice.run("share", "link", title).strip().splitlines()[-1])
            wait_for(
                "carol sees what is shared with her",
                lambda: difference(self.expected_of_bob(), photos(carol.shared)), interval=0.2)
            self.check_words("a newcomer", carol, carol.shared, "alice/", self.is_shared)
        finally:
            self.alice.stop_daemon()
            carol.stop_daemon()
        for person in (self.alice, self.bob, carol):
            code, out, error = person.attempt("verify")
            if code != 0:
                raise Failure(f"{person.name}: 'verify' ended with {code}: {out} {error}")

    def run(self):
        for _ in range(30):
            self.act()
        self.listen()
        self.kill_while([self.alice], 4)
        while self.kills < KILLS:
            if len([title for title, state in self.titles.items() if state == "shared"]) < 2:
                self.share()
            self.kill_while([self.alice, self.bob], min(20, max(1, KILLS - self.kills)))
            self.heal_and_check(f"after {self.kills} kills")
            # However few kills there are, one share ends.
            if self.random.random() < 0.3 or self.stops == 0 and 2 * self.kills >= KILLS:
                self.stop()
                self.heal_and_check(f"after stopping, {self.kills} kills")
        self.newcomer()


def orphans(base):
    """Processes of this run that are still there."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if b"SHOEBOX_CONFIG=" + base.encode() in file.read():
                    with open(f"/proc/{pid}/cmdline", "rb") as line:
                        found.append((int(pid), line.read().replace(b"\0", b" ").decode()))
        except OSError:
            continue
    return found


def main():
    if not os.access(os.path.join(BIN, "shoebox"), os.X_OK):
        print(f"shoebox: there is no {BIN}/shoebox; run 'make build'", file=sys.stderr)
        return 1
    base = tempfile.mkdtemp(prefix="shoebox-kills-")
    print(f"{KILLS} kills, SEED={SEED}, in {base}", file=sys.stderr)
    village = Village(base)
    started = time.monotonic()
    try:
        village.run()
        wait_for("no process is left behind", lambda: orphans(base) == [] or orphans(base), seconds=10)
    except Failure as failure:
        for person in (village.alice, village.bob):
            if person.daemon is not None and person.daemon.poll() is None:
                person.daemon.kill()
        print(f"shoebox: after {village.kills} kills (SEED={SEED}): {failure}\nhint: all of it is still in {base}",
              file=sys.stderr)
        return 1
    chains, removed = village.folded()
    print(f"{village.kills} kills, {len(village.known)} contents, {village.said} captions and tags by commands and {village.unsaid} "
          f"cut off, {village.written} by sidecars, {village.shares} shares, {village.stops} stopped, {chains} chains folded by "
          f"{removed} segments: every byte and word is where it belongs ({time.monotonic() - started:.0f} s, SEED={SEED})")
    shutil.rmtree(base)
    return 0


if __name__ == "__main__":
    sys.exit(main())
