// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
// What Swift can't call, or can't call safely: Linux system calls with variable arguments, new flags, or raw records.
//
// Every function that can fail returns a negative errno, never -1, so that nothing depends on when errno is read.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// What a directory entry is.
enum shoebox_kind { SHOEBOX_FILE = 0, SHOEBOX_DIRECTORY = 1, SHOEBOX_LINK = 2, SHOEBOX_OTHER = 3 };

// What statx says of one file. Times are nanoseconds since 1970, clamped to what fits; birth is 0 where none is kept.
struct shoebox_stat {
    uint64_t size;
    uint64_t inode;
    uint64_t device;
    int64_t modified;
    int64_t birth;
    uint32_t owner;
    uint16_t mode;
    uint8_t kind;
};

// Which mount an open file lies on, into `mount`: differs between a directory and its parent where something is mounted, also
// where that is another directory of the same device. The device where the kernel (before 5.8) doesn't say.
int shoebox_mount_of(int file, uint64_t *mount);

// One entry of a listing; the name is `name_length` bytes at `name_offset` of the listing's names.
struct shoebox_entry {
    struct shoebox_stat stat;
    size_t name_offset;
    uint16_t name_length;
};

// A whole directory. Free it with `shoebox_listing_free`.
struct shoebox_listing {
    struct shoebox_entry *entries;
    size_t count;
    size_t capacity;
    uint8_t *names;
    size_t names_length;
    size_t names_capacity;
};

// Opens a directory by an absolute path; symbolic links on the way to a root are its owner's wish and are followed.
int shoebox_open_root(const char *path);

// Opens `path` (relative, "" or "." for the root itself) below the directory `root`: no component may be a symbolic
// link, none may lead out. Uses openat2, and goes component by component where the kernel has none.
int shoebox_open_beneath(int root, const char *path, int flags, uint32_t mode);

// As `shoebox_open_beneath`, always component by component; for paths beyond PATH_MAX and for tests.
int shoebox_open_by_component(int root, const char *path, int flags, uint32_t mode);

// The stat of `name` in `directory`, of the directory's descriptor itself for "". Links are not followed.
int shoebox_stat_at(int directory, const char *name, struct shoebox_stat *result);

// Lists an open directory from its start, without "." and "..". With `with_stat` 0 only kind (if known) and name are
// set. Entries that vanish meanwhile are left out; any other failure fails the whole listing.
int shoebox_list(int directory, int with_stat, struct shoebox_listing *result);
void shoebox_listing_free(struct shoebox_listing *listing);

// Puts the entries in the order of their names' bytes, and drops all but one of those with one name.
void shoebox_listing_sort(struct shoebox_listing *listing);

// Flags of `shoebox_rename`.
enum shoebox_rename_mode { SHOEBOX_RENAME_NEW = 0, SHOEBOX_RENAME_REPLACE = 1, SHOEBOX_RENAME_EXCHANGE = 2 };

// Renames between two open directories. `SHOEBOX_RENAME_NEW` and `_EXCHANGE` give -EINVAL or -ENOSYS where the file
// system can't do it in one step.
int shoebox_rename(int from, const char *source, int to, const char *target, enum shoebox_rename_mode mode);

// Sets a file's modification time and leaves its access time.
int shoebox_set_modified(int file, int64_t nanoseconds);
int shoebox_set_modified_at(int directory, const char *name, int64_t nanoseconds);

// 1 if another process has the file open for writing, 0 if not or if it can't be told. `file` must be open read-only.
int shoebox_has_writer(int file);

// 0 or -errno.
int shoebox_syncfs(int file);

// Lets the kernel begin to write a range of a file to the disk, without waiting for it; a hint.
void shoebox_start_writing(int file, uint64_t offset, uint64_t count);

/// Waits until a range of a file is on the disk, and lets go of the memory that held it. A hint, as above.
void shoebox_finish_writing(int file, uint64_t offset, uint64_t count);

/// Lets the kernel begin to read a range. A hint.
void shoebox_start_reading(int file, uint64_t offset, uint64_t count);

/// Lets the kernel let go of the memory that holds a range, but for what is not on the disk yet. A hint.
void shoebox_forget_cached(int file, uint64_t offset, uint64_t count);

// Buffers of up to 16 MiB are reused from now on. Without this the allocator gives each large one back to the kernel,
// which clears a fresh page for every 4 KiB of the next one.
void shoebox_keep_freed_memory(void);
// Gives what is free now back to the kernel.
void shoebox_give_back_memory(void);

// The file system's type number as statfs gives it; 0 when it can't be told.
uint64_t shoebox_file_system_type(int file);

// Bytes free for an unprivileged user.
int shoebox_free_bytes(int file, uint64_t *result);

// Starts `path` with one argument, or none for NULL. Its standard input is a socket whose other end goes to `input`, its
// standard output a pipe whose other end goes to `output`, standard error is inherited, and no other descriptor is.
int shoebox_spawn(const char *path, const char *argument, int *input, int *output, pid_t *process);

// Sends all bytes to a socket without SIGPIPE.
int shoebox_send(int socket, const void *bytes, size_t count);

// Watches the directory that is open as `directory` through /proc/self/fd; the watch descriptor or -errno.
int shoebox_watch(int inotify, int directory, uint32_t mask);

// The newest inotify descriptor of this process, set to close on exec and not to block; -ENOENT if there is none.
int shoebox_find_inotify(void);
