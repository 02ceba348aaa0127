/* fuzz_cifar - CIFAR's binary files, and the file with the names of the classes.
 *
 * Input: a byte (bit 0: CIFAR-100; bit 1: the test split; bit 2: there is a file of names; bit 3:
 * the files are the bytes as they are, else each byte is the label of a record; bit 4: in grey), a
 * part with the
 * names, and the bytes. */
#include "fuzz.h"

#include "fuzz_dataset.h"

enum { PIXELS = 3072, FILES = 5, MAX_RECORDS = 20 };

static const char *const ten[] = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                  "data_batch_4.bin", "data_batch_5.bin"};

/* A file with a record for each label byte. */
static void put_records(const char *name, const uint8_t *labels, size_t count, size_t label_bytes)
{
    static uint8_t records[MAX_RECORDS * (PIXELS + 2)];
    const size_t record = PIXELS + label_bytes;
    for (size_t i = 0; i < count; i++) {
        memset(records + i * record, labels[i] ^ 0x55, record);
        records[i * record + label_bytes - 1] = labels[i];
    }
    fuzz_put(name, records, count * record);
}

static void put_file(const char *name, const uint8_t *bytes, size_t size, unsigned flags)
{
    if (flags & 8)
        fuzz_put(name, bytes, size);
    else
        put_records(name, bytes, size < MAX_RECORDS ? size : MAX_RECORDS, flags & 1 ? 2 : 1);
}

static void fuzz_one(const uint8_t *data, size_t size)
{
    fuzz_input in = {data, size};
    const unsigned flags = fuzz_byte(&in);
    const char *const names_file = flags & 1 ? "fine_label_names.txt" : "batches.meta.txt";
    size_t names_size;
    const uint8_t *names = fuzz_part(&in, &names_size);
    if (flags & 4)
        fuzz_put(names_file, names, names_size);
    else
        fuzz_remove(names_file);
    if (flags & 3)
        put_file(!(flags & 1) ? "test_batch.bin"
                 : flags & 2  ? "test.bin"
                              : "train.bin",
                 in.at, in.left, flags);
    else
        for (size_t i = 0; i < FILES; i++) {
            const size_t share = in.left / (FILES - i);
            put_file(ten[i], in.at, share, flags);
            in.at += share;
            in.left -= share;
        }
    fuzz_open_dataset(flags & 1    ? "cifar100"
                      : flags & 16 ? "lra-image"
                                   : "cifar10",
                      flags & 2 ? DATASET_TEST : DATASET_TRAIN);
}
