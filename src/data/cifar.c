/* cifar - CIFAR's binary files. A record is one label byte (CIFAR-100: coarse, fine) and 3 planes
 * of 32 x 32 bytes. */
#include "core/context.h"
#include "core/status.h"
#include "data/samples.h"
#include "io/file.h"
#include "io/text.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIDE = 32, PIXELS = 3 * SIDE * SIDE, FILES = 5, MAX_NAMES = 1 << 16 };

typedef struct variant {
    int label_count;
    size_t label_bytes;              /* of a record; the last is the label */
    const char *files[3][FILES + 1]; /* by split, NULL-terminated */
    const char *names;               /* optional file with a label's name on each line */
    normalisation norm;
} variant;

static const variant ten = {10,
                            1,
                            {{"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                              "data_batch_4.bin", "data_batch_5.bin"},
                             {NULL},
                             {"test_batch.bin"}},
                            "batches.meta.txt",
                            {{.4914f, .4822f, .4465f}, {.2470f, .2435f, .2616f}}};
static const variant hundred = {100,
                                2,
                                {{"train.bin"}, {NULL}, {"test.bin"}},
                                "fine_label_names.txt",
                                {{.5070f, .4865f, .4409f}, {.2673f, .2564f, .2762f}}};

static const char *const ten_names[] = {"airplane", "automobile", "bird",  "cat",  "deer",
                                        "dog",      "frog",       "horse", "ship", "truck"};

static const variant *variant_of(const dataset *d)
{
    return d->impl == &dataset_cifar100 ? &hundred : &ten;
}

/* Replaces red by grey: 0.2989 R + 0.587 G + 0.114 B, rounded, as Long Range Arena does. */
static void make_grey(uint8_t *pixels)
{
    const uint8_t *red = pixels, *green = red + SIDE * SIDE, *blue = green + SIDE * SIDE;
    for (int i = 0; i < SIDE * SIDE; i++)
        pixels[i] = (uint8_t)((2989 * red[i] + 5870 * green[i] + 1140 * blue[i] + 5000) / 10000);
}

/* Counts the records of a file. */
static ssm2d_status count_records(const char *path, size_t record, size_t *count,
                                  ssm2d_error *error)
{
    struct stat info;
    if (stat(path, &info)) return fail_errno(error, path, "cannot be opened");
    size_t size = (size_t)info.st_size;
    if (!S_ISREG(info.st_mode) || !size || size % record)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: has %zu bytes, not a multiple of %zu: it is truncated, or not CIFAR's",
                    text_path(path), size, record);
    *count = size / record;
    return SSM2D_OK;
}

static ssm2d_status read_records(const char *path, uint8_t *out, size_t size, ssm2d_error *error)
{
    FILE *stream;
    ssm2d_status status = file_open_regular(path, &stream, error);
    if (status) return status;
    size_t got = fread(out, 1, size, stream);
    if (got != size)
        status = fail(error, SSM2D_ERROR_SYSTEM, "%s: only %zu of its %zu bytes can be read",
                      text_path(path), got, size);
    fclose(stream);
    return status;
}

/* Names the labels by the file beside the data; without it by CIFAR-10's own names, or by their
 * indices. */
static ssm2d_status name_labels(dataset *d, const char *folder, ssm2d_error *error)
{
    const variant *v = variant_of(d);
    const char *lines[100];
    char path[PATH_MAX], *text = NULL, *rest;
    size_t size;
    int count = 0;
    if (dataset_path(path, sizeof path, folder, v->names, NULL) || access(path, F_OK))
        return dataset_name_labels(d, v->label_count, v == &ten ? ten_names : NULL, error);
    ssm2d_status status = file_read_regular(d->context, path, MAX_NAMES, &text, &size, error);
    if (status) return status;
    for (char *line = strtok_r(text, "\r\n", &rest); line; line = strtok_r(NULL, "\r\n", &rest)) {
        if (count < v->label_count) lines[count] = line;
        count++;
    }
    if (count != v->label_count)
        status =
            fail(error, SSM2D_ERROR_ARGUMENT, "%s: has %d label names, expected %d, one per line",
                 text_path(path), count, v->label_count);
    else
        status = dataset_name_labels(d, count, lines, error);
    mem_free(d->context, text);
    return status;
}

static ssm2d_status open_cifar(dataset *d, const char *folder, dataset_split split,
                               ssm2d_error *error)
{
    const variant *v = variant_of(d);
    const char *const *files = v->files[split];
    size_t record = v->label_bytes + PIXELS, counts[FILES] = {0}, count = 0;
    char path[PATH_MAX];
    samples *s;
    ssm2d_status status = samples_create(d, &s, error);
    for (int i = 0; !status && files[i]; i++) {
        status = dataset_path(path, sizeof path, folder, files[i], error);
        if (!status) status = count_records(path, record, &counts[i], error);
        count += counts[i];
    }
    if (status) return status;
    uint8_t *at = s->blocks[0] = mem_alloc(d->context, count * record);
    if (!at) return fail_memory(error, "%s: %zu images", text_path(folder), count);
    s->pixels = at + v->label_bytes;
    s->pixels_stride = s->label_stride = record;
    d->info = (dataset_info){.channels = 3, .rows = SIDE, .cols = SIDE, .norm = v->norm};
    status = name_labels(d, folder, error);
    for (int i = 0; !status && files[i]; i++) {
        dataset_path(path, sizeof path, folder, files[i], NULL);
        status = read_records(path, at, counts[i] * record, error);
        /* one file at a time, so that an error message has the image's index in its file */
        s->labels = at + v->label_bytes - 1;
        d->info.count = counts[i];
        if (!status) status = samples_check(d, path, error);
        at += counts[i] * record;
    }
    s->labels = s->blocks[0] + v->label_bytes - 1;
    d->info.count = count;
    return status;
}

/* The images of Long Range Arena: CIFAR-10 in grey, with its own normalisation. */
static ssm2d_status open_lra(dataset *d, const char *folder, dataset_split split,
                             ssm2d_error *error)
{
    ssm2d_status status = open_cifar(d, folder, split, error);
    if (status) return status;
    const samples *s = d->state;
    for (size_t i = 0; i < d->info.count; i++)
        make_grey(s->blocks[0] + ten.label_bytes + i * s->pixels_stride);
    d->info.channels = 1;
    d->info.norm = (normalisation){{.48f, .48f, .48f}, {.24f, .24f, .24f}};
    return SSM2D_OK;
}

static int found(const char *folder, const variant *v)
{
    return dataset_contains(folder, v->files[DATASET_TRAIN][0])
           || dataset_contains(folder, v->files[DATASET_TEST][0]);
}
static int found_ten(const char *folder) { return found(folder, &ten); }
static int found_hundred(const char *folder) { return found(folder, &hundred); }

const dataset_impl dataset_cifar10 = {
    .name = "cifar10",
    .help = "cifar10:FOLDER: CIFAR-10's binary files, data_batch_1.bin .. 5, test_batch.bin",
    .contents = "CIFAR-10's data_batch_*.bin",
    .found = found_ten,
    .open = open_cifar,
    .fetch = samples_fetch,
    .label = samples_label,
    .close = samples_close,
};
const dataset_impl dataset_cifar100 = {
    .name = "cifar100",
    .help = "cifar100:FOLDER: CIFAR-100's binary files, train.bin and test.bin",
    .contents = "CIFAR-100's train.bin",
    .found = found_hundred,
    .open = open_cifar,
    .fetch = samples_fetch,
    .label = samples_label,
    .close = samples_close,
};
const dataset_impl dataset_lra_image = {
    .name = "lra-image",
    .help = "lra-image:FOLDER: CIFAR-10's binary files in grey, the images of Long Range Arena",
    .contents = "CIFAR-10's data_batch_*.bin",
    .open = open_lra,
    .fetch = samples_fetch,
    .label = samples_label,
    .close = samples_close,
};
