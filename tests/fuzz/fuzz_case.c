/* fuzz_case - a folder with a case of the bare layer: case.json and its arrays.
 *
 * Input: a byte, a part with case.json, and the arrays. With bit 0 of the byte these are parts with
 * .npy files, in the order of `names`; else every array is made as case.json needs it, but for the
 * changes that follow, three bytes each: which array, which axis, and its size there. */
#include "fuzz.h"

#include "fuzz_files.h"
#include "io/json.h"
#include "io/layer_config.h"
#include "layer_case.h"

enum { MAX_NUMBERS = 4096, MAX_CHANGES = 4 };

static const char *const names[] = {"u",       "dy",       "omega",   "A",        "B",
                                    "C",       "gamma",    "beta",    "A_angle",  "A_radius",
                                    "B_angle", "B_radius", "C_angle", "C_radius", NULL};

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
    static const char *const others[] = {"kind", "name", "seed",   "batch",
                                         "L1",   "L2",   "arrays", NULL};
    ssm2d_config config = ssm2d_config_default();
    ssm2d_param param;
    int batch = 0, rows = 0, cols = 0;
    cJSON *root;
    if (json_parse("", text, size, &root, NULL)) return;
    const int good = !json_get_int("", root, "batch", JSON_REQUIRED, 1, 64, &batch, NULL)
                     && !json_get_int("", root, "L1", JSON_REQUIRED, 1, 64, &rows, NULL)
                     && !json_get_int("", root, "L2", JSON_REQUIRED, 1, 64, &cols, NULL)
                     && !layer_config_from_json("", root, others, &config, NULL);
    const size_t shape[] = {(size_t)batch, (size_t)config.channels, (size_t)rows, (size_t)cols};
    cJSON_Delete(root);
    if (!good) return;
    put_array(*in, 0, "u", 4, shape);
    put_array(*in, 1, "dy", 4, shape);
    for (int i = 0; ssm2d_param_get(&config, i, &param); i++)
        put_array(*in, (unsigned)i + 2, layer_case_file(&param), param.rank, param.shape);
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
        REQUIRE(!ssm2d_config_check(&c.config, &error));
        REQUIRE(c.params_count == ssm2d_param_total(&c.config) && c.params && c.u && c.dy);
        REQUIRE(c.grid_count == c.batch * c.rows * c.cols * (size_t)c.config.channels);
        double sum = 0;
        for (size_t i = 0; i < c.params_count; i++) sum += c.params[i];
        for (size_t i = 0; i < c.grid_count; i++) sum += c.u[i] + c.dy[i];
        REQUIRE(sum <= 0 || sum > 0 || sum != sum);
    }
    layer_case_free(fuzz_context(), &c);
}
