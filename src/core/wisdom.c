#define SSM2D_EXPERIMENTAL
#include "core/wisdom.h"

#include "core/status.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

typedef struct entry {
    struct entry *next; /* in the order of their requests */
    char name[WISDOM_NAME];
    char request[];
} entry;

struct wisdom {
    pthread_mutex_t lock;
    entry *first;
};

ssm2d_status wisdom_create(const ssm2d_context *context, wisdom **out, ssm2d_error *error)
{
    wisdom *w = mem_alloc(context, sizeof *w);
    if (!w) return fail_memory(error, "context");
    if (pthread_mutex_init(&w->lock, NULL)) {
        mem_free(context, w);
        return fail(error, SSM2D_ERROR_SYSTEM, "a lock could not be made");
    }
    *out = w;
    return SSM2D_OK;
}

void wisdom_destroy(const ssm2d_context *context, wisdom *w)
{
    if (!w) return;
    while (w->first) {
        entry *e = w->first;
        w->first = e->next;
        mem_free(context, e);
    }
    pthread_mutex_destroy(&w->lock);
    mem_free(context, w);
}

/* Where the entry of a request is, or would be. */
static entry **place_of(wisdom *w, const char *request)
{
    entry **at = &w->first;
    while (*at && strcmp((*at)->request, request) < 0) at = &(*at)->next;
    return at;
}

static int is_at(entry *const *at, const char *request)
{
    return *at && !strcmp((*at)->request, request);
}

int wisdom_find(const ssm2d_context *context, const char *request, char name[WISDOM_NAME])
{
    wisdom *w = context->wisdom;
    pthread_mutex_lock(&w->lock);
    entry *const *at = place_of(w, request);
    const int found = is_at(at, request);
    if (found) memcpy(name, (*at)->name, WISDOM_NAME);
    pthread_mutex_unlock(&w->lock);
    return found;
}

ssm2d_status wisdom_add(const ssm2d_context *context, const char *request, const char *name,
                        ssm2d_error *error)
{
    wisdom *w = context->wisdom;
    const size_t length = strlen(request);
    entry *fresh = mem_alloc(context, sizeof *fresh + length + 1);
    if (!fresh) return fail_memory(error, "decision of measure");
    snprintf(fresh->name, sizeof fresh->name, "%s", name);
    memcpy(fresh->request, request, length + 1);
    pthread_mutex_lock(&w->lock);
    entry **at = place_of(w, request), *old = is_at(at, request) ? *at : NULL;
    fresh->next = old ? old->next : *at;
    *at = fresh;
    pthread_mutex_unlock(&w->lock);
    mem_free(context, old);
    return SSM2D_OK;
}

size_t ssm2d_wisdom_export(const ssm2d_context *context, char *text, size_t size)
{
    size_t length = 0;
    if (size) *text = 0;
    if (!context) return 0;
    pthread_mutex_lock(&context->wisdom->lock);
    for (const entry *e = context->wisdom->first; e; e = e->next) {
        if (length < size) snprintf(text + length, size - length, "%s | %s\n", e->request, e->name);
        length += strlen(e->request) + strlen(e->name) + strlen(" | \n");
    }
    pthread_mutex_unlock(&context->wisdom->lock);
    return length;
}
