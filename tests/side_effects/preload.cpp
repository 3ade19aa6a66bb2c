// Notes what a process writes and connects to. Loaded before all other libraries; see __init__.py beside this file.

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

struct addrinfo;

namespace {

template <typename Function>
Function *next(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

using Open = int(const char *, int, ...);

void note(const char *kind, const char *place) {
  const char *log = getenv("SIDE_EFFECTS_LOG");
  if (log == nullptr) return;
  char line[PATH_MAX + 64];
  const int length = snprintf(line, sizeof line, "%s %s\n", kind, place);
  const int file = next<Open>("open")(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return;
  // One write, so that lines of several processes do not mix.
  if (write(file, line, length) != length) abort();
  close(file);
}

// The file as the kernel will find it: links followed as far as the path exists, the rest as it was said.
void note_written(int folder, const char *path) {
  char said[PATH_MAX] = "";
  if (path[0] != '/') {
    char link[64];
    snprintf(link, sizeof link, folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", folder);
    const ssize_t length = readlink(link, said, sizeof said - 1);
    said[length < 0 ? 0 : length] = '\0';
    strncat(said, "/", sizeof said - strlen(said) - 1);
  }
  strncat(said, path, sizeof said - strlen(said) - 1);
  char real[PATH_MAX];
  if (realpath(said, real) != nullptr) return note("write", real);
  char *slash = strrchr(said, '/');
  if (slash == nullptr || slash == said) return note("write", said);
  *slash = '\0';
  if (realpath(said, real) == nullptr) strcpy(real, said);
  char whole[2 * PATH_MAX];
  snprintf(whole, sizeof whole, "%s/%s", real, slash + 1);
  note("write", whole);
}

bool writes(int flags) { return (flags & O_ACCMODE) != O_RDONLY || (flags & (O_CREAT | O_TRUNC)) != 0; }

bool writes(const char *mode) { return strpbrk(mode, "wa+") != nullptr; }

}  // namespace

extern "C" {

#define OPEN(name)                                                   \
  int name(const char *path, int flags, ...) {                       \
    va_list rest;                                                    \
    va_start(rest, flags);                                           \
    const mode_t mode = va_arg(rest, mode_t);                        \
    va_end(rest);                                                    \
    if (writes(flags)) note_written(AT_FDCWD, path);                 \
    return next<Open>(#name)(path, flags, mode);                     \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                                 \
  int name(int folder, const char *path, int flags, ...) {           \
    va_list rest;                                                    \
    va_start(rest, flags);                                           \
    const mode_t mode = va_arg(rest, mode_t);                        \
    va_end(rest);                                                    \
    if (writes(flags)) note_written(folder, path);                   \
    return next<int(int, const char *, int, ...)>(#name)(folder, path, flags, mode); \
  }
OPENAT(openat)
OPENAT(openat64)

#define FOPEN(name)                                                  \
  FILE *name(const char *path, const char *mode) {                   \
    if (writes(mode)) note_written(AT_FDCWD, path);                  \
    return next<FILE *(const char *, const char *)>(#name)(path, mode); \
  }
FOPEN(fopen)
FOPEN(fopen64)

int creat(const char *path, mode_t mode) {
  note_written(AT_FDCWD, path);
  return next<int(const char *, mode_t)>("creat")(path, mode);
}

int mkdir(const char *path, mode_t mode) {
  int result = next<int(const char *, mode_t)>("mkdir")(path, mode);
  int error = errno;
  // Who asks for a folder that is there changes nothing.
  if (result == 0 || error != EEXIST) note_written(AT_FDCWD, path);
  errno = error;
  return result;
}

int rename(const char *from, const char *to) {
  note_written(AT_FDCWD, to);
  return next<int(const char *, const char *)>("rename")(from, to);
}

int connect(int socket, const struct sockaddr *address, socklen_t length) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address->sa_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in *>(address)->sin_addr, text, sizeof text);
    note("connect", text);
  } else if (address->sa_family == AF_INET6) {
    inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6 *>(address)->sin6_addr, text, sizeof text);
    note("connect", text);
  }
  return next<int(int, const struct sockaddr *, socklen_t)>("connect")(socket, address, length);
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **result) {
  note("connect", node == nullptr ? "" : node);
  return next<int(const char *, const char *, const struct addrinfo *, struct addrinfo **)>("getaddrinfo")(
      node, service, hints, result);
}

}  // extern "C"
