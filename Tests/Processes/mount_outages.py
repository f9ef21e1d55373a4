"""Servers that die, hang and come back, and a brick of several that dies."""

import os
import time

from mount_story import Story, put
from people import Failure, Person, wait_for


class Outages(Story):
    """What happens to the server while both people go on."""

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
        self.mount.start_server()
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
