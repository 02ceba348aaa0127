/* report_loss_note - what the training losses of several runs contain. */
#include "report/report_groups.h"

#include <stdio.h>
#include <string.h>

enum { MAX_KINDS = 3 }; /* at most, in the sentence */

static const char *parts_of(const report_run *run, char parts[LOSS_PARTS])
{
    *parts = 0;
    return run->known ? loss_parts(&run->settings, run->task, parts) : parts;
}

/* Counts the runs with these parts; *first is the first of them. */
static int count_runs(const report *r, const char *parts, int *first)
{
    char other[LOSS_PARTS];
    int count = 0;
    for (int i = r->run_count - 1; i >= 0; i--)
        if (!strcmp(parts, parts_of(&r->runs[i], other))) {
            *first = i;
            count++;
        }
    return count;
}

/* "A in 2 of 4 runs, with B in 1 of 4 runs"; A alone when all have it. */
static void list_parts(const report *r, char *list, size_t size)
{
    char parts[LOSS_PARTS];
    int kinds = 0, first = 0;
    *list = 0;
    for (int i = 0; i < r->run_count; i++) {
        const size_t used = strlen(list);
        if (!*parts_of(&r->runs[i], parts)) continue;
        const int count = count_runs(r, parts, &first);
        if (first != i) continue;
        if (kinds++ == MAX_KINDS) {
            snprintf(list + used, size - used, ", with others in other runs");
            return;
        }
        if (count == r->run_count)
            snprintf(list, size, "%s", parts);
        else
            snprintf(list + used, size - used, "%s%s in %d of %d runs", used ? ", with " : "",
                     parts, count, r->run_count);
    }
}

const char *report_loss_note(const report *r, char note[LOSS_NOTE])
{
    char list[(MAX_KINDS + 1) * (LOSS_PARTS + 32)];
    int validation = 0, test = 0;
    for (int i = 0; i < r->run_count; i++)
        if (r->runs[i].last) *(r->runs[i].last->validation ? &validation : &test) = 1;
    list_parts(r, list, sizeof list);
    return loss_note(list, !validation ? "test" : test ? "test or validation" : "validation", note);
}
