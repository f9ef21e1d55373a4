// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
#define _GNU_SOURCE
#include "CFileSystem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int shoebox_open_root(const char *path) {
    int file = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return file < 0 ? -errno : file;
}

int shoebox_open_by_component(int root, const char *path, int flags, uint32_t mode) {
    int directory = root;
    const char *rest = path;
    while (*rest == '/') return -EXDEV;
    if (*rest == 0) rest = ".";
    for (;;) {
        const char *slash = strchr(rest, '/');
        size_t length = slash ? (size_t)(slash - rest) : strlen(rest);
        char name[NAME_MAX + 1];
        int next;
        if (length == 0 || length > NAME_MAX) next = -ENAMETOOLONG;
        else if (length == 2 && rest[0] == '.' && rest[1] == '.') next = -EXDEV;
        else {
            memcpy(name, rest, length);
            name[length] = 0;
            next = slash ? openat(directory, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
                         : openat(directory, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
            if (next < 0) next = -errno;
        }
        if (directory != root) close(directory);
        if (next < 0 || !slash) return next;
        directory = next;
        rest = slash + 1;
    }
}

int shoebox_open_beneath(int root, const char *path, int flags, uint32_t mode) {
    if (strlen(path) >= PATH_MAX) return shoebox_open_by_component(root, path, flags, mode);
    struct open_how how;
    memset(&how, 0, sizeof how);
    how.flags = (uint64_t)(unsigned)(flags | O_NOFOLLOW | O_CLOEXEC);
    how.mode = (flags & O_CREAT) ? mode : 0;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
    for (int attempt = 0; attempt < 16; attempt++) {
        long file = syscall(SYS_openat2, root, *path ? path : ".", &how, sizeof how);
        if (file >= 0) return (int)file;
        if (errno == ENOSYS || errno == EPERM) return shoebox_open_by_component(root, path, flags, mode);
        if (errno != EAGAIN && errno != EINTR) return -errno;
    }
    return -EAGAIN;
}

static int64_t nanoseconds(const struct statx_timestamp *time) {
    int64_t result;
    if (__builtin_mul_overflow(time->tv_sec, (int64_t)1000000000, &result)
        || __builtin_add_overflow(result, (int64_t)time->tv_nsec, &result))
        return time->tv_sec < 0 ? INT64_MIN : INT64_MAX;
    return result;
}

static int fill(int directory, const char *name, struct shoebox_stat *result) {
    struct statx raw;
    int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | (*name ? 0 : AT_EMPTY_PATH);
    if (statx(directory, name, flags, STATX_BASIC_STATS | STATX_BTIME, &raw) != 0) return -errno;
    result->size = raw.stx_size;
    result->inode = raw.stx_ino;
    result->device = ((uint64_t)raw.stx_dev_major << 32) | raw.stx_dev_minor;
    result->modified = nanoseconds(&raw.stx_mtime);
    result->birth = (raw.stx_mask & STATX_BTIME) ? nanoseconds(&raw.stx_btime) : 0;
    result->owner = raw.stx_uid;
    result->mode = raw.stx_mode & 07777;
    result->kind = S_ISREG(raw.stx_mode) ? SHOEBOX_FILE
        : S_ISDIR(raw.stx_mode)          ? SHOEBOX_DIRECTORY
        : S_ISLNK(raw.stx_mode)          ? SHOEBOX_LINK
                                         : SHOEBOX_OTHER;
    return 0;
}

int shoebox_mount_of(int file, uint64_t *mount) {
    // Older headers have names neither for the flag nor for the field, which follows the device's numbers.
    static const unsigned mount_id = 0x1000;
    struct statx raw;
    if (statx(file, "", AT_EMPTY_PATH, STATX_BASIC_STATS | mount_id, &raw) != 0) return -errno;
    if (raw.stx_mask & mount_id)
        memcpy(mount, (const char *)&raw.stx_dev_minor + sizeof raw.stx_dev_minor, sizeof *mount);
    else
        *mount = ((uint64_t)raw.stx_dev_major << 32) | raw.stx_dev_minor;
    return 0;
}

int shoebox_stat_at(int directory, const char *name, struct shoebox_stat *result) {
    return fill(directory, name, result);
}

struct directory_record {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
};

static int grow(void **memory, size_t *capacity, size_t needed, size_t element) {
    if (needed <= *capacity) return 0;
    size_t next = *capacity ? *capacity * 2 : 64;
    while (next < needed) next *= 2;
    void *larger = realloc(*memory, next * element);
    if (!larger) return -ENOMEM;
    *memory = larger;
    *capacity = next;
    return 0;
}

int shoebox_list(int directory, int with_stat, struct shoebox_listing *result) {
    memset(result, 0, sizeof *result);
    size_t size = 65536;
    char *buffer = malloc(size);
    if (!buffer) return -ENOMEM;
    int error = 0;
    if (lseek(directory, 0, SEEK_SET) < 0) error = -errno;
    while (!error) {
        long got = syscall(SYS_getdents64, directory, buffer, size);
        if (got < 0) {
            if (errno == EINTR) continue;
            error = -errno;
        }
        if (got <= 0) break;
        for (long at = 0; at < got && !error;) {
            struct directory_record *record = (struct directory_record *)(buffer + at);
            at += record->length;
            size_t length = strnlen(record->name, NAME_MAX + 1);
            if (length == 0 || length > NAME_MAX) continue;
            if (record->name[0] == '.' && (length == 1 || (length == 2 && record->name[1] == '.'))) continue;
            struct shoebox_entry entry;
            memset(&entry, 0, sizeof entry);
            int known = record->type != DT_UNKNOWN;
            if (with_stat || !known) {
                int failed = fill(directory, record->name, &entry.stat);
                if (failed == -ENOENT) continue;
                if (failed) { error = failed; break; }
            } else {
                entry.stat.inode = record->inode;
                entry.stat.kind = record->type == DT_REG ? SHOEBOX_FILE
                    : record->type == DT_DIR             ? SHOEBOX_DIRECTORY
                    : record->type == DT_LNK             ? SHOEBOX_LINK
                                                         : SHOEBOX_OTHER;
            }
            if ((error = grow((void **)&result->entries, &result->capacity, result->count + 1, sizeof entry))) break;
            if ((error = grow((void **)&result->names, &result->names_capacity, result->names_length + length, 1))) break;
            entry.name_offset = result->names_length;
            entry.name_length = (uint16_t)length;
            memcpy(result->names + result->names_length, record->name, length);
            result->names_length += length;
            result->entries[result->count++] = entry;
        }
    }
    free(buffer);
    if (error) shoebox_listing_free(result);
    return error;
}

void shoebox_listing_free(struct shoebox_listing *listing) {
    free(listing->entries);
    free(listing->names);
    memset(listing, 0, sizeof *listing);
}

static int by_name(const void *left, const void *right, void *names) {
    const struct shoebox_entry *a = left, *b = right;
    size_t common = a->name_length < b->name_length ? a->name_length : b->name_length;
    int order = memcmp((uint8_t *)names + a->name_offset, (uint8_t *)names + b->name_offset, common);
    return order ? order : (int)a->name_length - (int)b->name_length;
}

void shoebox_listing_sort(struct shoebox_listing *listing) {
    if (listing->count < 2) return;
    qsort_r(listing->entries, listing->count, sizeof *listing->entries, by_name, listing->names);
    size_t kept = 1;
    for (size_t next = 1; next < listing->count; next++)
        if (by_name(&listing->entries[kept - 1], &listing->entries[next], listing->names))
            listing->entries[kept++] = listing->entries[next];
    listing->count = kept;
}

int shoebox_rename(int from, const char *source, int to, const char *target, enum shoebox_rename_mode mode) {
    unsigned flags = mode == SHOEBOX_RENAME_NEW ? 1u : mode == SHOEBOX_RENAME_EXCHANGE ? 2u : 0u;
    if (!flags) return renameat(from, source, to, target) ? -errno : 0;
    return syscall(SYS_renameat2, from, source, to, target, flags) ? -errno : 0;
}

static void modified_times(int64_t value, struct timespec times[2]) {
    times[0].tv_sec = 0;
    times[0].tv_nsec = UTIME_OMIT;
    int64_t seconds = value / 1000000000, rest = value % 1000000000;
    if (rest < 0) { rest += 1000000000; seconds -= 1; }
    times[1].tv_sec = seconds;
    times[1].tv_nsec = rest;
}

int shoebox_set_modified(int file, int64_t value) {
    struct timespec times[2];
    modified_times(value, times);
    return futimens(file, times) ? -errno : 0;
}

int shoebox_set_modified_at(int directory, const char *name, int64_t value) {
    struct timespec times[2];
    modified_times(value, times);
    return utimensat(directory, name, times, AT_SYMLINK_NOFOLLOW) ? -errno : 0;
}

// Where the file system asks its server for a lease, it says EAGAIN when that gives none, whoever has the file open: nfs4_setlease
// without a delegation, cifs_setlease without an oplock.
static int leases_are_of_kernel(int file) {
    switch (shoebox_file_system_type(file)) {
    case 0x6969:      // NFS
    case 0x517b:      // SMB
    case 0xff534d42:  // CIFS
    case 0xfe534d42:  // SMB2
    case 0x01021997:  // 9p
    case 0x00c36400:  // Ceph
    case 0x5346414f:  // AFS
        return 0;
    default: return 1;
    }
}

int shoebox_has_writer(int file) {
    if (!leases_are_of_kernel(file)) return 0;
    // A writer that opens the file while the lease is held makes the kernel signal us; SIGIO would end the process,
    // SIGURG is ignored unless somebody asked for it.
    if (fcntl(file, F_SETSIG, SIGURG) != 0) return 0;
    if (fcntl(file, F_SETLEASE, F_RDLCK) == 0) {
        fcntl(file, F_SETLEASE, F_UNLCK);
        return 0;
    }
    return errno == EAGAIN || errno == EBUSY;
}

int shoebox_syncfs(int file) { return syncfs(file) ? -errno : 0; }

void shoebox_start_writing(int file, uint64_t offset, uint64_t count) {
    // Only a hint: what fails here fails again where it counts.
    (void)sync_file_range(file, (off64_t)offset, (off64_t)count, SYNC_FILE_RANGE_WRITE);
}

void shoebox_finish_writing(int file, uint64_t offset, uint64_t count) {
    (void)sync_file_range(
        file, (off64_t)offset, (off64_t)count,
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    shoebox_forget_cached(file, offset, count);
}

void shoebox_start_reading(int file, uint64_t offset, uint64_t count) {
    (void)posix_fadvise(file, (off_t)offset, (off_t)count, POSIX_FADV_WILLNEED);
}

void shoebox_forget_cached(int file, uint64_t offset, uint64_t count) {
    (void)posix_fadvise(file, (off_t)offset, (off_t)count, POSIX_FADV_DONTNEED);
}

void shoebox_keep_freed_memory(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 16 << 20);
    mallopt(M_TRIM_THRESHOLD, 16 << 20);
#endif
}

void shoebox_give_back_memory(void) {
#ifdef __GLIBC__
    malloc_trim(0);
#endif
}

uint64_t shoebox_file_system_type(int file) {
    struct statfs raw;
    return fstatfs(file, &raw) ? 0 : (uint64_t)(uint32_t)raw.f_type;
}

int shoebox_free_bytes(int file, uint64_t *result) {
    struct statvfs raw;
    if (fstatvfs(file, &raw)) return -errno;
    if (__builtin_mul_overflow((uint64_t)raw.f_bavail, (uint64_t)raw.f_frsize, result)) *result = UINT64_MAX;
    return 0;
}

int shoebox_spawn(const char *path, const char *argument, int *input, int *output, pid_t *process) {
    int command[2], report[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, command)) return -errno;
    if (pipe2(report, O_CLOEXEC)) {
        int error = errno;
        close(command[0]);
        close(command[1]);
        return -error;
    }
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    // Copies above what any of the three standard ones may be, so that no dup2 overwrites what a later one needs.
    int in = fcntl(command[1], F_DUPFD_CLOEXEC, 3), out = fcntl(report[1], F_DUPFD_CLOEXEC, 3);
    posix_spawn_file_actions_adddup2(&actions, in, 0);
    posix_spawn_file_actions_adddup2(&actions, out, 1);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    sigset_t none, standard;
    sigemptyset(&none);
    sigemptyset(&standard);
    sigaddset(&standard, SIGPIPE);
    sigaddset(&standard, SIGTERM);
    sigaddset(&standard, SIGINT);
    sigaddset(&standard, SIGHUP);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &standard);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    // Another part of this program is shown in lists of processes under this one's name, not as /proc/self/exe.
    char *name = argument ? program_invocation_short_name : (char *)path;
    char *arguments[] = {name, (char *)argument, NULL};
    extern char **environ;
    int error = in < 0 || out < 0 ? EMFILE : posix_spawn(process, path, &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (in >= 0) close(in);
    if (out >= 0) close(out);
    close(command[1]);
    close(report[1]);
    if (error) {
        close(command[0]);
        close(report[0]);
        return -error;
    }
    *input = command[0];
    *output = report[0];
    return 0;
}

int shoebox_send(int socket, const void *bytes, size_t count) {
    const char *next = bytes;
    while (count) {
        ssize_t sent = send(socket, next, count, MSG_NOSIGNAL);
        if (sent < 0) {
            if (errno == EINTR) continue;
            return -errno;
        }
        next += sent;
        count -= (size_t)sent;
    }
    return 0;
}

int shoebox_watch(int inotify, int directory, uint32_t mask) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", directory);
    int watch = inotify_add_watch(inotify, path, mask);
    return watch < 0 ? -errno : watch;
}

int shoebox_find_inotify(void) {
    int found = -ENOENT;
    for (int file = 0; file < 1024; file++) {
        char path[64], target[64];
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
        ssize_t length = readlink(path, target, sizeof target - 1);
        if (length < 0) continue;
        target[length] = 0;
        if (strcmp(target, "anon_inode:inotify") == 0) found = file;
    }
    if (found < 0) return found;
    int flags = fcntl(found, F_GETFL);
    if (flags < 0 || fcntl(found, F_SETFL, flags | O_NONBLOCK) || fcntl(found, F_SETFD, FD_CLOEXEC)) return -errno;
    return found;
}
