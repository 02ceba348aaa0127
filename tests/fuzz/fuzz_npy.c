/* fuzz_npy - any bytes as an array file: refused with a line, or read as what they say. */
#include "fuzz.h"

#include "io/npy.h"

static void fuzz_one(const uint8_t *data, size_t size)
{
    npy_array array;
    ssm2d_error error = {{0}};
    ssm2d_status status = npy_parse(fuzz_context(), "a.npy", data, size, &array, &error);
    if (status) {
        REQUIRE(!array.data);
        fuzz_check_refusal(status, &error, "a.npy: ");
        return;
    }
    size_t count = 1, bytes = npy_type_size(array.type);
    REQUIRE(array.rank >= 0 && array.rank <= NPY_RANK);
    for (int i = 0; i < array.rank; i++) count *= array.shape[i];
    REQUIRE(count == array.count && count * bytes < size);
    REQUIRE(!count || !memcmp(array.data, data + size - count * bytes, count * bytes));
    double *wide = malloc(count * sizeof *wide + 1);
    float *narrow = malloc(count * sizeof *narrow + 1);
    npy_to_double(&array, wide);
    npy_to_float(&array, narrow);
    free(wide);
    free(narrow);
    npy_free(fuzz_context(), &array);
}
