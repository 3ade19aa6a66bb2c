/* What a program that runs under us asks of its surroundings: files of the folder it runs in, and an end. */
#ifndef IO_H
#define IO_H

#include <stddef.h>
#include <stdint.h>

/* Read all of a buffer from a file, or write all of it; the program ends with an error if that is not possible. */
int io_open(const char *name, int is_written);
void io_read(int file, void *to, size_t size);
void io_write(int file, const void *from, size_t size);
void io_close(int file);
/* A line for whoever started the program. */
void io_say(const char *text);
void io_exit(int status);

/* Where instructions are counted: the counter notes how many were executed before each call. */
void io_mark(void);

/* Paint the free part of the stack, and the bytes of it that were used since; 0 where the stack is not ours. The program
 * ends where none is left. */
void io_paint_stack(void);
size_t io_painted_stack_used(void);

#endif
