"""What two people do to each other: edits that cross, what is taken back, and permissions that come and go."""

import datetime
import hashlib
import json
import os
import re
import time

from mount_story import Story, put
from people import Failure, difference, photos, wait_for


def wording(content):
    """How a content is named in lists."""
    return f"{len(content)} bytes, SHA-256 {hashlib.sha256(content).hexdigest()}"


def holds(directory, content):
    """Where below a directory, its trash and what is hidden included, a file has just this content; else nothing."""
    for where, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(where, name)
            try:
                if os.path.getsize(path) == len(content):
                    with open(path, "rb") as file:
                        if file.read() == content:
                            return path
            except OSError:
                continue
    return None


class Disputes(Story):
    """Conflicts, undo, the trash, and who may do what."""

    def catch_up(self, person, what):
        """Waits until somebody has read all that was in the container before now."""
        now = time.time()

        def has_read():
            as_of = person.status()["asOf"]
            return as_of is not None and datetime.datetime.fromisoformat(as_of.replace("Z", "+00:00")).timestamp() > now

        wait_for(f"{what}: {person.name} looks at the container again", has_read, 180, 0.2)

    def check_is_not_at(self, person, content, what):
        if (path := holds(person.base, content)) is not None:
            raise Failure(f"{what}: it is in {path}")

    # Edits that cross

    def conflicts(self, person):
        """(photo's name, field) -> what `conflicts` says, without times of change."""
        rows = json.loads(person.run("conflicts", "--json"))["conflicts"]
        return {
            (os.path.basename(row["path"]), row["field"]): row for row in rows if row["field"] != "modified"}

    def cross(self):
        """Both edit one photo, and the words of another, while neither sees what the other does: both contents are there
        afterwards, on both sides; one caption shows, the other is kept; and both are told the same of it."""
        for name in ("argued.jpg", "worded.jpg"):
            self.put(self.alice, name, 40_000)
        self.check("photos to argue about")
        for person in self.people:
            person.stop_daemon(60)
        edits = {}
        for person, size in ((self.alice, 50_000), (self.bob, 60_000)):
            edits[person.name] = self.content(size)
            put(self.place(person, "argued.jpg"), edits[person.name])
            put(self.place(person, "worded.jpg.json"), json.dumps(
                {"format": "shoebox.sidecar/1", "caption": f"as {person.name} sees it"}).encode())
        self.start()
        del self.expected["argued.jpg"]

        def show_both():
            trees = [photos(self.mine("")), photos(self.his(""))]
            for tree in trees:
                news = {name: tree[name] for name in tree if name not in self.expected}
                if sorted(news.values()) != sorted(edits.values()):
                    return f"{', '.join(sorted(news))} instead of the photo and its conflict copy"
            return difference(*trees)

        wait_for("both contents are on both sides", show_both, 180, 0.2)
        found = photos(self.mine(""))
        news = {name: found[name] for name in found if name not in self.expected}
        loser = next((person for person in self.people if news.get("argued.jpg") not in (None, edits[person.name])), None)
        if loser is None or not all(
            name == "argued.jpg" or re.fullmatch(rf"argued \(conflict {loser.name} \d{{4}}-\d\d-\d\d\)\.jpg", name)
            for name in news
        ):
            raise Failure(f"a photo that both edited became {', '.join(sorted(news))}")
        self.expected.update(news)
        self.check("both edited one photo")
        self.decide(loser, news["argued.jpg"], edits[loser.name])

    def decide(self, loser, shown, other):
        told = [self.conflicts(person) for person in self.people]
        for rows in told:
            content, caption = rows.get(("argued.jpg", "content")), rows.get(("worded.jpg", "caption"))
            if len(rows) != 2 or content is None or caption is None or (
                content["shown"], content["other"], content["author"]) != (wording(shown), wording(other), loser.name
            ) or {caption["shown"], caption["other"]} != {f"as {person.name} sees it" for person in self.people}:
                raise Failure(f"of an argued photo and caption 'conflicts' says {list(rows.values())}")
        captions = [rows["worded.jpg", "caption"] for rows in told]
        if captions[0]["shown"] != captions[1]["shown"]:
            raise Failure("both are shown another caption")
        for person in self.people:
            text = person.run("conflicts")
            if not all(word in text for word in ("argued.jpg", "worded.jpg", wording(other), captions[0]["other"])):
                raise Failure(f"{person.name}'s 'conflicts' says {text}")
        self.bob.run("conflicts", "choose", self.his("worded.jpg"), "caption", "--keep", str(captions[1]["number"]))
        self.alice.run("conflicts", "choose", self.mine("argued.jpg"), "content", "--keep", "shown")
        for person in self.people:
            wait_for(f"the caption that was chosen is beside {person.name}'s photo", lambda: self.sidecar(
                self.place(person, "worded.jpg")).get("caption") == captions[1]["other"], 180, 0.2)
            wait_for(f"{person.name} is told of no conflict any more", lambda: not self.conflicts(person), 180, 0.3)
        self.check("the conflicts were decided")

    # Taking back

    def undo(self):
        """Alice takes an edit of Bob's back, as a transaction of her history."""
        name = "from alice 3.jpg"
        before = self.expected[name]
        token = json.loads(self.alice.run("history", "--json"))["token"]
        self.put(self.bob, name, 70_000)
        self.check("an edit to be taken back")
        transactions = json.loads(self.alice.run("history", "--since", str(token), "--json"))["transactions"]
        edits = [
            one["token"] for one in transactions for change in one["changes"]
            if os.path.basename(change["subject"]) == name and "content" in change["fields"] and change["account"] == "bob"]
        if len(edits) != 1:
            raise Failure(f"one edit of {name} is {len(edits)} in the history: {transactions}")
        self.alice.run("undo", str(edits[0]))
        self.expected[name] = before
        self.check("an edit was taken back")

    def restore(self):
        """What Bob deleted Alice brings back from her trash, for both, with its tags."""
        name = "renamed.jpg"
        content = self.expected.pop(name)
        os.remove(self.his(name))
        self.check("a deletion to be taken back")
        entries = json.loads(self.alice.run("trash", "list", "--json"))["entries"]
        if not any(entry["path"] == f"library/Summer/{name}" and entry["size"] == len(content) for entry in entries):
            raise Failure(f"what Bob deleted is not in Alice's trash: {entries}")
        self.alice.run("trash", "restore", self.mine(name))
        self.expected[name] = content
        self.check("a deletion was taken back")
        for path in (self.mine(name), self.his(name)):
            wait_for(f"the tags are beside {path}", lambda: sorted(
                self.sidecar(path).get("tags", [])) == ["favourite", "swim"], 180, 0.2)

    # Permissions

    def wait_for_permission(self, permission):
        def has_it():
            rows = [row for row in self.bob.status()["shares"] if row["title"] == "Summer"]
            return [row["permission"] for row in rows] == [permission]

        wait_for(f"Bob has {permission}", has_it, 180, 0.2)

    def share_more(self):
        """Two more shares, with photos of both."""
        for album in ("Autumn", "Winter"):
            self.albums[album] = {}
            for number in range(3):
                self.put(self.alice, f"{number}.jpg", 30_000 + number, album)
        wait_for("Alice's photos are taken", self.alice.is_in_sync, 180, 0.2)
        for album in ("Autumn", "Winter"):
            self.alice.run("share", "create", os.path.join(self.alice.library, album), "--title", album)
        self.links = {album: self.invite(album) for album in ("Autumn", "Winter")}
        self.shown |= {"Autumn", "Winter"}
        self.check("two more shares")
        for album in ("Autumn", "Winter"):
            # He cannot know that she has it until she writes something after it; so he may get a copy when the share ends.
            self.spare.add(self.put(self.bob, "by bob.jpg", 31_000, album))
        self.check("photos of Bob's in them")

    def take_away(self):
        """While Bob is away, and edits in all three, he may only read one share any more, is removed from the second, and the
        third is stopped. Alice gets none of his edits, he keeps them all; what he has not to see any more goes, and all that
        he had put there is with Alice."""
        edits = {
            ("Summer", "from alice 1.jpg"): self.content(41_000), ("Autumn", "1.jpg"): self.content(42_000),
            ("Autumn", "too late.jpg"): self.content(43_000), ("Winter", "2.jpg"): self.content(44_000),
            ("Winter", "unsent.jpg"): self.content(45_000)}
        self.bob.stop_daemon(60)
        for (album, name), content in edits.items():
            put(self.his(name, album), content)
        self.alice.run("share", "permission", "Summer", "bob", "readOnly")
        self.alice.run("share", "uninvite", "Autumn", "bob")
        self.alice.run("share", "stop", "Winter", "--yes")
        self.refused = list(edits.values())
        self.secrets = [self.put(self.alice, "after.jpg", 46_000, "Autumn")]
        wait_for("Alice is in sync", self.alice.is_in_sync, 180, 0.2)
        self.bob.start_daemon()
        self.shown = {"Summer"}
        self.kept |= set(edits.values())
        self.wait_for_permission("readOnly")
        self.check("Bob may read one share only, was removed from the second, and the third was stopped")

    def insist(self):
        """Now he knows, and edits where he may only read, adds a photo, and opens the link of the share from which he was
        removed; Alice goes on there. Neither gets what is not theirs, however often they look."""
        edit, added = self.content(47_000), self.content(48_000)
        self.refused += [edit, added]
        os.chmod(self.his("from alice 4.jpg"), 0o644)
        put(self.his("from alice 4.jpg"), edit)
        self.kept.add(edit)
        self.secrets.append(self.put(self.alice, "later.jpg", 49_000, "Autumn"))
        self.check("an edit by one who may only read")
        put(self.his("added by bob.jpg"), added)
        wait_for("Bob is told that what he added stays with him", lambda: any(
            problem["code"] == "readOnly" and problem["path"].endswith("/added by bob.jpg")
            for problem in self.bob.status()["problems"]), 60, 0.2)
        code, out, error = self.bob.attempt("accept", self.links["Autumn"])
        if code != 12:
            raise Failure(f"who was removed opens the link again, with {code}: {out.strip()} {error.strip()}")
        for person in self.people:
            self.catch_up(person, "after permissions were taken away")
        for content in self.secrets:
            self.check_is_not_at(self.bob, content, "Bob has what Alice added after his removal")
        for content in self.refused:
            self.check_is_not_at(self.alice, content, "Alice has what Bob was not permitted to write")
        self.expected["added by bob.jpg"] = added

    def give_back(self):
        """He may write again, and is invited again: what he added is with Alice, and all that she did is with him."""
        self.alice.run("share", "permission", "Summer", "bob", "readWrite")
        self.invite("Autumn")
        self.shown.add("Autumn")
        self.wait_for_permission("readWrite")
        self.check("the permission to write is back, and Bob was invited again")
        self.put(self.bob, "from alice 4.jpg", 50_000)
        self.spare.add(self.put(self.bob, "again by bob.jpg", 51_000, "Autumn"))
        self.check("an edit and a photo by one who may write again")

    def leave(self):
        """Bob leaves: the photos stay with Alice, and go from his folder."""
        for album in sorted(self.shown):
            self.bob.run("share", "leave", album, "--yes")
        self.shown = set()
        self.check("Bob left")
        content = self.put(self.alice, "after bob left.jpg", 38_000)
        self.check("Alice goes on alone")
        self.catch_up(self.bob, "after he left")
        self.check_is_not_at(self.bob, content, "Bob has what Alice added after he left")

    def disputes(self):
        """All of it, as steps; but for leaving, which is the end."""
        return self.cross, self.undo, self.restore, self.share_more, self.take_away, self.insist, self.give_back
