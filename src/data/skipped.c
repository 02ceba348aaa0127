#include "data/skipped.h"

#include "core/context.h"

int skipped_create(const ssm2d_context *context, size_t images, skipped *s)
{
    *s = (skipped){.is_bad = mem_alloc(context, images)};
    pthread_mutex_init(&s->lock, NULL);
    return s->is_bad != NULL;
}

void skipped_destroy(const ssm2d_context *context, skipped *s)
{
    pthread_mutex_destroy(&s->lock);
    mem_free(context, s->is_bad);
}

void skipped_note(skipped *s, size_t image, const ssm2d_error *why)
{
    pthread_mutex_lock(&s->lock);
    if (!s->count || image < s->first) {
        s->first = image;
        s->why = *why;
    }
    s->count += !s->is_bad[image];
    s->is_bad[image] = 1;
    pthread_mutex_unlock(&s->lock);
}

size_t skipped_count(skipped *s, ssm2d_error *first)
{
    pthread_mutex_lock(&s->lock);
    const size_t count = s->count;
    *first = s->why;
    pthread_mutex_unlock(&s->lock);
    return count;
}
