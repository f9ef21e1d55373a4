"""Two people on a mount, each behind a client of its own, what they do, and what they must see."""

import json
import os
import random
import time

from people import Failure, Person, difference, photos, wait_for

PROBES = int(os.environ.get("PROBES", "7"))


def put(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(content)


class Story:
    """Alice behind client A, Bob behind client B."""

    # Where the container is in the mount, and their own folders, if those are not on this machine's disk.
    CLOUD, HOMES = "cloud", None

    def __init__(self, mount, base):
        self.mount, self.base = mount, base
        self.random = random.Random(11)
        # What Alice has in the folder of each album, which of them Bob sees, and the contents that must be in his own library,
        # whatever their names, and those that may be there.
        self.expected = {}
        self.albums = {"Summer": self.expected}
        self.shown = {"Summer"}
        self.kept, self.spare = set(), set()
        self.latencies = []
        # Each step's name and how long it took.
        self.seconds = []
        self.others = 0
        self.findings = []

    def set_up(self):
        clients = [os.path.join(self.mount.directory, client) for client in ("A", "B")]
        settings = {"deleteDelayMilliseconds": 500}
        cloud = os.path.join(clients[0], self.CLOUD)
        os.makedirs(cloud, exist_ok=True)
        self.alice = Person(self.base, "alice", cloud, settings, self.home(clients[0], "alice"))
        other = os.path.join(clients[1], self.CLOUD)
        wait_for("the container shows at the other client", lambda: os.path.exists(
            os.path.join(other, "container.json")), 120, 0.5)
        self.bob = Person(self.base, "bob", other, settings, self.home(clients[1], "bob"))
        self.people = [self.alice, self.bob]

    def home(self, client, name):
        return self.HOMES and os.path.join(client, self.HOMES, name)

    def start(self):
        for person in self.people:
            person.start_daemon()

    def check(self, what, seconds=180):
        """Both see what they must, and nothing else, come to rest, and see it still."""
        def below(albums):
            return {f"{album}/{name}": content for album in albums for name, content in self.albums[album].items()}

        def own():
            found = photos(self.bob.library)
            if missing := self.kept - set(found.values()):
                return f"{len(missing)} of what he wrote is not there"
            extra = [path for path in found if found[path] not in self.kept | self.spare]
            return f"not expected: {', '.join(sorted(extra))}" if extra else True

        folders = (
            ("Alice's folder", lambda: difference(below(self.albums), photos(self.alice.library))),
            ("Bob's folder", lambda: difference(
                {f"alice/{path}": content for path, content in below(self.shown).items()}, photos(self.bob.shared))),
            ("Bob's own library", own),
        )
        for folder, answer in folders:
            wait_for(f"{what}: {folder}", answer, seconds, 0.1)
        for person in self.people:
            wait_for(f"{what}: {person.name} is in sync", person.is_in_sync, seconds, 0.5)
        for folder, answer in folders:
            if (said := answer()) is not True:
                raise Failure(f"{what}: {folder} changed after being in sync: {said}")

    def mine(self, name, album="Summer"):
        """Where Alice has a photo."""
        return os.path.join(self.alice.library, album, name)

    def his(self, name, album="Summer"):
        """Where Bob has it."""
        return os.path.join(self.bob.shared, "alice", album, name)

    def place(self, person, name, album="Summer"):
        return self.mine(name, album) if person is self.alice else self.his(name, album)

    def content(self, size=None):
        return self.random.randbytes(size or self.random.choice([300, 40_000, 900_000, 3_000_000]))

    def put(self, person, name, size=None, album="Summer"):
        content = self.content(size)
        self.albums[album][name] = content
        put(self.place(person, name, album), content)
        return content

    def invite(self, album):
        """Bob is invited, accepts, and the link that he was sent."""
        wait_for("Alice can invite Bob", lambda: self.alice.attempt(
            "share", "invite", album, "bob", "--permission", "readWrite")[0] == 0, 180, 1)
        link = self.alice.run("share", "link", album).strip().splitlines()[-1]
        wait_for("Bob can accept", lambda: self.bob.attempt("accept", link)[0] == 0, 180, 1)
        return link

    def share(self):
        for number in range(20):
            self.put(self.alice, f"day {number % 3}/{number}.jpg")
        self.start()
        wait_for("Alice's photos are taken", self.alice.is_in_sync, 180, 0.3)
        self.alice.run("share", "create", os.path.join(self.alice.library, "Summer"), "--title", "Summer")
        self.invite("Summer")
        self.check("the first mirror")

    def exchange(self):
        for number in range(5):
            self.put(self.alice, f"from alice {number}.jpg")
            self.put(self.bob, f"from bob {number}.jpg")
        self.check("photos both ways")
        self.put(self.bob, "from alice 0.jpg")
        self.expected["renamed.jpg"] = self.expected.pop("from bob 1.jpg")
        os.rename(self.mine("from bob 1.jpg"), self.mine("renamed.jpg"))
        del self.expected["from bob 2.jpg"]
        os.remove(self.his("from bob 2.jpg"))
        self.check("an edit, a rename and a deletion")

    def sidecar(self, path):
        """What the JSON file beside a photo says; nothing if there is none, or it is just being written."""
        try:
            with open(path + ".json") as file:
                return json.load(file)
        except (OSError, ValueError):
            return {}

    def tag(self):
        def has(path, word):
            return word in self.sidecar(path).get("tags", [])

        mine, his = self.mine("renamed.jpg"), self.his("renamed.jpg")
        self.bob.run("tag", "add", his, "swim")
        wait_for("Bob's tag is beside Alice's photo", lambda: has(mine, "swim"), 180, 0.2)
        self.alice.run("tag", "add", mine, "favourite")
        wait_for("Alice's tag is beside Bob's photo", lambda: has(his, "favourite"), 180, 0.2)

    def measure(self):
        """From the close of a photo at one until it is whole at the other, milliseconds."""
        for number in range(PROBES):
            time.sleep(self.random.uniform(0.3, 1.5))
            writer = self.people[number % 2]
            name = f"probe {number}.jpg"
            reader = self.people[1 - number % 2]
            content = self.put(writer, name, 100_000)
            start = time.monotonic()

            def is_whole():
                try:
                    with open(self.place(reader, name), "rb") as file:
                        return file.read() == content
                except OSError:
                    return False

            wait_for(f"{name} is at the other", is_whole, 120, 0.005)
            self.latencies.append((time.monotonic() - start) * 1000)
        self.check("the probes")

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
