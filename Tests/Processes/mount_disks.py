"""Other disks where people's folders are: over them, within them, mounted late, and full."""

import os
import subprocess
import time

from mount_story import Story, put
from people import Failure, difference, photos, wait_for


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


class Disks(Story):
    """What happens to the disks that the two people's own folders are on."""

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
        his = {f"alice/{album}/{name}": content for album in self.shown for name, content in self.albums[album].items()}
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
