#include "reproduce_run.h"

#include "core/context.h"
#include "core/status.h"
#include "io/file.h"
#include "io/file_open.h"
#include "io/text.h"
#include "tools/runs/run_name.h"
#include "tools/runs/train_view.h"
#include "tools/stop_signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { WAIT_MILLISECONDS = 500 };

/* What this process knows of a run. */
typedef struct attempt {
    int tried;         /* here, and it failed */
    int failed_before; /* before this process began */
} attempt;

/* ---- claims ---------------------------------------------------------------------------------- */

/* Claims a run for this process by a lock on OUT/claims/NAME, which ends with the process in any
 * case. *claim is -1 if another process has it. The run's own lock is held only while training;
 * this one also covers its evaluation. */
static ssm2d_status claim_run(const plan *p, const planned_run *run, int *claim, ssm2d_error *error)
{
    char path[RUN_PATH];
    int lock = -1;
    snprintf(path, sizeof path, "%s/claims/%s", p->options.out, run->name);
    *claim = -1;
    int fd;
    const ssm2d_status opened = file_open_fd(AT_FDCWD, path, path, FILE_LOCK, &fd, error);
    if (opened) return opened;
    if (flock(fd, LOCK_EX | LOCK_NB)) {
        const int is_taken = errno == EWOULDBLOCK;
        close(fd);
        if (is_taken) return SSM2D_OK;
        return fail(error, SSM2D_ERROR_SYSTEM,
                    "%s: cannot be locked: %s; a folder for several processes needs a file system "
                    "with locks",
                    text_path(path), strerror(errno));
    }
    /* ssm2d train --resume knows nothing of claims */
    if (run_exists(run->folder)) {
        const ssm2d_status status = run_lock(run->folder, &lock, error);
        if (status) close(fd);
        if (status) return status == SSM2D_ERROR_ARGUMENT ? SSM2D_OK : status; /* taken, or worse */
        run_unlock(lock);
    }
    *claim = fd;
    return SSM2D_OK;
}

/* ---- one run --------------------------------------------------------------------------------- */

typedef struct running {
    train_view view; /* first: hooks of the view get a pointer to this */
    size_t parameters, bytes;
} running;

static void on_start(void *user, const train_start *start)
{
    running *r = user;
    r->parameters = start->parameters;
    r->bytes = start->bytes;
    train_view_start(&r->view, start);
}

static ssm2d_status train_run(ssm2d_context *context, const planned_run *run, running *r,
                              train_result *result, ssm2d_error *error)
{
    run_control hooks = {r,
                         stop_requested,
                         on_start,
                         train_view_step,
                         train_view_testing,
                         train_view_epoch,
                         .checking = train_view_checking};
    train_settings settings;
    char checked[RUN_PATH];
    if (run_exists(run->folder)) {
        const train_changes changes = {.data = run->data->spec};
        return train_resume_changed(context, run->folder, &changes, &hooks, result, error);
    }
    const ssm2d_status status = plan_settings(run, &settings, error);
    if (!status && dataset_format_of(settings.options.data) == FORMAT_PHOTOS)
        hooks.checked = checked_images_path(settings.options.data, checked);
    return status ? status : train_begin(context, run->folder, &settings, &hooks, result, error);
}

/* Trains and evaluates a claimed run. */
static ssm2d_status do_run(const reproduce_job *job, int number, int *stopped, ssm2d_error *error)
{
    const planned_run *run = &job->plan->runs[number];
    running r = {.parameters = 0};
    train_result result = {0};
    train_view_open(&r.view, ssm2d_context_threads(job->context));
    snprintf(r.view.of, sizeof r.view.of, "run %d/%d, ", number + 1, job->plan->count);
    printf("run %d/%d: %s\n", number + 1, job->plan->count, run->name);
    fflush(stdout);
    ssm2d_status status = train_run(job->context, run, &r, &result, error);
    train_view_close(&r.view);
    *stopped = result.stopped;
    if (!status && !result.stopped)
        status = reproduce_finish(job->context, run, &result, r.parameters, r.bytes, stop_requested,
                                  stopped, error);
    if (!status && !*stopped) status = reproduce_note_failure(job->context, run, NULL, error);
    return status;
}

/* ---- all runs -------------------------------------------------------------------------------- */

/* Whether this process should still do a run. */
static int is_wanted(run_state state, const attempt *m)
{
    if (state == RUN_DONE || m->tried) return 0;
    return state != RUN_FAILED || m->failed_before;
}

static ssm2d_status note_failure(const reproduce_job *job, int number, const ssm2d_error *why,
                                 reproduce_outcome *out, ssm2d_error *error)
{
    fprintf(stderr, "ssm2d reproduce: run %d/%d failed: %s\n", number + 1, job->plan->count,
            why->line);
    if (!out->failed++) out->first_failure = *why;
    return reproduce_note_failure(job->context, &job->plan->runs[number], why->line, error);
}

/* Goes through all runs once; *left counts those that other processes have claimed. */
static ssm2d_status pass(const reproduce_job *job, attempt *attempts, int *left,
                         reproduce_outcome *out, ssm2d_error *error)
{
    *left = 0;
    for (int i = 0; i < job->plan->count; i++) {
        const planned_run *run = &job->plan->runs[i];
        ssm2d_error why = {""}, damaged;
        int claim;
        if (stop_requested(NULL)) {
            out->stopped = 1;
            return SSM2D_OK;
        }
        if (!is_wanted(reproduce_state(job->context, run, NULL, NULL), &attempts[i])) continue;
        ssm2d_status status = claim_run(job->plan, run, &claim, error);
        if (status) return status;
        if (claim < 0) {
            ++*left;
            continue;
        }
        /* another process may have finished it meanwhile */
        if (!is_wanted(reproduce_state(job->context, run, NULL, &damaged), &attempts[i])) {
            close(claim);
            continue;
        }
        if (*damaged.line) fprintf(stderr, "ssm2d reproduce: %s; it is recreated\n", damaged.line);
        status = do_run(job, i, &out->stopped, &why);
        if (status && out->stopped) fail(error, status, "%s", why.line);
        if (status && !out->stopped) {
            attempts[i].tried = 1;
            status = note_failure(job, i, &why, out, error);
        }
        close(claim);
        if (!status && !out->stopped) status = job->ended(job->user, error);
        if (status || out->stopped) return status;
    }
    return SSM2D_OK;
}

ssm2d_status reproduce_run_all(const reproduce_job *job, reproduce_outcome *out, ssm2d_error *error)
{
    static const struct timespec pause = {0, WAIT_MILLISECONDS * 1000000L};
    const plan *p = job->plan;
    char path[RUN_PATH];
    int left = 0, told = 0;
    *out = (reproduce_outcome){0};
    if (!p->count) return SSM2D_OK;
    attempt *attempts = mem_alloc(job->context, (size_t)p->count * sizeof *attempts);
    if (!attempts) return fail_memory(error, "%d runs", p->count);
    for (int i = 0; i < p->count; i++)
        attempts[i].failed_before =
            reproduce_state(job->context, &p->runs[i], NULL, NULL) == RUN_FAILED;
    snprintf(path, sizeof path, "%s/claims", p->options.out);
    ssm2d_status status = folder_make(path, error);
    while (!status) {
        status = pass(job, attempts, &left, out, error);
        if (status || out->stopped || !left || job->no_wait) break;
        if (!told++) {
            printf("waiting for runs of other processes\n");
            fflush(stdout);
        }
        nanosleep(&pause, NULL);
    }
    out->elsewhere = left;
    mem_free(job->context, attempts);
    return status;
}
