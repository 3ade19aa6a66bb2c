/* Startup and io.h for a Cortex-M board whose host answers semihosting calls, as QEMU does. */
#include "io.h"

#define SYS_OPEN 0x01
#define SYS_CLOSE 0x02
#define SYS_WRITE0 0x04
#define SYS_WRITE 0x05
#define SYS_READ 0x06
#define SYS_EXIT_EXTENDED 0x20
#define APPLICATION_EXIT 0x20026u
#define OPEN_READ_BINARY 1
#define OPEN_WRITE_BINARY 5
#define PAINT 0xA5A5A5A5u

extern uint32_t stack_bottom[], stack_top[], bss_start[], bss_end[];
extern int main(void);

/* Semihosting for AArch32 and AArch64, Arm, https://github.com/ARM-software/abi-aa/blob/main/semihosting */
static uint32_t ask(uint32_t operation, const void *block)
{
    register uint32_t r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = block;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static uint32_t length(const char *text)
{
    uint32_t count = 0;
    while (text[count] != '\0') {
        count++;
    }
    return count;
}

int io_open(const char *name, int is_written)
{
    const uint32_t block[3] = {(uint32_t)(uintptr_t)name, is_written ? OPEN_WRITE_BINARY : OPEN_READ_BINARY,
                               length(name)};
    const uint32_t file = ask(SYS_OPEN, block);
    if (file == UINT32_MAX) {
        io_say("a file cannot be opened");
        io_exit(90);
    }
    return (int)file;
}

/* The answer is the number of bytes that were left. */
static void transfer(uint32_t operation, int file, const void *buffer, size_t size, int failure)
{
    const uint32_t block[3] = {(uint32_t)file, (uint32_t)(uintptr_t)buffer, (uint32_t)size};
    if (size != 0 && ask(operation, block) != 0) {
        io_say(operation == SYS_READ ? "a file is too short" : "a file cannot be written");
        io_exit(failure);
    }
}

void io_read(int file, void *to, size_t size)
{
    transfer(SYS_READ, file, to, size, 91);
}

void io_write(int file, const void *from, size_t size)
{
    transfer(SYS_WRITE, file, from, size, 92);
}

void io_close(int file)
{
    const uint32_t block[1] = {(uint32_t)file};
    if (ask(SYS_CLOSE, block) != 0) {
        io_exit(92);
    }
}

void io_say(const char *text)
{
    ask(SYS_WRITE0, text);
    ask(SYS_WRITE0, "\n");
}

void io_exit(int status)
{
    const uint32_t block[2] = {APPLICATION_EXIT, (uint32_t)status};
    ask(SYS_EXIT_EXTENDED, block);
    for (;;) {
    }
}

__attribute__((noinline)) void io_mark(void)
{
    __asm__ volatile("" ::: "memory");
}

uint32_t *painted_to;

/* In assembly, as it must have nothing on the stack itself. */
__attribute__((naked, noinline)) void io_paint_stack(void)
{
    __asm__ volatile(
        ".syntax unified\n ldr r0, =stack_bottom\n ldr r1, =0xA5A5A5A5\n mov r2, sp\n"
        "1: cmp r0, r2\n bhs 2f\n str r1, [r0]\n adds r0, #4\n b 1b\n"
        "2: ldr r3, =painted_to\n str r2, [r3]\n bx lr\n");
}

size_t io_painted_stack_used(void)
{
    const uint32_t *word = stack_bottom;
    while (word < painted_to && *word == PAINT) {
        word++;
    }
    if (word == stack_bottom) {
        io_say("the stack is too small");
        io_exit(94);
    }
    return (size_t)((const char *)painted_to - (const char *)word);
}

#if __ARM_ARCH >= 8
#define NO_STACK_LIMIT "movs r0, #0\n msr msplim, r0\n"
#else
#define NO_STACK_LIMIT ""
#endif

/* A stack that ran over its end leaves no room to say so: it is begun anew. */
__attribute__((naked, noreturn)) static void fault_handler(void)
{
    __asm__ volatile(".syntax unified\n" NO_STACK_LIMIT "ldr r0, =stack_top\n mov sp, r0\n b at_fault\n");
}

__attribute__((used, noreturn)) static void at_fault(void)
{
    const uint32_t status = *(volatile uint32_t *)0xE000ED28u; /* CFSR: why */
    io_say(status & 0x00100000u ? "the stack is too small" : "the processor met a fault");
    io_exit(status & 0x00100000u ? 94 : 93);
    for (;;) {
    }
}

static __attribute__((noinline)) void begin(void)
{
    for (uint32_t *word = bss_start; word < bss_end; word++) {
        *word = 0;
    }
    io_exit(main());
}

__attribute__((noreturn)) void reset_handler(void)
{
#if defined __ARM_FP
    *(volatile uint32_t *)0xE000ED88u |= 0xFu << 20; /* CPACR: coprocessors 10 and 11, which are floats and vectors */
    __asm__ volatile("dsb\n isb" ::: "memory");
#endif
#if __ARM_ARCH >= 8
    __asm__ volatile("msr msplim, %0" ::"r"(stack_bottom));
#endif
    begin();
    for (;;) {
    }
}

__attribute__((section(".vectors"), used)) static const uintptr_t vectors[16] = {
    (uintptr_t)stack_top,     (uintptr_t)reset_handler, (uintptr_t)fault_handler, (uintptr_t)fault_handler,
    (uintptr_t)fault_handler, (uintptr_t)fault_handler, (uintptr_t)fault_handler, (uintptr_t)fault_handler,
    (uintptr_t)fault_handler, (uintptr_t)fault_handler, (uintptr_t)fault_handler, (uintptr_t)fault_handler,
    (uintptr_t)fault_handler, (uintptr_t)fault_handler, (uintptr_t)fault_handler, (uintptr_t)fault_handler,
};
