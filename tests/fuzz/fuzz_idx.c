/* fuzz_idx - any bytes as the idx files of a data set, plain or compressed.
 *
 * Input: a byte (bit 0: the test split, whose classes are those of the training labels; then two
 * bits on how the images are stored and two on the labels), and two or three parts: images, labels,
 * and the training labels. */
#include "fuzz.h"

#include "fuzz_dataset.h"

#include <zlib.h>

enum { STORE_PLAIN, STORE_COMPRESSED, STORE_MENDED, MAX_FILE = 32 << 10, MAX_INFLATED = 1 << 25 };

/* Compresses the bytes with gzip, into a static buffer. */
static const uint8_t *compressed(const uint8_t *bytes, size_t *size)
{
    static uint8_t out[2 * MAX_FILE];
    z_stream z = {.next_in = (uint8_t *)bytes,
                  .avail_in = (unsigned)*size,
                  .next_out = out,
                  .avail_out = sizeof out};
    REQUIRE(deflateInit2(&z, 1, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
    REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
    *size = z.total_out;
    deflateEnd(&z);
    return out;
}

/* The bytes are a gzip file: corrects the check sum and the length at its end, or no change before
 * them would ever be accepted. Into a static buffer. */
static const uint8_t *mended(const uint8_t *bytes, size_t size)
{
    static uint8_t file[MAX_FILE], chunk[1 << 16];
    unsigned long sum = crc32(0, NULL, 0), length = 0;
    int code = Z_OK;
    memcpy(file, bytes, size);
    z_stream z = {.next_in = file, .avail_in = (unsigned)size};
    REQUIRE(inflateInit2(&z, 15 + 16) == Z_OK);
    inflateValidate(&z, 0);
    while (code == Z_OK && length < MAX_INFLATED) {
        z.next_out = chunk;
        z.avail_out = sizeof chunk;
        code = inflate(&z, Z_NO_FLUSH);
        const unsigned got = (unsigned)(sizeof chunk - z.avail_out);
        sum = crc32(sum, chunk, got);
        length += got;
    }
    for (unsigned i = 0; code == Z_STREAM_END && i < 4; i++) {
        file[z.total_in - 8 + i] = (uint8_t)(sum >> 8 * i);
        file[z.total_in - 4 + i] = (uint8_t)(length >> 8 * i);
    }
    inflateEnd(&z);
    return file;
}

static void put_file(fuzz_input *in, unsigned how, const char *name)
{
    size_t size;
    const uint8_t *bytes = fuzz_part(in, &size);
    if (size > MAX_FILE) size = MAX_FILE;
    if (how == STORE_COMPRESSED) bytes = compressed(bytes, &size);
    if (how == STORE_MENDED) bytes = mended(bytes, size);
    fuzz_put(name, bytes, size);
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    const unsigned flags = fuzz_byte(&in);
    const int test = flags & 1;
    put_file(&in, flags >> 1 & 3, test ? "t10k-images-idx3-ubyte" : "train-images-idx3-ubyte");
    put_file(&in, flags >> 3 & 3, test ? "t10k-labels-idx1-ubyte" : "train-labels-idx1-ubyte");
    if (test && in.left)
        put_file(&in, STORE_PLAIN, "train-labels-idx1-ubyte");
    else if (test)
        fuzz_remove("train-labels-idx1-ubyte");
    fuzz_open_dataset(flags & 0x80   ? "fashion-mnist"
                      : flags & 0x40 ? "mnist"
                                     : "idx",
                      test ? DATASET_TEST : DATASET_TRAIN);
}
