/* fuzz_case - a folder with a case of the bare layer: case.json and its arrays.
 *
 * Input: a byte, a part with case.json, and the arrays. With bit 0 of the byte these are parts with
 * .npy files, in the order of `names`; else every array is made as case.json needs it, but for the
 * changes that follow, three bytes each: which array, which axis, and its size there. */
#include "fuzz.h"

#include "fuzz_files.h"
#include "io/json.h"
#include "tools/layer/layer_case.h"

enum { MAX_NUMBERS = 4096, MAX_CHANGES = 4 };

static const char *const names[] = {
    "u",      "dy",      "omega",    "A",       "B",        "C",       "gamma",
    "beta",   "A_angle", "A_radius", "B_angle", "B_radius", "C_angle", "C_radius",
    "log_dt", "A_re",    "A_im",     "D",       "alpha",    "delta",   NULL};

static const char *file_of(const char *name)
{
    static char file[32];
    snprintf(file, sizeof file, "%s.npy", name);
    return file;
}

static void put_files(fuzz_input *in)
{
    size_t size;
    for (int i = 0; names[i]; i++) {
        const uint8_t *bytes = fuzz_part(in, &size);
        if (size) fuzz_put(file_of(names[i]), bytes, size);
    }
}

/* One array, with those of the changes that are for it. */
static void put_array(fuzz_input changes, unsigned number, const char *name, int rank,
                      const size_t *right)
{
    static const double zeros[MAX_NUMBERS];
    size_t shape[NPY_RANK] = {0}, count = 1;
    npy_type type = NPY_FLOAT64;
    memcpy(shape, right, (size_t)rank * sizeof *shape);
    for (int i = 0; i < MAX_CHANGES && changes.left; i++) {
        const unsigned which = fuzz_byte(&changes), axis = fuzz_byte(&changes) % (NPY_RANK + 2);
        const unsigned size = fuzz_byte(&changes);
        if (which != number) continue;
        if (axis < NPY_RANK) shape[axis] = size;
        if (axis == NPY_RANK) rank = (int)(size % (NPY_RANK + 1));
        if (axis == NPY_RANK + 1) type = (npy_type)(size % (NPY_UINT8 + 1));
    }
    for (int i = 0; i < rank; i++) {
        if (shape[i] > MAX_NUMBERS) return;
        count *= shape[i];
        if (count > MAX_NUMBERS) return;
    }
    REQUIRE(!npy_write(fuzz_context(), fuzz_path(file_of(name)), type, rank, shape, zeros, NULL));
}

/* The arrays of the configuration, if there is one. */
static void put_arrays(fuzz_input *in, const char *text, size_t size)
{
    layer_case c = {.folder = ""};
    ssm2d_param a;
    ssm2d_strides strides;
    size_t shape[4];
    cJSON *root;
    if (json_parse("", text, size, &root, NULL)) return;
    const int good = !layer_case_parse("", root, &c, NULL);
    cJSON_Delete(root);
    if (!good) return;
    const int rank = layer_case_grid(&c, shape, &strides);
    put_array(*in, 0, "u", rank, shape);
    put_array(*in, 1, "dy", rank, shape);
    for (int i = 0; layer_case_param(&c, i, &a); i++)
        put_array(*in, (unsigned)i + 2, a.name, a.rank, a.shape);
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    const unsigned flags = fuzz_byte(&in), countdown = fuzz_countdown;
    size_t length;
    const uint8_t *text = fuzz_part(&in, &length);
    fuzz_no_failure();
    for (int i = 0; names[i]; i++) fuzz_remove(file_of(names[i]));
    fuzz_put("case.json", text, length);
    if (flags & 1)
        put_files(&in);
    else
        put_arrays(&in, (const char *)text, length);
    fuzz_countdown = countdown;

    layer_case c;
    ssm2d_error error = {{0}};
    ssm2d_status status = layer_case_read(fuzz_context(), fuzz_folder(), &c, &error);
    if (status)
        fuzz_check_refusal(status, &error, fuzz_folder());
    else {
        ssm2d_param a;
        size_t shape[4], count = 1, total = 0;
        ssm2d_strides strides;
        const int rank = layer_case_grid(&c, shape, &strides);
        for (int i = 0; i < rank; i++) count *= shape[i];
        for (int i = 0; layer_case_param(&c, i, &a); i++) total += a.count;
        REQUIRE(c.params_count == total && c.params && c.u && c.dy && c.grid_count == count);
        double sum = 0;
        for (size_t i = 0; i < c.params_count; i++) sum += c.params[i];
        for (size_t i = 0; i < c.grid_count; i++) sum += c.u[i] + c.dy[i];
        REQUIRE(sum <= 0 || sum > 0 || sum != sum);
    }
    layer_case_free(fuzz_context(), &c);
}
