/* What the C library asks of a board whose host answers semihosting calls: files, and memory for printf. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#define SYS_OPEN 0x01
#define SYS_CLOSE 0x02
#define SYS_WRITE 0x05
#define SYS_READ 0x06
#define HEAP_BYTES 16384
#define OPEN_READ_BINARY 1
#define OPEN_WRITE_BINARY 5

int _open(const char *name, int flags, ...);
int _close(int file);
int _read(int file, char *to, int size);
int _write(int file, const char *from, int size);
int _lseek(int file, int offset, int from);
int _fstat(int file, struct stat *told);
int _isatty(int file);
void *_sbrk(ptrdiff_t more);

static int ask(uint32_t operation, const void *block)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = block;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return (int)r0;
}

int _open(const char *name, int flags, ...)
{
    const uint32_t mode = (flags & O_ACCMODE) == O_RDONLY ? OPEN_READ_BINARY : OPEN_WRITE_BINARY;
    const uint32_t block[3] = {(uint32_t)(uintptr_t)name, mode, (uint32_t)strlen(name)};
    const int file = ask(SYS_OPEN, block);
    return file < 0 ? file : file + 3; /* behind the three that a program has from its start */
}

int _close(int file)
{
    const uint32_t block[1] = {(uint32_t)(file - 3)};
    return file < 3 ? 0 : ask(SYS_CLOSE, block);
}

/* The answer of the host is the number of bytes that were left. */
int _read(int file, char *to, int size)
{
    const uint32_t block[3] = {(uint32_t)(file - 3), (uint32_t)(uintptr_t)to, (uint32_t)size};
    return file < 3 ? 0 : size - ask(SYS_READ, block);
}

int _write(int file, const char *from, int size)
{
    static int console = -1;
    if (console < 0) {
        const uint32_t terminal[3] = {(uint32_t)(uintptr_t) ":tt", OPEN_WRITE_BINARY, 3};
        console = ask(SYS_OPEN, terminal);
    }
    const uint32_t block[3] = {(uint32_t)(file < 3 ? console : file - 3), (uint32_t)(uintptr_t)from, (uint32_t)size};
    return size - ask(SYS_WRITE, block);
}

int _lseek(int file, int offset, int from)
{
    (void)file;
    (void)offset;
    (void)from;
    errno = ESPIPE;
    return -1;
}

int _fstat(int file, struct stat *told)
{
    (void)file;
    told->st_mode = S_IFCHR;
    return 0;
}

int _isatty(int file)
{
    return file < 3;
}

void *_sbrk(ptrdiff_t more)
{
    static char heap[HEAP_BYTES] __attribute__((aligned(16)));
    static ptrdiff_t used = 0;
    if (used + more > HEAP_BYTES) {
        errno = ENOMEM;
        return (void *)-1;
    }
    used += more;
    return heap + used - more;
}
