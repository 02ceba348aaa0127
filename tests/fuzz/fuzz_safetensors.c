/* fuzz_safetensors - any bytes as a safetensors file: refused with a line, or every array of it is
 * within the file and can be read. */
#include "fuzz.h"

#include "io/safetensors.h"

static void fuzz_one(const uint8_t *data, size_t size)
{
    safetensors *file;
    ssm2d_error error = {{0}};
    ssm2d_status status =
        safetensors_parse(fuzz_context(), "a.safetensors", data, size, &file, &error);
    if (status) {
        REQUIRE(!file);
        fuzz_check_refusal(status, &error, "a.safetensors: ");
        return;
    }
    size_t total = 0;
    for (size_t i = 0; i < safetensors_count(file); i++) {
        const safetensors_array *array = safetensors_get(file, i), *same;
        size_t count = 1;
        REQUIRE(array->rank >= 0 && array->rank <= SAFETENSORS_RANK);
        for (int k = 0; k < array->rank; k++) count *= array->shape[k];
        REQUIRE(count == array->count
                && array->bytes == count * safetensors_type_size(array->type));
        REQUIRE(array->offset == total);
        total += array->bytes;
        REQUIRE(total <= size);
        REQUIRE(safetensors_find(file, array->name) == array);
        REQUIRE(!safetensors_expect(file, array->name, array->rank, array->shape, &same, &error)
                && same == array);
        char *raw = malloc(array->bytes + 1);
        double *wide = malloc(count * sizeof *wide + 1);
        float *narrow = malloc(count * sizeof *narrow + 1);
        REQUIRE(!safetensors_read_raw(file, array, raw, &error));
        REQUIRE(!safetensors_read_double(file, array, wide, &error));
        REQUIRE(!safetensors_read_float(file, array, narrow, &error));
        free(raw);
        free(wide);
        free(narrow);
    }
    const char *value = safetensors_metadata(file, "format");
    REQUIRE(!value || strlen(value) < size);
    safetensors_close(file);
}
