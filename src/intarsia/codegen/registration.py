"""Networks that are found by their names: one table of all that are linked into a program, behind one kind of call."""

from __future__ import annotations

from intarsia.codegen.interface import Interface

MODELS_H, MODELS_C = "intarsia_models.h", "intarsia_models.c"


def models_header() -> str:
    """The header of the table, the same for every network."""
    return """/* Networks that are found by their names. */
#ifndef INTARSIA_MODELS_H
#define INTARSIA_MODELS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct intarsia_memory {
    const char *name; /* "workspace", "weights", or the name of a memory */
    size_t bytes;
    size_t alignment;
};

struct intarsia_model {
    const char *name;
    size_t inputs;
    size_t outputs;
    const size_t *bytes;                    /* of each argument: inputs, then outputs */
    size_t memories;
    const struct intarsia_memory *memory;   /* what a call is handed beside the arguments */
    /* Inputs and then outputs, and the memories in the order above. The answer is 0, or says what is wrong. */
    int32_t (*run)(void *const *arguments, void *const *memories);
};

/* The network of a name; NULL if there is none. */
const struct intarsia_model *intarsia_model(const char *name);
/* The network at a place of the table; NULL behind the last. */
const struct intarsia_model *intarsia_model_at(size_t place);

#ifdef __cplusplus
}
#endif

#endif
"""


def models_code(name: str) -> str:
    """The table, as it is for a program with this network alone; a program with several compiles it once for all."""
    return f"""/* The table of networks. For several, compile it once with
 * -D'INTARSIA_MODELS(X)=X(first) X(second)', each by the name that its files have. */
#include "intarsia_models.h"

#include <string.h>

#ifndef INTARSIA_MODELS
#define INTARSIA_MODELS(X) X({name})
#endif

#define DECLARED(each) extern const struct intarsia_model each##_model;
INTARSIA_MODELS(DECLARED)

#define PLACED(each) &each##_model,
static const struct intarsia_model *const models[] = {{INTARSIA_MODELS(PLACED) NULL}};

const struct intarsia_model *intarsia_model_at(size_t place)
{{
    return place < sizeof models / sizeof models[0] ? models[place] : NULL;
}}

const struct intarsia_model *intarsia_model(const char *name)
{{
    for (size_t place = 0; models[place] != NULL; place++) {{
        if (strcmp(models[place]->name, name) == 0) {{
            return models[place];
        }}
    }}
    return NULL;
}}
"""


def registration_text(it: Interface) -> str:
    """What the code of a network has more, so that it can stand in the table."""
    sizes = ", ".join(f"{each.size}u" for each in it.arguments) or "0u"
    rows = []
    if not it.options.static_workspace:
        rows += [
            (memory or "workspace", it.workspaces[memory], it.options.workspace_alignment) for memory in it.memories
        ]
    if not it.options.link_weights:
        rows.append(("weights", it.weights_bytes, it.options.constant_alignment))
    table = ", ".join(f'{{"{name}", {size}u, {alignment}u}}' for name, size, alignment in rows)
    given = [f"memories[{place}]" for place in range(len(rows))]
    unused = "" if rows else "    (void)memories;\n"
    setup, handed = call_arguments(it, "arguments")
    return f"""
#include "{MODELS_H}"

static int32_t run_registered(void *const *arguments, void *const *memories)
{{
{unused}{setup}    return {it.name}_run({", ".join([*handed, *given])});
}}

static const size_t argument_bytes[] = {{{sizes}}};
static const struct intarsia_memory memories_needed[] = {{{table or '{"", 0u, 1u}'}}};
extern const struct intarsia_model {it.name}_model;
const struct intarsia_model {it.name}_model = {{
    "{it.name}", {len(it.inputs)}u, {len(it.outputs)}u, argument_bytes, {len(rows)}u, memories_needed, run_registered}};
"""


def call_arguments(it: Interface, array: str) -> tuple[str, list[str]]:
    """How the entry point is called by who has all pointers in one array: statements before, and arguments."""
    count = len(it.inputs)
    pairs = [(f"{array}[{place}]", each, place < count) for place, each in enumerate(it.arguments)]
    typed = [f"({'const ' if read else ''}{each.type} *){text}" for text, each, read in pairs]
    if it.options.entry == "array":
        return "", [array]
    if it.options.entry == "arguments":
        return "" if it.arguments else f"    (void){array};\n", typed
    ins, outs = ", ".join(typed[:count]) or "NULL", ", ".join(typed[count:]) or "NULL"
    return (
        f"    const struct {it.name}_inputs all_inputs = {{{ins}}};\n"
        f"    const struct {it.name}_outputs all_outputs = {{{outs}}};\n",
        ["&all_inputs", "&all_outputs"],
    )
