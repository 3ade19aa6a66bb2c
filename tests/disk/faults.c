/* Preloaded into a process and those it starts: lets the Nth write under some folders fail, kills the process there, or
   stops before each write until somebody has looked at the folders.

   What is to happen stands in the environment; whoever changes it there calls faults_begin:

     FAULTS_STATE    a file of at least sizeof(struct shared) zero bytes, which all processes map
     FAULTS_FOLDERS  absolute paths, with ':' between them
     FAULTS_AT       which write, counted from 1; 0 only counts
     FAULTS_HOW      full      the disk is full from then on
                     full-once the disk is full for this one write
                     before, after  killed before it, or when it is done
                     half      killed when half of it is written
                     watched   nobody fails: each write waits until the watcher has looked, and half-way once more
     FAULTS_WHOSE    all; first: only of the process that writes first; others: of all but that one

   Whoever watches waits until `asked` in the state differs from `answered`, looks, and sets `answered` to `asked`. Until
   then nobody writes: one process writes at a time.

   Calls that the C library makes inside itself are not seen: fopen and what its streams write are, through fopen alone. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

struct shared {
    long count;
    long fired;
    long asked;
    long answered;
    int owner;
    int writer; /* the thread that writes while others wait, where writes are watched */
    char what[500];
};

enum how { FULL, FULL_ONCE, BEFORE, AFTER, HALF, WATCHED };
enum whose { ALL, FIRST, OTHERS };
enum todo { PASS, FAIL, THEN_DIE, HALF_THEN_DIE, THEN_LEAVE };

static struct shared *state;
static char folders[4096];
static long at;
static enum how how;
static enum whose whose;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((visibility("default"))) void faults_begin(void) {
    const char *path = getenv("FAULTS_STATE"), *where = getenv("FAULTS_FOLDERS"), *which = getenv("FAULTS_AT");
    const char *kind = getenv("FAULTS_HOW"), *of = getenv("FAULTS_WHOSE");
    state = NULL;
    if (!path || !where || !which || !kind || !*path) return;
    snprintf(folders, sizeof folders, "%s", where);
    at = atol(which);
    how = !strcmp(kind, "full") ? FULL : !strcmp(kind, "full-once") ? FULL_ONCE : !strcmp(kind, "before") ? BEFORE
        : !strcmp(kind, "after") ? AFTER : !strcmp(kind, "half") ? HALF : WATCHED;
    whose = of && !strcmp(of, "all") ? ALL : of && !strcmp(of, "others") ? OTHERS : FIRST;
    int descriptor = REAL(open)(path, O_RDWR | O_CLOEXEC);
    if (descriptor < 0) return;
    void *mapped = mmap(NULL, sizeof *state, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (mapped != MAP_FAILED) state = mapped;
}

__attribute__((constructor)) static void loaded(void) { faults_begin(); }

static int inside(const char *path) {
    for (const char *folder = folders; *folder;) {
        size_t length = strcspn(folder, ":");
        if (length && !strncmp(path, folder, length) && (path[length] == '/' || !path[length])) return 1;
        folder += length + (folder[length] == ':');
    }
    return 0;
}

static int is_ours(void) {
    int none = 0, own = getpid();
    __atomic_compare_exchange_n(&state->owner, &none, own, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return whose == ALL || (whose == FIRST) == (state->owner == own);
}

static _Noreturn void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* The right to write is handed on when its holder was killed. */
static void enter(void) {
    int own = syscall(SYS_gettid), holder;
    for (;;) {
        holder = 0;
        if (__atomic_compare_exchange_n(&state->writer, &holder, own, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return;
        if (kill(holder, 0) && errno == ESRCH
            && __atomic_compare_exchange_n(&state->writer, &holder, own, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return;
        usleep(100);
    }
}

static void leave(void) { __atomic_store_n(&state->writer, 0, __ATOMIC_SEQ_CST); }

static void let_look(const char *when, const char *call, const char *path) {
    int saved = errno;
    snprintf(state->what, sizeof state->what, "%s %s %s (process %d)", when, call, path, getpid());
    long number = __atomic_add_fetch(&state->asked, 1, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(&state->answered, __ATOMIC_SEQ_CST) < number) usleep(100);
    errno = saved;
}

/* `takes_room`: whether a full disk makes the call fail; else it is only a moment to be killed at. */
static enum todo point(const char *call, const char *path, int takes_room) {
    if (!state || !path || !inside(path) || !is_ours()) return PASS;
    if (how <= FULL_ONCE && !takes_room) return PASS;
    if (how == WATCHED) {
        int saved = errno;
        enter();
        state->count++;
        let_look("before", call, path);
        errno = saved;
        return THEN_LEAVE;
    }
    long number = __atomic_add_fetch(&state->count, 1, __ATOMIC_SEQ_CST);
    if (!at || number < at || (how != FULL && number != at)) return PASS;
    if (!__atomic_exchange_n(&state->fired, number, __ATOMIC_SEQ_CST))
        snprintf(state->what, sizeof state->what, "%s %s (process %d)", call, path, getpid());
    switch (how) {
    case FULL:
    case FULL_ONCE: errno = ENOSPC; return FAIL;
    case BEFORE: die();
    case AFTER: return THEN_DIE;
    default: return HALF_THEN_DIE;
    }
}

static const char *path_of(int descriptor, char *buffer) {
    char link[40];
    int saved = errno;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = state ? readlink(link, buffer, PATH_MAX - 1) : -1;
    errno = saved;
    if (length < 0) return NULL;
    buffer[length] = 0;
    return buffer;
}

static const char *path_at(int folder, const char *path, char *buffer) {
    char base[PATH_MAX];
    if (!state || !path) return NULL;
    if (*path == '/') {
        snprintf(buffer, PATH_MAX, "%s", path);
        return buffer;
    }
    if (folder == AT_FDCWD ? !getcwd(base, sizeof base) : !path_of(folder, base)) return NULL;
    if (snprintf(buffer, PATH_MAX, "%s/%s", base, path) >= PATH_MAX) return NULL;
    return buffer;
}

#define GUARDED(call, path, takes_room, failed, done)              \
    do {                                                           \
        enum todo todo = point(call, path, takes_room);            \
        if (todo == FAIL) return failed;                           \
        __typeof__(done) result = done;                            \
        if (todo == THEN_LEAVE) leave();                           \
        else if (todo != PASS) die();                              \
        return result;                                             \
    } while (0)

/* `rest` is what comes after `half` bytes. */
#define WRITES(call, descriptor, whole, part, rest)                \
    do {                                                           \
        char buffer[PATH_MAX];                                     \
        const char *path = path_of(descriptor, buffer);            \
        enum todo todo = point(call, path, 1);                     \
        if (todo == FAIL) return -1;                               \
        if (todo == THEN_LEAVE) {                                  \
            ssize_t half = (ssize_t)(part), more = 0;              \
            if (half >= 0) {                                       \
                let_look("half-way in", call, path);               \
                more = (ssize_t)(rest);                            \
            }                                                      \
            leave();                                               \
            return more > 0 ? half + more : half ? half : more;    \
        }                                                          \
        ssize_t result = todo == HALF_THEN_DIE ? (ssize_t)(part) : (ssize_t)(whole); \
        if (todo != PASS) die();                                   \
        return result;                                             \
    } while (0)

/* Of a file that is copied by the system only its first bytes are the half: what it is told is the most, not the size. */
#define SOME(size) ((size) < 32 ? (size) / 2 : 16)

static ssize_t after_half(int d, const struct iovec *parts, int count, size_t half, off64_t place) {
    struct iovec left[IOV_MAX];
    memcpy(left, parts, count * sizeof *parts);
    left[0].iov_base = (char *)left[0].iov_base + half;
    left[0].iov_len -= half;
    return place < 0 ? REAL(writev)(d, left, count) : REAL(pwritev64)(d, left, count, place + half);
}

ssize_t write(int d, const void *data, size_t size) {
    WRITES("write", d, REAL(write)(d, data, size), REAL(write)(d, data, size / 2),
           REAL(write)(d, (const char *)data + half, size - half));
}
ssize_t pwrite(int d, const void *data, size_t size, off_t place) {
    WRITES("pwrite", d, REAL(pwrite)(d, data, size, place), REAL(pwrite)(d, data, size / 2, place),
           REAL(pwrite)(d, (const char *)data + half, size - half, place + half));
}
ssize_t pwrite64(int d, const void *data, size_t size, off64_t place) {
    WRITES("pwrite", d, REAL(pwrite64)(d, data, size, place), REAL(pwrite64)(d, data, size / 2, place),
           REAL(pwrite64)(d, (const char *)data + half, size - half, place + half));
}
ssize_t writev(int d, const struct iovec *parts, int count) {
    WRITES("writev", d, REAL(writev)(d, parts, count), REAL(write)(d, parts[0].iov_base, parts[0].iov_len / 2),
           after_half(d, parts, count, half, -1));
}
ssize_t pwritev(int d, const struct iovec *parts, int count, off_t place) {
    WRITES("pwritev", d, REAL(pwritev)(d, parts, count, place),
           REAL(pwrite)(d, parts[0].iov_base, parts[0].iov_len / 2, place), after_half(d, parts, count, half, place));
}
ssize_t pwritev64(int d, const struct iovec *parts, int count, off64_t place) {
    WRITES("pwritev", d, REAL(pwritev64)(d, parts, count, place),
           REAL(pwrite64)(d, parts[0].iov_base, parts[0].iov_len / 2, place), after_half(d, parts, count, half, place));
}
ssize_t sendfile(int out, int in, off_t *place, size_t size) {
    ssize_t (*real)(int, int, off_t *, size_t) = dlsym(RTLD_NEXT, "sendfile");
    WRITES("sendfile", out, real(out, in, place, size), real(out, in, place, SOME(size)),
           real(out, in, place, size - half));
}
ssize_t sendfile64(int out, int in, off64_t *place, size_t size) {
    ssize_t (*real)(int, int, off64_t *, size_t) = dlsym(RTLD_NEXT, "sendfile64");
    WRITES("sendfile", out, real(out, in, place, size), real(out, in, place, SOME(size)),
           real(out, in, place, size - half));
}
ssize_t copy_file_range(int in, off64_t *from, int out, off64_t *to, size_t size, unsigned int flags) {
    WRITES("copy_file_range", out, REAL(copy_file_range)(in, from, out, to, size, flags),
           REAL(copy_file_range)(in, from, out, to, SOME(size), flags),
           REAL(copy_file_range)(in, from, out, to, size - half, flags));
}

int fsync(int d) {
    char buffer[PATH_MAX];
    GUARDED("fsync", path_of(d, buffer), 1, -1, REAL(fsync)(d));
}
int fdatasync(int d) {
    char buffer[PATH_MAX];
    GUARDED("fdatasync", path_of(d, buffer), 1, -1, REAL(fdatasync)(d));
}
int ftruncate(int d, off_t size) {
    char buffer[PATH_MAX];
    GUARDED("ftruncate", path_of(d, buffer), 1, -1, REAL(ftruncate)(d, size));
}
int ftruncate64(int d, off64_t size) {
    char buffer[PATH_MAX];
    GUARDED("ftruncate", path_of(d, buffer), 1, -1, REAL(ftruncate64)(d, size));
}
int posix_fallocate(int d, off_t place, off_t size) {
    char buffer[PATH_MAX];
    GUARDED("posix_fallocate", path_of(d, buffer), 1, ENOSPC, REAL(posix_fallocate)(d, place, size));
}
int posix_fallocate64(int d, off64_t place, off64_t size) {
    char buffer[PATH_MAX];
    GUARDED("posix_fallocate", path_of(d, buffer), 1, ENOSPC, REAL(posix_fallocate64)(d, place, size));
}
int fallocate(int d, int mode, off_t place, off_t size) {
    char buffer[PATH_MAX];
    GUARDED("fallocate", path_of(d, buffer), 1, -1, REAL(fallocate)(d, mode, place, size));
}

static int opens_for_writing(int flags) { return flags & (O_WRONLY | O_RDWR | O_CREAT | O_TRUNC); }

/* Only a new file takes room. */
static int is_new(const char *path, int flags) {
    struct stat facts;
    int saved = errno, found = path && stat(path, &facts) == 0;
    errno = saved;
    return (flags & O_CREAT) && !found;
}

#define MODE                                                       \
    mode_t mode = 0;                                               \
    if (flags & (O_CREAT | O_TMPFILE)) {                           \
        va_list more;                                              \
        va_start(more, flags);                                     \
        mode = va_arg(more, mode_t);                               \
        va_end(more);                                              \
    }

#define OPENS(folder, path, flags, done)                           \
    do {                                                           \
        char buffer[PATH_MAX];                                     \
        const char *whole = path_at(folder, path, buffer);         \
        if (!opens_for_writing(flags)) return done;                \
        GUARDED("open", whole, is_new(whole, flags), -1, done);    \
    } while (0)

int open(const char *path, int flags, ...) {
    MODE
    OPENS(AT_FDCWD, path, flags, REAL(open)(path, flags, mode));
}
int open64(const char *path, int flags, ...) {
    MODE
    OPENS(AT_FDCWD, path, flags, REAL(open64)(path, flags, mode));
}
int openat(int folder, const char *path, int flags, ...) {
    MODE
    OPENS(folder, path, flags, REAL(openat)(folder, path, flags, mode));
}
int openat64(int folder, const char *path, int flags, ...) {
    MODE
    OPENS(folder, path, flags, REAL(openat64)(folder, path, flags, mode));
}
int creat(const char *path, mode_t mode) {
    OPENS(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, REAL(creat)(path, mode));
}
FILE *fopen(const char *path, const char *mode) {
    char buffer[PATH_MAX];
    if (!strpbrk(mode, "wa+")) return REAL(fopen)(path, mode);
    GUARDED("fopen", path_at(AT_FDCWD, path, buffer), 1, NULL, REAL(fopen)(path, mode));
}
FILE *fopen64(const char *path, const char *mode) {
    char buffer[PATH_MAX];
    if (!strpbrk(mode, "wa+")) return REAL(fopen64)(path, mode);
    GUARDED("fopen", path_at(AT_FDCWD, path, buffer), 1, NULL, REAL(fopen64)(path, mode));
}

int rename(const char *from, const char *to) {
    char buffer[PATH_MAX];
    GUARDED("rename", path_at(AT_FDCWD, to, buffer), 1, -1, REAL(rename)(from, to));
}
int renameat(int there, const char *from, int here, const char *to) {
    char buffer[PATH_MAX];
    GUARDED("rename", path_at(here, to, buffer), 1, -1, REAL(renameat)(there, from, here, to));
}
int link(const char *from, const char *to) {
    char buffer[PATH_MAX];
    GUARDED("link", path_at(AT_FDCWD, to, buffer), 1, -1, REAL(link)(from, to));
}
int linkat(int there, const char *from, int here, const char *to, int flags) {
    char buffer[PATH_MAX];
    GUARDED("link", path_at(here, to, buffer), 1, -1, REAL(linkat)(there, from, here, to, flags));
}
int symlink(const char *from, const char *to) {
    char buffer[PATH_MAX];
    GUARDED("symlink", path_at(AT_FDCWD, to, buffer), 1, -1, REAL(symlink)(from, to));
}
int symlinkat(const char *from, int here, const char *to) {
    char buffer[PATH_MAX];
    GUARDED("symlink", path_at(here, to, buffer), 1, -1, REAL(symlinkat)(from, here, to));
}
int mkdir(const char *path, mode_t mode) {
    char buffer[PATH_MAX];
    struct stat facts;
    int is_there = state && !stat(path, &facts);
    GUARDED("mkdir", path_at(AT_FDCWD, path, buffer), !is_there, -1, REAL(mkdir)(path, mode));
}
int mkdirat(int folder, const char *path, mode_t mode) {
    char buffer[PATH_MAX];
    GUARDED("mkdir", path_at(folder, path, buffer), 1, -1, REAL(mkdirat)(folder, path, mode));
}
int unlink(const char *path) {
    char buffer[PATH_MAX];
    GUARDED("unlink", path_at(AT_FDCWD, path, buffer), 0, -1, REAL(unlink)(path));
}
int unlinkat(int folder, const char *path, int flags) {
    char buffer[PATH_MAX];
    GUARDED("unlink", path_at(folder, path, buffer), 0, -1, REAL(unlinkat)(folder, path, flags));
}
int rmdir(const char *path) {
    char buffer[PATH_MAX];
    GUARDED("rmdir", path_at(AT_FDCWD, path, buffer), 0, -1, REAL(rmdir)(path));
}
