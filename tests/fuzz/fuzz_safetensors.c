#include "fuzz.h"

#include "io/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    safetensors *file;
    ssm2d_error error = {{0}};
    if (safetensors_parse(fuzz_context(), "a.safetensors", data, size, &file, &error)) {
        REQUIRE(!file);
        fuzz_check_line(&error, "a.safetensors: ");
        return 0;
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
    return 0;
}
