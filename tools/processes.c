#include "processes.h"

#include "core/processors.h"
#include "core/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static cluster together;
static int joined; /* `together` means something */

cluster *processes(void) { return &together; }

int processes_speak(void) { return joined ? together.speaks : !launcher_find(getenv).rank; }

/* What others than the first print would be there twice. */
static void silence(void)
{
    fflush(stdout);
    if (together.rank && !freopen("/dev/null", "w", stdout)) fclose(stdout);
}

/* A launcher ends all processes when one has failed: the first needs a moment to say why. */
static void leave_the_word(void)
{
    if (!together.speaks) nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
}

ssm2d_status processes_join(const command *c, ssm2d_error *error)
{
    const launcher l = launcher_find(getenv);
    together = cluster_alone();
    joined = 1;
    if (!c->several && l.name && l.size > 1) {
        together.speaks = l.rank == 0;
        leave_the_word();
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "works in one process, and %s has started %d: train, eval, bench train and "
                    "bench scale use several",
                    l.name, l.size);
    }
    const ssm2d_status status = c->several ? cluster_join(&together, error) : SSM2D_OK;
    if (status)
        leave_the_word();
    else
        silence();
    return status;
}

/* The words of the command line, one per line, but for the number of threads, which may differ. */
static const char *words_of(int argc, char **argv)
{
    static char words[1 << 16];
    size_t used = 0;
    for (int i = 0; i < argc && used < sizeof words; i++) {
        const char *word = argv[i];
        if (!strcmp(word, "--threads"))
            i++;
        else if (strncmp(word, "--threads=", 10))
            used += (size_t)snprintf(words + used, sizeof words - used, "%s\n", word);
    }
    return words;
}

ssm2d_status processes_meet(const ssm2d_context *context, int argc, char **argv,
                            ssm2d_status status, ssm2d_error *error)
{
    return cluster_meet(&together, context, words_of(argc, argv), status, error);
}

int processes_threads(long given)
{
    if (given || together.size == 1) return (int)given;
    return cluster_threads(&together, processors_available());
}

void processes_failed(ssm2d_error *error)
{
    cluster *c = &together;
    if (c->size == 1 || c->agreed || c->is_lost) return;
    c->is_lost = 1;
    if (!c->rank) return;
    nanosleep(&(struct timespec){.tv_sec = 1}, NULL); /* in which a launcher ends it */
    const ssm2d_error own = *error;
    c->speaks = 1;
    fail(error, SSM2D_ERROR_SYSTEM, "rank %d: %s", c->rank, own.line);
}

void processes_leave(int code)
{
    if (together.is_lost) {
        fflush(NULL);
        /* the one that reports it must not see this one end before, and take it for the cause */
        if (!together.speaks) nanosleep(&(struct timespec){.tv_sec = 3}, NULL);
        _exit(code);
    }
    cluster_leave(&together);
}
