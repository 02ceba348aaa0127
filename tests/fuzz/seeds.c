/* seeds - makes small good inputs for the fuzz targets to start from: seeds FOLDER */
#include "seeds.h"

#include "core/context.h"
#include "fuzz_input.h"
#include "io/file.h"
#include "io/npy.h"
#include "io/safetensors.h"

#include <stdlib.h>
#include <string.h>

ssm2d_context *context;
ssm2d_error error;
static const char *base;

void check(int bad)
{
    if (!bad) return;
    fprintf(stderr, "seeds: %s\n", error.line);
    exit(1);
}

const char *seed_path(const char *target, int number)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s/%s", base, target);
    check(folder_make(path, &error) != SSM2D_OK);
    snprintf(path, sizeof path, "%s/%s/%d", base, target, number);
    return path;
}

void seed_put(const char *target, int number, const void *bytes, size_t size)
{
    atomic_file file;
    check(atomic_open(context, seed_path(target, number), &file, &error) != SSM2D_OK);
    check(atomic_write(&file, bytes, size, &error) != SSM2D_OK);
    check(atomic_commit(&file, &error) != SSM2D_OK);
}

void seed_text(const char *target, int number, const char *text)
{
    seed_put(target, number, text, strlen(text));
}

static void seed_npy(void)
{
    static const size_t shape[] = {2, 3, 1, 1, 1, 1, 1, 1};
    static const double data[6] = {1, 2, 3};
    for (npy_type type = NPY_FLOAT32; type <= NPY_UINT8; type++)
        check(npy_write(context, seed_path("npy", (int)type), type, type == NPY_UINT8 ? 8 : 2,
                        shape, data, &error)
              != SSM2D_OK);
}

static void seed_json(void)
{
    static const char *const texts[] = {
        "{\"kind\": \"ssm2d\", \"name\": \"a\", \"batch\": 2, \"norm\": \"paper\", \"trunc\": [3, "
        "4], \"complex\": true,"
        " \"complex_form\": \"polar\", \"n_ssm\": 2, \"L1\": 5, \"L2\": 3, \"arrays\": {\"A\": [4, "
        "8, 4]}, \"normalize\": "
        "false}",
        "{\"channels\": 12, \"d_state\": 3, \"n_ssm\": 5, \"directions\": 4, \"pair\": "
        "\"columns\", \"average\": true,"
        " \"values\": \"cartesian\", \"share_directions\": true, \"c_per_channel\": true, "
        "\"skip\": false,"
        " \"layer_norm\": true, \"trunc_rows\": 6, \"trunc_cols\": 7}",
        "[null, -1.5e3, \"\\u00e9\\n\", {}, [[]]]",
    };
    for (int i = 0; i < 3; i++) seed_text("json", i, texts[i]);
}

/* The first byte is the kind, past the last: wisdom. */
static void seed_layer(void)
{
    static const char measured[] =
        "4# measured\nema channels=4 d_state=2 | batch=2 grid=3x4 in=48,16,4,1 out=48,16,4,1 "
        "type=float inference=0 max_bytes=0 cpu=avx2 threads=4 | scan\n";
    static const char *const texts[] = {
        "0channels=12 d_state=3 directions=2 pair=columns values=polar average=true",
        "1channels=8 init=identity rate=0.5 n_ssm=2 form=dplr", "2channels=3 shift=false trunc=5",
        "3channels=8 kernel=3 bias=false", measured};
    for (int i = 0; i < 5; i++) seed_text("layer", i, texts[i]);
}

static void seed_safetensors(void)
{
    static const double data[6] = {1, 2, 3};
    static const safetensors_note notes[] = {{"format", "pt"}, {"step", "12\n"}};
    safetensors_item items[SAFETENSORS_BOOL + 1];
    char names[SAFETENSORS_BOOL + 1][16];
    for (int i = 0; i <= SAFETENSORS_BOOL; i++) {
        snprintf(names[i], sizeof names[i], "a.%d.weight", i);
        items[i] =
            (safetensors_item){names[i], (safetensors_type)i, i % 4, {2, 3, (size_t)(i % 3)}, data};
    }
    for (int i = 0; i <= SAFETENSORS_BOOL + 1; i++)
        check(safetensors_write(context, seed_path("safetensors", i), (size_t)i, items, i % 3,
                                notes, &error)
              != SSM2D_OK);
}

/* ---- fields and layer cases ------------------------------------------------------------------ */

static void seed_field(void)
{
    static const char *const texts[] = {"12",    "3",   "-1.5e-3", "0x1p-2",    "true",
                                        "three", "a/b", "2x3",     "[2, 6, 4]", "1,3,5"};
    static const uint8_t kinds[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
    for (int i = 0; i < 10; i++) {
        uint8_t seed[64] = {kinds[i], (uint8_t)i};
        memcpy(seed + 2, texts[i], strlen(texts[i]));
        seed_put("field", i, seed, 2 + strlen(texts[i]));
    }
}

static void seed_case(void)
{
    static const char *const texts[] = {
        "{\"kind\": \"ssm2d\", \"batch\": 1, \"L1\": 2, \"L2\": 3, \"channels\": 2, "
        "\"d_state\": 1, \"n_ssm\": 1, \"directions\": 1}",
        "{\"kind\": \"ssm2d\", \"name\": \"a\", \"seed\": 1, \"batch\": 2, \"L1\": 1, \"L2\": 1, "
        "\"channels\": 1, \"n_ssm\": 2, \"d_state\": 2, \"complex\": true, \"complex_form\": "
        "\"cartesian\", \"normalize\": true, \"trunc\": [3, 4], \"arrays\": {}}",
        "{\"kind\": \"ssm2d\", \"batch\": 1, \"L1\": 2, \"L2\": 2, \"channels\": 1, \"values\": "
        "\"polar\", \"share_directions\": true, \"c_per_channel\": true, \"n_ssm\": 1}",
        "{\"kind\": \"s4nd\", \"batch\": 1, \"L1\": 2, \"L2\": 3, \"channels\": 2, \"n_ssm\": 1, "
        "\"d_state\": 2, \"rate\": 0.5}",
        "{\"kind\": \"ema\", \"batch\": 2, \"L\": 3, \"channels\": 2, \"d_state\": 1, \"trunc\": "
        "null, \"shift\": false, \"bidirectional\": true}",
    };
    enum { TEXTS = sizeof texts / sizeof *texts };
    static const uint8_t changes[] = {0, 3, 2, 2, 9, 0};
    for (int i = 0; i < 2 * TEXTS; i++) {
        uint8_t seed[1024] = {0};
        size_t used = 1;
        fuzz_add_part(seed, &used, texts[i % TEXTS], strlen(texts[i % TEXTS]));
        if (i >= TEXTS) memcpy(seed + used, changes, sizeof changes);
        seed_put("case", i, seed, used + (i >= TEXTS ? sizeof changes : 0));
    }
    /* arrays as they are in files: those of the first case have 12 elements or fewer */
    uint8_t seed[4096] = {1};
    size_t used = 1;
    fuzz_add_part(seed, &used, texts[0], strlen(texts[0]));
    static const size_t shapes[][4] = {{1, 2, 2, 3}, {1, 2, 2, 3}, {2},
                                       {4, 1, 1},    {2, 1, 1},    {2, 1, 1}};
    static const int ranks[] = {4, 4, 1, 3, 3, 3};
    static const double elements[12] = {1, -2, 0.5};
    for (int i = 0; i < 6; i++) {
        char *bytes;
        size_t size;
        const char *path = seed_path("case", 2 * TEXTS);
        check(npy_write(context, path, NPY_FLOAT64, ranks[i], shapes[i], elements, &error)
              != SSM2D_OK);
        check(file_read(context, path, 4096, &bytes, &size, &error) != SSM2D_OK);
        fuzz_add_part(seed, &used, bytes, size);
        mem_free(context, bytes);
    }
    seed_put("case", 2 * TEXTS, seed, used);
}

int main(int count, char **arguments)
{
    if (count != 2) {
        fprintf(stderr, "usage: seeds FOLDER\n");
        return 2;
    }
    base = arguments[1];
    check(ssm2d_context_create(NULL, &context, &error) != SSM2D_OK);
    seed_npy();
    seed_json();
    seed_layer();
    seed_safetensors();
    seed_field();
    seed_case();
    seed_images();
    seed_data();
    seed_runs();
    seed_models();
    ssm2d_context_destroy(context);
    return 0;
}
