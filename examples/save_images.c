/* save_images DATA FOLDER COUNT - writes the first test images of a data set as PNG files, to have
 * something to classify. Prints the names of the files, which tell the index and the true class. */
#include "core/context.h"
#include "data/dataset.h"
#include "io/image.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

/* Writes a name such as FOLDER/00-ankle-boot.png to path. */
static void name_file(char *path, size_t size, const char *folder, size_t i, const char *class_name)
{
    int used = snprintf(path, size, "%s/%02zu-", folder, i);
    for (const char *c = class_name; used > 0 && (size_t)used + 5 < size && *c; c++)
        path[used++] = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '-';
    snprintf(path + used, size - (size_t)used, ".png");
}

static ssm2d_status save(ssm2d_context *context, const dataset *data, resize *to,
                         const image_info *info, uint8_t *pixels, size_t i, const char *folder,
                         ssm2d_error *error)
{
    char path[4096];
    image_writer *writer;
    const dataset_info *about = dataset_about(data);
    name_file(path, sizeof path, folder, i,
              about->labels == LABEL_CLASS ? about->label_names[dataset_label(data, i)] : "image");
    ssm2d_status status = dataset_fetch(data, i, to, pixels, error);
    if (!status) status = image_create(context, path, info, NULL, &writer, error);
    if (status) return status;
    for (size_t r = 0; r < info->rows && !status; r++)
        status = image_write_row(writer, pixels + r * info->cols * (size_t)info->channels, error);
    if (status) {
        image_abandon(writer);
        return status;
    }
    status = image_finish(writer, error);
    if (!status) puts(path);
    return status;
}

int main(int argc, char **argv)
{
    ssm2d_context *context = NULL;
    ssm2d_error error;
    dataset *data = NULL;
    resize *to = NULL;
    uint8_t *pixels = NULL;
    long count = argc == 4 ? atol(argv[3]) : 0;
    if (count < 1 || count > 100) {
        fprintf(stderr, "usage: save_images DATA FOLDER COUNT (1 to 100)\n");
        return 2;
    }
    ssm2d_status status = ssm2d_context_create(NULL, &context, &error);
    if (!status) status = dataset_open(context, argv[1], DATASET_TEST, &data, &error);
    if (!status) status = folder_make(argv[2], &error);
    if (!status) {
        const dataset_info *about = dataset_about(data);
        image_info info = {about->rows ? about->rows : 224, about->cols ? about->cols : 224,
                           about->channels};
        status = resize_create(context, info.rows, info.cols, info.channels, &to, &error);
        pixels = mem_alloc(context, info.rows * info.cols * (size_t)info.channels);
        for (size_t i = 0; i < (size_t)count && i < about->count && !status && pixels; i++)
            status = save(context, data, to, &info, pixels, i, argv[2], &error);
        if (!status && !pixels) {
            snprintf(error.line, sizeof error.line, "no memory for an image");
            status = SSM2D_ERROR_MEMORY;
        }
        mem_free(context, pixels);
    }
    resize_destroy(to);
    dataset_close(data);
    ssm2d_context_destroy(context);
    if (status) fprintf(stderr, "save_images: %s\n", error.line);
    return status ? 1 : 0;
}
