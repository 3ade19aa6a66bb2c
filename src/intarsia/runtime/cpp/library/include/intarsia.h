/* Runs a model that Intarsia compiled, without Python: load an artifact, ask what it takes and gives, run it.
 *
 * Every function may be called from any thread. Runs of one model take turns; two models run at the same time.
 * A function that can fail returns a status, and INTARSIA_OK is 0; the text of a failure is at `intarsia_error_text`.
 */
#ifndef INTARSIA_H
#define INTARSIA_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define INTARSIA_API __attribute__((visibility("default")))
#else
#define INTARSIA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Why a call failed. New numbers are added at the end. */
typedef enum intarsia_status {
    INTARSIA_OK = 0,
    INTARSIA_BAD_ARGUMENT = 1,       /* a null pointer, an index that is too large, an option that is wrong */
    INTARSIA_BAD_ARTIFACT = 2,       /* missing, damaged, not allowed, or made for another machine or engine */
    INTARSIA_BAD_FEED = 3,           /* an input is missing, unknown, or of another type or shape */
    INTARSIA_ENGINE_UNAVAILABLE = 4, /* the library of an engine was not found, or is another version */
    INTARSIA_LOAD_FAILED = 5,        /* an engine did not load its part */
    INTARSIA_RUN_FAILED = 6,         /* an engine failed while it ran */
    INTARSIA_NO_MEMORY = 7
} intarsia_status;

/* Types of elements, by the numbers that ONNX gives them. */
typedef enum intarsia_dtype {
    INTARSIA_FLOAT32 = 1,
    INTARSIA_UINT8 = 2,
    INTARSIA_INT8 = 3,
    INTARSIA_UINT16 = 4,
    INTARSIA_INT16 = 5,
    INTARSIA_INT32 = 6,
    INTARSIA_INT64 = 7,
    INTARSIA_BOOL = 9,
    INTARSIA_FLOAT16 = 10,
    INTARSIA_FLOAT64 = 11,
    INTARSIA_UINT32 = 12,
    INTARSIA_UINT64 = 13,
    INTARSIA_BFLOAT16 = 16
} intarsia_dtype;

typedef struct intarsia_model intarsia_model;

/* What loading may do. Set all of it by INTARSIA_OPTIONS, then change what you like. */
typedef struct intarsia_options {
    size_t size;                 /* sizeof(intarsia_options), so that later versions may add to it */
    const char* engine_folders;  /* absolute folders with the engines' libraries, parted by ':'; null: the usual ones */
    const char* const* allow;    /* absolute paths of libraries that the artifact names and may load */
    size_t allow_count;
    int refuse_machine_code;     /* not 0: refuse an artifact that holds machine code */
} intarsia_options;

#define INTARSIA_OPTIONS {sizeof(intarsia_options), NULL, NULL, 0, 0}

/* An input or output of a model. The pointers live as long as the model. */
typedef struct intarsia_value {
    const char* name;
    intarsia_dtype dtype;
    size_t rank;
    const int64_t* shape; /* `rank` numbers */
    size_t bytes;
} intarsia_value;

/* One call of the plan. The pointers live as long as the model. */
typedef struct intarsia_step {
    const char* engine;
    const char* target; /* the engine with its options, as `intarsia compile --target` takes it */
    size_t node_count;
    int threads;
} intarsia_step;

/* An array of the caller, C-contiguous. */
typedef struct intarsia_tensor {
    const char* name; /* of the input or output; null: the one at this place */
    intarsia_dtype dtype;
    size_t rank;
    const int64_t* shape;
    void* data; /* read of an input, written of an output; aligned to its element type */
    size_t bytes;
} intarsia_tensor;

/* The version of this library, three numbers with dots between them. */
INTARSIA_API const char* intarsia_version(void);

/* Why the last failed call of this thread failed, until its next one fails; "" before. Never null. */
INTARSIA_API const char* intarsia_error_text(void);

/* Open an artifact, check it, and load its engines. `options` may be null. On failure `*model` is null. */
INTARSIA_API intarsia_status intarsia_load(const char* path, const intarsia_options* options, intarsia_model** model);

/* Make an artifact in memory known by a name, before anything is loaded by it. The bytes are not copied: they stay as
 * they are until the program ends, and are aligned to 64 bytes. A project that is exported with `system-lib` calls this
 * before main. */
INTARSIA_API intarsia_status intarsia_link(const char* name, const void* artifact, size_t bytes);

/* As `intarsia_load`, of an artifact that is linked into the program, by its name. */
INTARSIA_API intarsia_status intarsia_load_linked(const char* name, const intarsia_options* options,
                                                  intarsia_model** model);

/* What the model takes and gives; 0 for a null pointer. */
INTARSIA_API size_t intarsia_input_count(const intarsia_model* model);
INTARSIA_API size_t intarsia_output_count(const intarsia_model* model);
INTARSIA_API intarsia_status intarsia_input(const intarsia_model* model, size_t index, intarsia_value* value);
INTARSIA_API intarsia_status intarsia_output(const intarsia_model* model, size_t index, intarsia_value* value);

/* The plan: its steps in running order, and the threads that compute at one time. */
INTARSIA_API size_t intarsia_step_count(const intarsia_model* model);
INTARSIA_API intarsia_status intarsia_step_at(const intarsia_model* model, size_t index, intarsia_step* step);
INTARSIA_API int intarsia_threads(const intarsia_model* model);

/* What differs here from where the model was measured, one sentence a line; "" for nothing. Lives as the model. */
INTARSIA_API const char* intarsia_remarks(const intarsia_model* model);

/* Run once. All inputs are given, and those outputs that are wanted. Nothing of the caller is kept. */
INTARSIA_API intarsia_status intarsia_run(intarsia_model* model, const intarsia_tensor* inputs, size_t input_count,
                                          const intarsia_tensor* outputs, size_t output_count);

/* Free it, once a run that is under way on another thread is over. A null pointer is fine. */
INTARSIA_API void intarsia_free(intarsia_model* model);

#ifdef __cplusplus
}
#endif

#endif
