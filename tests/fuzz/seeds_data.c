/* seeds_data - data sets: idx files, CIFAR's files, data.json. */
#include "seeds.h"

#include "fuzz_input.h"

#include <stdio.h>
#include <zlib.h>

/* An idx file of `count` images of 2 x 3, or labels; returns its size. */
static size_t idx_file(uint8_t *out, int rank, int count)
{
    const uint8_t sizes[] = {(uint8_t)count, 2, 3};
    size_t used = 4;
    memset(out, 0, 64);
    out[2] = 8;
    out[3] = (uint8_t)rank;
    for (int i = 0; i < rank; i++, used += 4) out[used + 3] = sizes[i];
    for (int i = 0; i < count * (rank == 3 ? 6 : 1); i++) out[used++] = (uint8_t)(3 * i % 10);
    return used;
}

static size_t gzipped(uint8_t *out, size_t capacity, const uint8_t *bytes, size_t size)
{
    z_stream z = {.next_in = (uint8_t *)bytes,
                  .avail_in = (unsigned)size,
                  .next_out = out,
                  .avail_out = (unsigned)capacity};
    check(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK);
    check(deflate(&z, Z_FINISH) != Z_STREAM_END);
    deflateEnd(&z);
    return z.total_out;
}

/* As fuzz_idx.c describes them. */
static void seed_idx(void)
{
    static const uint8_t flags[] = {0, 1, 2, 8, 11, 4, 20, 0x80, 0x40};
    for (int i = 0; i < 9; i++) {
        uint8_t images[128], labels[128], packed[256], seed[1024] = {flags[i]};
        const size_t images_size = idx_file(images, 3, 3), labels_size = idx_file(labels, 1, 3);
        const size_t size = gzipped(packed, sizeof packed, images, images_size);
        size_t used = 1;
        if ((flags[i] >> 1 & 3) == 2)
            fuzz_add_part(seed, &used, packed, size);
        else
            fuzz_add_part(seed, &used, images, images_size);
        fuzz_add_part(seed, &used, labels, labels_size);
        if (flags[i] & 1) fuzz_add_part(seed, &used, labels, labels_size);
        seed_put("idx", i, seed, used);
    }
}

/* As fuzz_cifar.c describes them. */
static void seed_cifar(void)
{
    static const char ten[] = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n";
    static const uint8_t labels[] = {0, 1, 2, 9, 3, 4, 5, 6, 7, 8};
    for (int i = 0; i < 7; i++) {
        uint8_t seed[1024] = {(uint8_t)(i < 6 ? i : 16)};
        char names[201];
        size_t used = 1, length = sizeof ten - 1;
        memcpy(names, ten, sizeof ten);
        if (i & 1) {
            for (int k = 0; k < 200; k++) names[k] = k % 2 ? '\n' : 'x';
            length = 200;
        }
        fuzz_add_part(seed, &used, names, i & 4 ? length : 0);
        memcpy(seed + used, labels, sizeof labels);
        seed_put("cifar", i, seed, used + sizeof labels);
    }
}

/* As fuzz_celeba.c describes them. */
static void seed_celeba(void)
{
    static const char partition[] = "000001.jpg 0\n000002.jpg 1\n000003.jpg 2\n";
    for (int split = 0; split < 3; split++) {
        uint8_t seed[4096] = {(uint8_t)split};
        char text[2048];
        size_t used = 1, n = (size_t)sprintf(text, "3\n");
        for (int a = 0; a < 40; a++) n += (size_t)sprintf(text + n, "A%d ", a);
        for (int i = 1; i <= 3; i++) {
            n += (size_t)sprintf(text + n, "\n%06d.jpg", i);
            for (int a = 0; a < 40; a++)
                n += (size_t)sprintf(text + n, (a + i) % 3 ? " -1" : "  1");
        }
        fuzz_add_part(seed, &used, text, n);
        memcpy(seed + used, partition, sizeof partition - 1);
        seed_put("celeba", split, seed, used + sizeof partition - 1);
    }
}

/* As fuzz_cifar_png.c describes them. */
static void seed_cifar_png(void)
{
    static const char labels[] = "[0, 1, 9, 3, 4]";
    uint8_t seed[64] = {3};
    size_t used = 1;
    fuzz_add_part(seed, &used, labels, sizeof labels - 1);
    seed_put("cifar_png", 0, seed, used);
    seed[0] = 0x22;
    seed_put("cifar_png", 1, seed, used);
    seed[0] = 15;
    seed_put("cifar_png", 2, seed, used);
}

void seed_data(void)
{
    seed_idx();
    seed_cifar();
    seed_celeba();
    seed_cifar_png();
    seed_text("tiny_imagenet", 0,
              "val_1.JPEG\tn02\t0\t0\t9\t9\nval_0.JPEG\tn01\t1\t2\t3\t4\r\n"
              "val_10.JPEG\tn02\t0\t0\t9\t9\n");
    seed_text("tiny_imagenet", 1, "val_1.JPEG\tn02\nval_0.JPEG\tn03\n");
    seed_text("tiny_imagenet", 2, "n02\tcrane\nn01\tcrane, Grus grus\nn03\tplant\n");
    seed_text("data", 0,
              "{\"classes\": [\"a\", \"b\\n\"], \"channels\": 1, \"images\": 12, \"mean\": [0.5, "
              "0.5, 0.5], \"std\": [0.25, 1e-3, 2]}");
    seed_text("data", 1,
              "{\"classes\": [\"1\"], \"labels\": \"binary\", \"channels\": 3, \"images\": 1, "
              "\"names\": \"00ff\", \"mean\": [0, 0, 0], \"std\": [1, 1, 1]}");
    seed_text("data", 2,
              "{\"classes\": [\"crane\", \"frog\"], \"class_ids\": [\"n1\", \"n2\"], "
              "\"channels\": 3, \"mean\": [0, 0, 0], \"std\": [1, 1, 1]}");
}
