/* safetensors_write - writing: the header is made as a cJSON tree; the data is never copied. */
#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "io/file.h"
#include "io/json.h"
#include "io/npy.h"
#include "io/safetensors.h"
#include "io/text.h"

#include <stdlib.h>
#include <string.h>

/* Wider types first, so that every array is aligned. */
static const size_t widths[] = {8, 4, 2, 1};
enum { WIDTHS = sizeof widths / sizeof *widths, PAD = 8 };

static const char *show(const char *name, char *text, size_t size)
{
    return text_show(name, strlen(name), text, size);
}

static ssm2d_status check_item(const char *path, const safetensors_item *item, size_t *bytes,
                               ssm2d_error *error)
{
    char name[64], shape[96];
    int over = 0;
    *bytes = safetensors_type_size(item->type);
    if (item->rank < 0 || item->rank > SAFETENSORS_RANK)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: array \"%s\": rank=%d: use 0 to %d",
                    text_path(path), show(item->name, name, sizeof name), item->rank,
                    SAFETENSORS_RANK);
    for (int i = 0; i < item->rank; i++)
        over |= __builtin_mul_overflow(*bytes, item->shape[i], bytes);
    if (over || *bytes > PTRDIFF_MAX)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: array \"%s\": shape %s is too large",
                    text_path(path), show(item->name, name, sizeof name),
                    npy_shape_text(item->rank, item->shape, shape, sizeof shape));
    return SSM2D_OK;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Refuses a reserved name, and one that is given twice. Sorts names. */
static ssm2d_status check_names(const char *path, size_t count, const char **names,
                                ssm2d_error *error)
{
    char shown[64];
    if (count) qsort(names, count, sizeof *names, compare);
    for (size_t i = 0; i < count; i++)
        if (!strcmp(names[i], "__metadata__") || (i && !strcmp(names[i], names[i - 1])))
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name \"%s\" is %s", text_path(path),
                        show(names[i], shown, sizeof shown),
                        i && !strcmp(names[i], names[i - 1]) ? "given twice" : "reserved");
    return SSM2D_OK;
}

static int add_item(cJSON *header, const safetensors_item *item, size_t offset, size_t bytes)
{
    const char *type = safetensors_type_name(item->type);
    cJSON *entry = cJSON_CreateObject(), *shape = NULL, *offsets = NULL;
    int good = entry && json_add(entry, "dtype", cJSON_CreateString(type))
               && (shape = cJSON_AddArrayToObject(entry, "shape"))
               && (offsets = cJSON_AddArrayToObject(entry, "data_offsets"));
    for (int i = 0; good && i < item->rank; i++)
        good = json_add(shape, NULL, cJSON_CreateNumber((double)item->shape[i]));
    good = good && json_add(offsets, NULL, cJSON_CreateNumber((double)offset));
    good = good && json_add(offsets, NULL, cJSON_CreateNumber((double)(offset + bytes)));
    if (good) return json_add(header, item->name, entry);
    cJSON_Delete(entry);
    return 0;
}

static int add_notes(cJSON *header, size_t count, const safetensors_note *notes)
{
    cJSON *object = cJSON_CreateObject();
    int good = object != NULL;
    for (size_t i = 0; good && i < count; i++)
        good = json_add(object, notes[i].key, cJSON_CreateString(notes[i].value));
    if (good) return json_add(header, "__metadata__", object);
    cJSON_Delete(object);
    return 0;
}

/* Prints the header, before padding; the caller frees *text with cJSON_free. */
static ssm2d_status make_header(const char *path, size_t count, const safetensors_item *items,
                                size_t note_count, const safetensors_note *notes, char **text,
                                ssm2d_error *error)
{
    cJSON *header = cJSON_CreateObject();
    int good = header && (!note_count || add_notes(header, note_count, notes));
    size_t offset = 0;
    ssm2d_status status = SSM2D_OK;
    for (int w = 0; good && w < WIDTHS; w++)
        for (size_t i = 0; good && i < count; i++) {
            size_t bytes;
            if (safetensors_type_size(items[i].type) != widths[w]) continue;
            status = check_item(path, &items[i], &bytes, error);
            if (status) goto done;
            good = add_item(header, &items[i], offset, bytes);
            offset += bytes;
        }
    *text = good ? cJSON_PrintUnformatted(header) : NULL;
    if (!*text) status = fail_memory(error, "%s: header", text_path(path));
done:
    cJSON_Delete(header);
    return status;
}

static ssm2d_status write_all(atomic_file *file, const char *text, size_t count,
                              const safetensors_item *items, ssm2d_error *error)
{
    size_t length = strlen(text), padded = div_up_size(length, PAD) * PAD;
    unsigned char start[8];
    for (int i = 0; i < 8; i++) start[i] = (unsigned char)((uint64_t)padded >> (8 * i));
    ssm2d_status status = atomic_write(file, start, sizeof start, error);
    if (!status) status = atomic_write(file, text, length, error);
    if (!status) status = atomic_write(file, "       ", padded - length, error);
    for (int w = 0; w < WIDTHS; w++)
        for (size_t i = 0; i < count && !status; i++) {
            size_t bytes = safetensors_type_size(items[i].type);
            if (bytes != widths[w]) continue;
            for (int k = 0; k < items[i].rank; k++) bytes *= items[i].shape[k];
            status = atomic_write(file, items[i].data, bytes, error);
        }
    return status;
}

ssm2d_status safetensors_write(const ssm2d_context *context, const char *path, size_t count,
                               const safetensors_item *items, size_t note_count,
                               const safetensors_note *notes, ssm2d_error *error)
{
    char *text = NULL;
    atomic_file file;
    const size_t max_count = max_size(count, note_count);
    const char **names = mem_alloc(context, max_count * sizeof *names);
    if (!names) return fail_memory(error, "%s: %zu names", text_path(path), max_count);
    for (size_t i = 0; i < count; i++) names[i] = items[i].name;
    ssm2d_status status = check_names(path, count, names, error);
    for (size_t i = 0; i < note_count; i++) names[i] = notes[i].key;
    if (!status) status = check_names(path, note_count, names, error);
    if (!status) status = make_header(path, count, items, note_count, notes, &text, error);
    if (!status) status = atomic_open(context, path, &file, error);
    if (!status) status = atomic_end(&file, write_all(&file, text, count, items, error), error);
    cJSON_free(text);
    mem_free(context, names);
    return status;
}
