/* mnist - 70,000 handwritten digits, 28 x 28 grey, as idx files. */
#include "core/status.h"
#include "data/samples.h"
#include "io/text.h"

enum { CLASSES = 10 };

static ssm2d_status open_mnist(dataset *d, const char *folder, dataset_split split,
                               ssm2d_error *error)
{
    ssm2d_status status = idx_open(d, folder, split, error);
    if (status) return status;
    if (d->info.label_count > CLASSES)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s: has %d classes: it is not MNIST, use idx:FOLDER", text_path(folder),
                    d->info.label_count);
    for (int i = 0; i < 3; i++) {
        d->info.norm.mean[i] = .1307f;
        d->info.norm.std[i] = .3081f;
    }
    return dataset_name_labels(d, CLASSES, NULL, error);
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
