/* mnist - MNIST and Fashion-MNIST: 70,000 grey images of 28 x 28 pixels, as idx files. */
#include "core/status.h"
#include "data/samples.h"
#include "io/text.h"

#include <string.h>

enum { LABELS = 10 };

/* Opens idx files with at most 10 labels; names NULL: they are digits. */
static ssm2d_status open_images(dataset *d, const char *folder, dataset_split split,
                                const char *title, const char *const names[LABELS], float mean,
                                float std, ssm2d_error *error)
{
    ssm2d_status status = idx_open(d, folder, split, error);
    if (status) return status;
    if (d->info.label_count > LABELS)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: has %d labels: it is not %s, use idx:FOLDER",
                    text_path(folder), d->info.label_count, title);
    d->info.norm = (normalisation){{mean, mean, mean}, {std, std, std}};
    return dataset_name_labels(d, LABELS, names, error);
}

static ssm2d_status open_mnist(dataset *d, const char *folder, dataset_split split,
                               ssm2d_error *error)
{
    return open_images(d, folder, split, "MNIST", NULL, .1307f, .3081f, error);
}

static ssm2d_status open_fashion(dataset *d, const char *folder, dataset_split split,
                                 ssm2d_error *error)
{
    static const char *const names[LABELS] = {"T-shirt/top", "Trouser",   "Pullover", "Dress",
                                              "Coat",        "Sandal",    "Shirt",    "Sneaker",
                                              "Bag",         "Ankle boot"};
    if (idx_found(folder))
        return open_images(d, folder, split, "Fashion-MNIST", names, .2860f, .3530f, error);
    if (!strcmp(folder, d->impl->default_folder))
        return fail(error, SSM2D_ERROR_SYSTEM,
                    "fashion-mnist: is not in %s: run apt-get install dataset-fashion-mnist, or "
                    "ssm2d data get fashion-mnist FOLDER",
                    folder);
    return fail(error, SSM2D_ERROR_ARGUMENT, "%s: contains no idx files", text_path(folder));
}

const dataset_impl dataset_mnist = {
    .name = "mnist",
    .help = "mnist:FOLDER: 60,000 handwritten digits, 28 x 28 grey (ssm2d data get mnist FOLDER)",
    .contents = "MNIST's idx files",
    .open = open_mnist,
    .fetch = samples_fetch,
    .label = samples_label,
    .close = samples_close,
};

const dataset_impl dataset_fashion_mnist = {
    .name = "fashion-mnist",
    .help = "60,000 pictures of clothes, 28 x 28 grey (Debian: dataset-fashion-mnist, or data get)",
    .contents = "Fashion-MNIST's idx files",
    .default_folder = "/usr/share/datasets/fashion-mnist",
    .open = open_fashion,
    .fetch = samples_fetch,
    .label = samples_label,
    .close = samples_close,
};
