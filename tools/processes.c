#include "processes.h"

#include "core/processors.h"
#include "core/status.h"
#include "io/file_open.h"
#include "keeper.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static cluster together;
static int joined; /* `together` is initialised */

cluster *processes(void) { return &together; }

int processes_speak(void) { return joined ? together.speaks : !launcher_find(getenv).rank; }

/* Only the first process prints to standard output. */
static void silence(void)
{
    fflush(stdout);
    if (!together.rank) return;
    const int fd = null_fd(O_WRONLY | O_CLOEXEC);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0) fclose(stdout);
    if (fd >= 0) close(fd);
}

/* A launcher kills all processes when one has failed: gives the first time to report why. */
static void let_first_report(void)
{
    if (!together.speaks) nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
}

ssm2d_status processes_join(const command *c, ssm2d_error *error)
{
    const launcher l = launcher_find(getenv);
    together = cluster_alone();
    joined = 1;
    if (c->several == SEVERAL_REFUSED && l.name && l.size > 1) {
        together.speaks = l.rank == 0;
        let_first_report();
        return fail(error, SSM2D_ERROR_ARGUMENT,
                    "works in one process, and %s has started %d: train, eval, bench train, "
                    "bench scale and reproduce use several",
                    l.name, l.size);
    }
    ssm2d_status status = SSM2D_OK;
    board_ticket *ticket = NULL;
    if (c->several != SEVERAL_TOGETHER) return SSM2D_OK;
    if (l.name && l.size != 1) status = keeper_start(c->name, &l, &ticket, error);
    if (!status) status = cluster_join(&together, ticket, error);
    if (ticket && (status || together.size == 1)) ticket->leaving = 1; /* no process waits for it */
    if (status)
        let_first_report();
    else
        silence();
    return status;
}

const char *processes_words(int argc, char **argv)
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

int processes_threads(long given)
{
    if (given || together.size == 1) return (int)given;
    return cluster_threads(&together, processors_available());
}

/* Seconds in which the launcher, or a rank that knows the cause, may end the job. */
static const double patience = 3;

void processes_failed(ssm2d_error *error)
{
    cluster *c = &together;
    atomic_int *flag = cluster_abort_flag(c);
    if (c->size == 1 || c->agreed) return;
    if (c->is_lost) { /* because of another rank, whose keeper reports it */
        c->speaks = flag ? abort_wait(flag, patience) : c->speaks;
        return;
    }
    c->is_lost = 1;
    if (flag)
        c->speaks = abort_claim(flag);
    else if (c->rank) { /* a failure of the first process ends this one meanwhile */
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
        c->speaks = 1;
    }
    const ssm2d_error own = *error;
    fail(error, SSM2D_ERROR_SYSTEM, "rank %d: %s", c->rank, own.line);
}

void processes_leave(int code)
{
    cluster *c = &together;
    atomic_int *flag = cluster_abort_flag(c);
    if (c->ticket) atomic_store(&c->ticket->leaving, 1);
    if (c->is_lost) {
        fflush(NULL);
        if (flag && c->speaks) abort_reported(flag);
        if (flag && !c->speaks) abort_wait(flag, patience); /* let the other rank report it */
        _exit(code);
    }
    cluster_leave(c);
}
