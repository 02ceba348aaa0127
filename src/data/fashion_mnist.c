/* fashion_mnist - Zalando's 70,000 pictures of clothes, 28 x 28 grey, as Debian packages them. */
#include "core/status.h"
#include "data/samples.h"
#include "io/text.h"

#include <string.h>

static const char *const names[] = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                    "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};
enum { CLASSES = sizeof names / sizeof *names };

static ssm2d_status open_fashion(dataset *d, const char *folder, dataset_split split,
                                 ssm2d_error *error)
{
    if (!idx_found(folder)) {
        if (!strcmp(folder, d->impl->default_folder))
            return fail(error, SSM2D_ERROR_SYSTEM,
                        "fashion-mnist: is not in %s: run apt-get install dataset-fashion-mnist",
                        folder);
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: holds no idx files", text_path(folder));
    }
    ssm2d_status status = idx_open(d, folder, split, error);
    if (status) return status;
    if (d->info.label_count > CLASSES)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: has %d classes: it is not Fashion-MNIST, use idx:FOLDER",
                    text_path(folder), d->info.label_count);
    for (int i = 0; i < 3; i++) {
        d->info.norm.mean[i] = .2860f;
        d->info.norm.std[i] = .3530f;
    }
    return dataset_name_labels(d, CLASSES, names, error);
}

const dataset_impl dataset_fashion_mnist = {
    .name = "fashion-mnist",
    .help = "60,000 pictures of clothes, 28 x 28 grey (Debian: dataset-fashion-mnist)",
    .contents = "Fashion-MNIST's idx files",
    .default_folder = "/usr/share/datasets/fashion-mnist",
    .open = open_fashion,
    .fetch = samples_fetch,
    .label = samples_label,
    .close = samples_close,
};
