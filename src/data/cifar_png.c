#include "data/cifar_png.h"

#include "core/context.h"
#include "core/status.h"
#include "io/file.h"
#include "io/image.h"
#include "io/json.h"
#include "io/md5.h"
#include "io/text.h"

#include <string.h>

enum { PIXELS = 1024, RECORD = 1 + 3 * PIXELS, LABELS = 10 };

/* Reads `images` labels of the list, from index `first` on. */
static ssm2d_status read_labels(const ssm2d_context *context, const cifar_png *from,
                                uint8_t *labels, ssm2d_error *error)
{
    cJSON *root = NULL;
    size_t at = 0;
    ssm2d_status status = json_read_regular(context, from->labels, &root, error);
    if (status) return status;
    const cJSON *item;
    cJSON_ArrayForEach(item, root)
    {
        const int label = cJSON_IsNumber(item) ? item->valueint : -1;
        if (!cJSON_IsArray(root) || label < 0 || label >= LABELS) break;
        if (at >= from->first && at < from->first + from->images)
            labels[at - from->first] = (uint8_t)label;
        at++;
    }
    if (item || at < from->first + from->images)
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "%s: label %zu of %zu is missing, or not an integer from 0 to 9",
                      text_path(from->labels), at, from->first + from->images);
    cJSON_Delete(root);
    return status;
}

static ssm2d_status write_records(const cifar_png *from, image_reader *picture,
                                  const uint8_t *labels, atomic_file *file,
                                  void (*progress)(void *user, size_t images), void *user,
                                  ssm2d_error *error)
{
    md5 sum = md5_start();
    char text[MD5_TEXT];
    ssm2d_status status = SSM2D_OK;
    for (size_t i = 0; i < from->images && !status; i++) {
        uint8_t row[3 * PIXELS], record[RECORD];
        status = image_read_row(picture, row, error);
        if (status) break;
        record[0] = labels[i];
        for (size_t k = 0; k < 3 * PIXELS; k++) record[1 + k % 3 * PIXELS + k / 3] = row[k];
        md5_add(&sum, record, RECORD);
        status = atomic_write(file, record, RECORD, error);
        if (progress) progress(user, i + 1);
    }
    if (status || !strcmp(md5_end(&sum, text), from->md5)) return status;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "%s: has the MD5 %s, expected %s of the published file", text_path(from->picture),
                text, from->md5);
}

ssm2d_status cifar_png_convert(const ssm2d_context *context, const cifar_png *from,
                               const char *path, void (*progress)(void *user, size_t images),
                               void *user, ssm2d_error *error)
{
    image_reader *picture = NULL;
    image_info info;
    atomic_file file;
    const image_read_options how = {.max_pixels = IMAGE_MAX_PIXELS, .regular = 1};
    uint8_t *labels = mem_alloc(context, from->images);
    ssm2d_status status = labels ? read_labels(context, from, labels, error)
                                 : fail_memory(error, "%zu labels", from->images);
    if (!status) status = image_open(context, from->picture, &how, &picture, &info, error);
    if (!status && (info.rows != from->images || info.cols != PIXELS || info.channels != 3))
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "%s: has %zu x %zu pixels of %d channels: expected %zu x 1024 of 3",
                      text_path(from->picture), info.rows, info.cols, info.channels, from->images);
    if (!status) status = atomic_open(context, path, &file, error);
    if (!status) {
        status = write_records(from, picture, labels, &file, progress, user, error);
        status = atomic_end(&file, status, error);
    }
    image_close(picture);
    mem_free(context, labels);
    return status;
}
