/* skipped - which images could not be read and were passed over, noted by several threads. */
#ifndef SSM2D_DATA_SKIPPED_H
#define SSM2D_DATA_SKIPPED_H

#include "ssm2d.h"

#include <pthread.h>

typedef struct skipped {
    pthread_mutex_t lock;
    uint8_t *is_bad; /* [images of the data set] */
    size_t count, first;
    ssm2d_error why; /* of the first */
} skipped;

/* Says whether there was memory. Destroy it in either case. */
int skipped_create(const ssm2d_context *context, size_t images, skipped *s);
void skipped_destroy(const ssm2d_context *context, skipped *s);
void skipped_note(skipped *s, size_t image, const ssm2d_error *why);
/* Returns how many different images were noted; *first says why the one with the smallest number
 * could not be read, whichever thread came first. */
size_t skipped_count(skipped *s, ssm2d_error *first);

#endif
