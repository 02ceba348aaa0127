/* idx - MNIST's file format: a big-endian header (0, 0, type 8, rank, sizes), then bytes; plain or
 * gzipped. */
#include "core/arith.h"
#include "core/context.h"
#include "core/status.h"
#include "data/samples.h"
#include "io/file_open.h"
#include "io/text.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum {
    MAX_SIDE = 4096,
    MAX_READ = 1 << 26,
    BUFFER = 1 << 17,
    MAX_DEFLATE = 1032 /* the highest compression factor of deflate */
};

typedef enum part { IMAGES, LABELS } part;

static const char *const split_names[] = {"train", "", "t10k"}; /* by dataset_split */
static const char *const patterns[][2] = {
    {"%s-images-idx3-ubyte", "%s-labels-idx1-ubyte"},
    {"%s-images-idx3-ubyte.gz", "%s-labels-idx1-ubyte.gz"},
    {"%s-images.idx3-ubyte", "%s-labels.idx1-ubyte"},
    {"%s-images.idx3-ubyte.gz", "%s-labels.idx1-ubyte.gz"},
};
enum { PATTERNS = sizeof patterns / sizeof *patterns };

/* Finds a file under one of its names; if there is none, path is the first name. */
static int find_file(const char *folder, dataset_split split, part which, char *path, size_t size)
{
    char name[64];
    for (int i = 0; i <= PATTERNS; i++) {
        snprintf(name, sizeof name, patterns[i % PATTERNS][which], split_names[split]);
        if (dataset_path(path, size, folder, name, NULL)) return 0;
        if (i < PATTERNS && !access(path, F_OK)) return 1;
    }
    return 0;
}

int idx_found(const char *folder)
{
    char path[PATH_MAX];
    return find_file(folder, DATASET_TRAIN, IMAGES, path, sizeof path)
           || find_file(folder, DATASET_TEST, IMAGES, path, sizeof path);
}

/* Reads exactly `size` bytes of uncompressed data. */
static ssm2d_status read_bytes(gzFile file, const char *path, uint8_t *out, size_t size,
                               ssm2d_error *error)
{
    for (size_t have = 0; have < size;) {
        size_t ask = min_size(size - have, MAX_READ);
        int got = gzread(file, out + have, (unsigned)ask), code;
        if (got > 0) {
            have += (size_t)got;
            continue;
        }
        gzerror(file, &code);
        if (code == Z_ERRNO) return fail_errno(error, path, "cannot be read");
        if (code == Z_MEM_ERROR) return fail_memory(error, "reading %s", text_path(path));
        if (code == Z_DATA_ERROR)
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: its compressed data is damaged",
                        text_path(path));
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is truncated: %zu of %zu bytes are missing",
                    text_path(path), size - have, size);
    }
    return SSM2D_OK;
}

/* Refuses trailing bytes. Reading to the end also makes zlib verify the checksum. */
static ssm2d_status read_end(gzFile file, const char *path, ssm2d_error *error)
{
    char beyond;
    int got = gzread(file, &beyond, 1), code;
    if (got > 0)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: has more bytes than its header says",
                    text_path(path));
    gzerror(file, &code);
    if (got == 0 && (code == Z_OK || code == Z_STREAM_END)) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: is %s", text_path(path),
                code == Z_BUF_ERROR ? "truncated at its end" : "damaged: its checksum is wrong");
}

/* Reads and checks the header; fills in sizes[rank]. */
static ssm2d_status read_header(gzFile file, const char *path, int rank, size_t *sizes,
                                ssm2d_error *error)
{
    uint8_t bytes[16];
    ssm2d_status status = read_bytes(file, path, bytes, 4 + 4 * (size_t)rank, error);
    if (status) return status;
    if (bytes[0] || bytes[1] || bytes[2] != 8 || bytes[3] != rank)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: begins with %02x%02x%02x%02x: expected 000008%02x, idx %s of 8 bits",
                    text_path(path), bytes[0], bytes[1], bytes[2], bytes[3], rank,
                    rank == 3 ? "images" : "labels");
    for (int i = 0; i < rank; i++) {
        const uint8_t *b = bytes + 4 + 4 * i;
        sizes[i] = (size_t)b[0] << 24 | (size_t)b[1] << 16 | (size_t)b[2] << 8 | b[3];
        if (!sizes[i] || (i && sizes[i] > MAX_SIDE))
            return fail(error, SSM2D_ERROR_ARGUMENT, "%s: its header says %s=%zu: use 1 %s",
                        text_path(path),
                        i == 0   ? "count"
                        : i == 1 ? "rows"
                                 : "cols",
                        sizes[i], i ? "to 4096" : "or more");
    }
    return SSM2D_OK;
}

/* Reads a whole file: sizes[rank], and the data, which the caller frees with mem_free. */
static ssm2d_status read_file(const ssm2d_context *context, const char *path, int rank,
                              size_t *sizes, uint8_t **out, ssm2d_error *error)
{
    struct stat info;
    size_t bytes = 1, held;
    *out = NULL;
    const int fd = file_fd(AT_FDCWD, path, FILE_READ, &info);
    if (fd < 0) return file_refused(fd, path, "cannot be opened", error);
    gzFile file = gzdopen(fd, "rb");
    if (!file) {
        close(fd);
        return fail_memory(error, "reading %s", text_path(path));
    }
    gzbuffer(file, BUFFER);
    ssm2d_status status = read_header(file, path, rank, sizes, error);
    if (status) goto done;
    for (int i = 0; i < rank; i++) bytes *= sizes[i];
    /* the header is not trusted: nothing is allocated beyond what the file can contain */
    held = (size_t)info.st_size * (gzdirect(file) ? 1 : MAX_DEFLATE);
    if (bytes > held) {
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "%s: is truncated: its header says %zu bytes, it has %zu", text_path(path),
                      bytes, (size_t)info.st_size);
        goto done;
    }
    *out = mem_alloc(context, bytes);
    if (!*out) {
        status = fail_memory(error, "%s: %zu bytes", text_path(path), bytes);
        goto done;
    }
    status = read_bytes(file, path, *out, bytes, error);
    if (!status) status = read_end(file, path, error);
done:
    gzclose(file);
    if (status) {
        mem_free(context, *out);
        *out = NULL;
    }
    return status;
}

/* One more than the largest label. */
static int count_labels(const uint8_t *labels, size_t count)
{
    int largest = 0;
    for (size_t i = 0; i < count; i++) largest = max_int(largest, labels[i]);
    return largest + 1;
}

/* Sets *label_count from the training split, if it exists: the test split may lack some labels. */
static ssm2d_status count_training_labels(dataset *d, const char *folder, int *label_count,
                                          ssm2d_error *error)
{
    char path[PATH_MAX];
    uint8_t *labels;
    size_t count;
    if (!find_file(folder, DATASET_TRAIN, LABELS, path, sizeof path)) return SSM2D_OK;
    const ssm2d_status status = read_file(d->context, path, 1, &count, &labels, error);
    if (status) return status;
    *label_count = count_labels(labels, count);
    mem_free(d->context, labels);
    return SSM2D_OK;
}

ssm2d_status idx_open(dataset *d, const char *folder, dataset_split split, ssm2d_error *error)
{
    char images[PATH_MAX], labels[PATH_MAX];
    size_t sizes[3], count;
    samples *s;
    ssm2d_status status = samples_create(d, &s, error);
    if (status) return status;
    /* a missing file is reported by read_file */
    find_file(folder, split, IMAGES, images, sizeof images);
    find_file(folder, split, LABELS, labels, sizeof labels);
    status = read_file(d->context, images, 3, sizes, &s->blocks[0], error);
    if (!status) status = read_file(d->context, labels, 1, &count, &s->blocks[1], error);
    if (status) return status;
    if (count != sizes[0])
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: has %zu labels, but there are %zu images",
                    text_path(labels), count, sizes[0]);
    s->pixels = s->blocks[0];
    s->labels = s->blocks[1];
    s->pixels_stride = sizes[1] * sizes[2];
    s->label_stride = 1;
    d->info = (dataset_info){.count = count,
                             .channels = 1,
                             .rows = sizes[1],
                             .cols = sizes[2],
                             .norm = {{.5f, .5f, .5f}, {.5f, .5f, .5f}}};
    int label_count = count_labels(s->labels, count);
    if (split != DATASET_TRAIN) status = count_training_labels(d, folder, &label_count, error);
    if (!status) status = dataset_name_labels(d, label_count, NULL, error);
    if (!status) status = samples_check(d, labels, error);
    return status;
}

const dataset_impl dataset_idx = {
    .name = "idx",
    .format = FORMAT_ARRAYS,
    .help = "idx:FOLDER: MNIST's format, train-images-idx3-ubyte[.gz] .. and t10k-..",
    .contents = "idx files",
    .found = idx_found,
    .open = idx_open,
    .fetch = samples_fetch,
    .label = samples_label,
    .close = samples_close,
};
