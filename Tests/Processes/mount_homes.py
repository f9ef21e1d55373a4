"""People whose own folders are on the mount."""

import time

from mount_story import Story


class Homes(Story):
    """Alice's library is behind client A and Bob's received folders are behind client B; their state is on this machine."""

    CLOUD, HOMES = "cloud of homes", "homes"

    def write_in_place(self):
        """A photo that is written slowly is published once it is closed, whole, and one that somebody has open for writing is
        not replaced meanwhile, though the mount may grant no leases."""
        first, second = self.content(200_000), self.content(300_000)
        name = "written slowly.jpg"
        with open(self.mine(name), "wb") as file:
            for start in range(0, len(first), 50_000):
                file.write(first[start:start + 50_000])
                file.flush()
                time.sleep(0.5)
        self.expected[name] = first
        self.check("a photo was written slowly")
        with open(self.his(name), "r+b") as file:
            file.write(second[:100_000])
            file.flush()
            time.sleep(1)
            file.write(second[100_000:])
        self.expected[name] = second
        self.check("a photo was overwritten slowly")

    def kill(self):
        """Both write over the photos of the other, and their daemons are killed at random moments meanwhile."""
        names = [f"to overwrite {number}.jpg" for number in range(4)]
        for name in names:
            self.put(self.alice, name)
        self.check("photos to overwrite")
        for turn in range(8):
            writer, reader = self.people[turn % 2], self.people[1 - turn % 2]
            for name in names:
                self.put(writer, name)
            time.sleep(self.random.uniform(0.2, 2.5))
            reader.kill_daemon()
            time.sleep(self.random.uniform(0, 0.5))
            reader.start_daemon()
            self.check(f"{reader.name}'s daemon was killed while photos were replaced")

    def lose_homes(self):
        """The server with all folders dies and comes back: what nobody could see meanwhile is not taken for deleted."""
        self.mount.call("server-down")
        time.sleep(15)
        self.mount.start_server()
        self.check("the server with all folders was killed and restarted", 240)
        self.put(self.alice, "from alice after the server.jpg")
        self.put(self.bob, "from bob after the server.jpg")
        self.check("photos after the server was killed and restarted", 240)
