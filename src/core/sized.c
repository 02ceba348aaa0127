#include "core/sized.h"

#include "core/arith.h"
#include "core/status.h"

#include <string.h>

void sized_init(void *out, size_t size, const void *defaults, size_t current)
{
    memset(out, 0, size);
    memcpy(out, defaults, min_size(size, current));
    if (size >= sizeof size) memcpy(out, &size, sizeof size);
}

int sized_write(void *out, size_t size, const void *full, size_t current)
{
    memset(out, 0, size);
    memcpy(out, full, min_size(size, current));
    return 1;
}

ssm2d_status sized_read(void *full, const void *given, const size_t *sizes, const char *name,
                        ssm2d_error *error)
{
    size_t size, current = 0;
    int known = 0;
    memcpy(&size, given, sizeof size);
    for (; *sizes; sizes++) {
        known |= size == *sizes;
        current = *sizes;
    }
    if (!known)
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "%s.size=%zu: start from ssm2d_%s_default(), of a header no newer than the "
                    "library",
                    name, size, name);
    memcpy(full, given, size);
    memcpy(full, &current, sizeof current);
    return SSM2D_OK;
}
