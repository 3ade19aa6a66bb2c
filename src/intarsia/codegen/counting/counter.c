/* A plugin of QEMU that counts instructions: it writes the number so far each time the program calls a marker function.
 *
 * The interface is declared here, as distributions ship QEMU without qemu-plugin.h. Only functions are used whose form
 * is the same in all versions of the interface, 1 (QEMU 4.2) to 5 (QEMU 10).
 *
 * Arguments: mark=ADDRESS of the marker function, out=PATH of the file of counts, one decimal number per line.
 * An instruction of a conditional block that is skipped counts, as it does with -icount.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
typedef struct qemu_info_t qemu_info_t;
struct qemu_plugin_tb;
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };

extern void qemu_plugin_register_vcpu_tb_trans_cb(
    qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb));
extern void qemu_plugin_register_vcpu_tb_exec_cb(
    struct qemu_plugin_tb *tb, void (*cb)(unsigned int cpu, void *userdata), enum qemu_plugin_cb_flags flags,
    void *userdata);
extern void qemu_plugin_register_atexit_cb(
    qemu_plugin_id_t id, void (*cb)(qemu_plugin_id_t id, void *userdata), void *userdata);
extern size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
extern uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);

#ifndef PLUGIN_VERSION
#define PLUGIN_VERSION 1
#endif
#define VISIBLE __attribute__((visibility("default")))

VISIBLE int qemu_plugin_version = PLUGIN_VERSION;

static uint64_t executed;
static uint64_t marker;
static FILE *out;

static void at_block(unsigned int cpu, void *userdata)
{
    (void)cpu;
    executed += (uint64_t)(uintptr_t)userdata;
}

static void at_mark(unsigned int cpu, void *userdata)
{
    fprintf(out, "%" PRIu64 "\n", executed);
    at_block(cpu, userdata);
}

static void at_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    /* The marker is called, so a block of its own begins there. */
    qemu_plugin_register_vcpu_tb_exec_cb(tb, qemu_plugin_tb_vaddr(tb) == marker ? at_mark : at_block,
                                         QEMU_PLUGIN_CB_NO_REGS, (void *)(uintptr_t)qemu_plugin_tb_n_insns(tb));
}

static void at_exit(qemu_plugin_id_t id, void *userdata)
{
    (void)id;
    (void)userdata;
    fclose(out);
}

VISIBLE int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "mark=", 5) == 0) {
            marker = strtoull(argv[i] + 5, NULL, 0);
        } else if (strncmp(argv[i], "out=", 4) == 0) {
            out = fopen(argv[i] + 4, "w");
        }
    }
    if (out == NULL) {
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, at_translation);
    qemu_plugin_register_atexit_cb(id, at_exit, NULL);
    return 0;
}
