/* fuzz_weights - a safetensors file as the weights of small models, of its own grid and of others,
 * so that position embeddings are interpolated. What is taken is finite, and the same after being
 * saved and loaded again.
 *
 * Input: two bytes (bit 0 of the first: the rest is the file; bit 1: a new head is allowed; bits 2
 * and 3: the grid that the caller gives; the second: which model), then the file; or a part with
 * the note about the grid, and changes to a good file, three bytes each: which array, what of it,
 * and how. */
#include "fuzz.h"

#include "fuzz_files.h"
#include "io/safetensors.h"
#include "models/weights.h"

#include <math.h>

enum { MODELS = 4, MAX_ARRAYS = 64, MAX_CHANGES = 16, MAX_BYTES = 1 << 16, FILLS = 4 };

static weights *model_at_hand(int which)
{
    static const char *const settings[][2] = {{"image", NULL}, {"channels", "1"}, {"classes", "2"},
                                              {"patch", "2"},  {"dim", "2"},      {"depth", "1"},
                                              {"heads", "1"},  {"mixer", NULL},   {NULL, NULL}};
    static const char *const images[MODELS] = {"4x4", "4x6", "6x2", "4x4"};
    static weights *models[MODELS];
    const field_source from = {.where = "model"};
    model_config c;
    ssm2d_error error;
    if (models[which]) return models[which];
    REQUIRE(!model_config_named("vit-mini", &c, &error));
    for (int i = 0; settings[i][0]; i++) {
        const char *value = settings[i][1];
        if (!value) value = i ? which == 3 ? "none" : "ssm2d" : images[which];
        REQUIRE(!model_config_set(from, settings[i][0], value, &c, &error));
    }
    if (which != 3) REQUIRE(!model_config_set(from, "mixer.d_state", "1", &c, &error));
    REQUIRE(!model_config_finish(&c, &error));
    REQUIRE(!weights_create(fuzz_context(), &c, &models[which], &error));
    return models[which];
}

static void change(safetensors_item *item, unsigned what, unsigned value)
{
    static uint8_t fills[FILLS][MAX_BYTES];
    static const uint8_t bytes[FILLS] = {0, 0x3c, 0x7f, 0xff}; /* 0, 0.01, 3e38, not a number */
    if (what < SAFETENSORS_RANK) item->shape[what] = value;
    if (what == 8) item->rank = (int)(value % (SAFETENSORS_RANK + 1));
    if (what == 9) item->type = (safetensors_type)(value % (SAFETENSORS_BOOL + 1));
    if (what == 10) item->name = NULL; /* left out */
    if (what == 11) item->name = "norm.extra";
    if (what == 12) {
        memset(fills[value % FILLS], bytes[value % FILLS], MAX_BYTES);
        item->data = fills[value % FILLS];
    }
}

/* Whether all elements of an array have been read. */
static int fits(const safetensors_item *item)
{
    size_t bytes = safetensors_type_size(item->type);
    for (int i = 0; i < item->rank; i++) {
        bytes *= item->shape[i];
        if (bytes > MAX_BYTES) return 0;
    }
    return 1;
}

/* The file of the first model, with changes. */
static void make_file(fuzz_input *in, const char *path)
{
    static const uint8_t zeros[MAX_BYTES];
    const weights *w = model_at_hand(0);
    safetensors_item items[MAX_ARRAYS];
    char grid[32] = "";
    size_t length, count = 0;
    int extra = 0;
    const uint8_t *text = fuzz_part(in, &length);
    if (length < sizeof grid) memcpy(grid, text, length);
    for (size_t i = 0; i < length && i < sizeof grid; i++)
        if (grid[i] && (grid[i] < 0x20 || grid[i] > 0x7e)) grid[i] = '?';
    const safetensors_note note = {"grid", grid};
    REQUIRE(w->count <= MAX_ARRAYS);
    for (int i = 0; i < w->count; i++) {
        const param_array *a = &w->arrays[i];
        items[i] = (safetensors_item){
            .name = a->name, .type = SAFETENSORS_F32, .rank = a->rank, .data = zeros};
        memcpy(items[i].shape, a->shape, (size_t)a->rank * sizeof *a->shape);
    }
    for (int i = 0; i < MAX_CHANGES && in->left; i++) {
        const unsigned which = fuzz_byte(in) % (unsigned)w->count, what = fuzz_byte(in) % 13;
        if (what == 11 && extra++) continue;
        change(&items[which], what, fuzz_byte(in));
    }
    for (int i = 0; i < w->count; i++)
        if (items[i].name && fits(&items[i])) items[count++] = items[i];
    REQUIRE(!safetensors_write(fuzz_context(), path, count, items, *grid != 0, &note, NULL));
}

static void check_loaded(const weights *w, const float *params, const weights_report *report)
{
    ssm2d_error error;
    weights_report second;
    float *again = malloc(w->total * sizeof *again);
    for (size_t i = 0; i < w->total; i++) REQUIRE(isfinite(params[i]));
    REQUIRE(!report->resized || (report->old_grid[0] > 0 && report->old_grid[1] > 0));
    REQUIRE(!weights_save(w, fuzz_path("again"), params, &error));
    REQUIRE(!weights_load(w, fuzz_path("again"), NULL, again, &second, &error));
    REQUIRE(!second.resized && !second.new_head && !second.new_mixer_arrays);
    REQUIRE(!memcmp(params, again, w->total * sizeof *again));
    free(again);
    for (int i = 0; i < MODELS - 1; i++) {
        const weights *other = model_at_hand(i);
        if (other->count != w->count) continue;
        float *resized = malloc(other->total * sizeof *resized);
        REQUIRE(!weights_resize(w, params, other, resized, &error));
        free(resized);
    }
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    static const int grids[][2] = {{0, 0}, {2, 2}, {1, 4}, {2, 3}};
    fuzz_input in = {data, size};
    const unsigned flags = fuzz_byte(&in), which = fuzz_byte(&in) % MODELS;
    const unsigned countdown = fuzz_countdown;
    const char *path = fuzz_path("model.safetensors");
    fuzz_no_failure();
    const weights *w = model_at_hand((int)which);
    if (flags & 1)
        fuzz_put("model.safetensors", in.at, in.left);
    else
        make_file(&in, path);
    fuzz_countdown = countdown;

    weights_report report;
    ssm2d_error error = {{0}};
    weights_options options = {.seed = 1, .new_head = flags >> 1 & 1};
    memcpy(options.old_grid, grids[flags >> 2 & 3], sizeof options.old_grid);
    float *params = malloc(w->total * sizeof *params); /* not set: all of them must be */
    ssm2d_status status = weights_load(w, path, &options, params, &report, &error);
    if (status)
        fuzz_check_refusal(status, &error, path);
    else {
        fuzz_no_failure();
        check_loaded(w, params, &report);
    }
    free(params);
}
