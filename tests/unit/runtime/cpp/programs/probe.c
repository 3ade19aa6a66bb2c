/* Loads each artifact that it is given, runs those that load, and says what became of each: a line of its status, its
 * path, and the text of an error or a sum of its outputs. Where the variable PROBE_LINKED is set, each is read into
 * memory and loaded by a name. Plain C11. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "intarsia.h"

static intarsia_tensor tensor_of(const intarsia_value *value)
{
    intarsia_tensor tensor;
    tensor.name = value->name;
    tensor.dtype = value->dtype;
    tensor.rank = value->rank;
    tensor.shape = value->shape;
    tensor.bytes = value->bytes;
    tensor.data = calloc(value->bytes + 1, 1);
    return tensor;
}

static intarsia_status run(intarsia_model *model, unsigned *sum)
{
    size_t place, byte;
    const size_t reads = intarsia_input_count(model), writes = intarsia_output_count(model);
    intarsia_tensor *inputs = calloc(reads + 1, sizeof *inputs), *outputs = calloc(writes + 1, sizeof *outputs);
    intarsia_value value;
    intarsia_status status;
    for (place = 0; place < reads; ++place) {
        if (intarsia_input(model, place, &value) != INTARSIA_OK) {
            abort();
        }
        inputs[place] = tensor_of(&value);
    }
    for (place = 0; place < writes; ++place) {
        if (intarsia_output(model, place, &value) != INTARSIA_OK) {
            abort();
        }
        outputs[place] = tensor_of(&value);
    }
    status = intarsia_run(model, inputs, reads, outputs, writes);
    for (place = 0; place < reads; ++place) {
        free(inputs[place].data);
    }
    for (place = 0; place < writes; ++place) {
        for (byte = 0; byte < outputs[place].bytes; ++byte) {
            *sum = *sum * 31u + ((const unsigned char *)outputs[place].data)[byte];
        }
        free(outputs[place].data);
    }
    free(inputs);
    free(outputs);
    return status;
}

static intarsia_status load_linked(const char *path, intarsia_model **model)
{
    static char *held[1024];
    static size_t number;
    FILE *file = fopen(path, "rb");
    long size = 0;
    intarsia_status status;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0 || number == 1024) {
        abort();
    }
    held[number] = aligned_alloc(64, ((size_t)size + 63) / 64 * 64 + 64);
    rewind(file);
    if (held[number] == NULL || fread(held[number], 1, (size_t)size, file) != (size_t)size) {
        abort();
    }
    fclose(file);
    status = intarsia_link(path, held[number++], (size_t)size);
    return status == INTARSIA_OK ? intarsia_load_linked(path, NULL, model) : status;
}

int main(int count, char **paths)
{
    const int is_linked = getenv("PROBE_LINKED") != NULL;
    int place;
    for (place = 1; place < count; ++place) {
        intarsia_model *model = NULL;
        unsigned sum = 0;
        intarsia_status status = is_linked ? load_linked(paths[place], &model) : intarsia_load(paths[place], NULL, &model);
        if (status == INTARSIA_OK) {
            status = run(model, &sum);
        } else if (model != NULL) {
            abort();
        }
        if (status == INTARSIA_OK) {
            printf("0 %s %08x\n", paths[place], sum);
        } else {
            printf("%d %s %s\n", (int)status, paths[place], intarsia_error_text());
        }
        fflush(stdout);
        intarsia_free(model);
    }
    return 0;
}
