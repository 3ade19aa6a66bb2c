/* io.h for a program under an operating system. */
#include "io.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST_FILES 8

static FILE *files[MOST_FILES];

int io_open(const char *name, int is_written)
{
    for (int i = 0; i < MOST_FILES; i++) {
        if (files[i] == NULL) {
            files[i] = fopen(name, is_written ? "wb" : "rb");
            if (files[i] == NULL) {
                break;
            }
            return i;
        }
    }
    io_say("a file cannot be opened");
    io_exit(90);
    return -1;
}

void io_read(int file, void *to, size_t size)
{
    if (fread(to, 1, size, files[file]) != size) {
        io_say("a file is too short");
        io_exit(91);
    }
}

void io_write(int file, const void *from, size_t size)
{
    if (fwrite(from, 1, size, files[file]) != size) {
        io_say("a file cannot be written");
        io_exit(92);
    }
}

void io_close(int file)
{
    if (fclose(files[file]) != 0) {
        io_exit(92);
    }
    files[file] = NULL;
}

void io_say(const char *text)
{
    fprintf(stderr, "%s\n", text);
}

void io_exit(int status)
{
    exit(status);
}

__attribute__((noinline)) void io_mark(void)
{
    __asm__ volatile("" ::: "memory");
}

void io_paint_stack(void)
{
}

size_t io_painted_stack_used(void)
{
    return 0;
}
