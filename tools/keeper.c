#define _GNU_SOURCE /* program_invocation_name */
#include "keeper.h"

#include "cluster/watchdog.h"
#include "core/clock.h"
#include "core/status.h"
#include "io/file.h"
#include "starting_ranks.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const double tick = 0.1;   /* seconds between two checks */
static const double patience = 3; /* seconds in which a rank that knows the cause may report */
static const double grace = 5;    /* seconds for a process to end after its job has ended */

typedef struct keeper {
    const char *command;
    pid_t process;
    launcher launcher;
    board_ticket *ticket;
    board *board; /* NULL: not there yet */
    watchdog watchdog;
    int forwarded; /* the last signal that was forwarded, 0: none */
    double over;   /* when the end of the job was noticed; 0: it has not ended */
    double late;   /* seconds after which this keeper reports that MPI does not start; 0: unknown */
} keeper;

/* ---- reporting ------------------------------------------------------------------------------- */

/* The board exists once the processes have met. */
static void find_board(keeper *k)
{
    board_ticket *t = k->ticket;
    const int size = atomic_load(&t->size);
    if (k->board || !size) return;
    k->board = board_open(t->owner, t->fd, size);
    if (!k->board) atomic_store(&t->size, 0); /* not tried again */
}

static atomic_int *abort_flag_of(keeper *k)
{
    return k->board ? &k->board->abort_flag : &k->ticket->abort_flag;
}

static const board_place *place_of(const keeper *k)
{
    return k->board ? &k->board->places[k->ticket->rank] : &k->ticket->place;
}

static void print_line(keeper *k, const char *line)
{
    (void)!dprintf(STDERR_FILENO, "ssm2d %s: %s\n", k->command, line);
    abort_reported(abort_flag_of(k));
}

/* "rank 3 (host, process 123) WHAT: the job ends" */
static void print_end(keeper *k, const char *what)
{
    char line[256], host[BOARD_HOST] = "?";
    (void)!gethostname(host, sizeof host - 1);
    snprintf(line, sizeof line, "rank %d (%s, process %ld) %s: the job ends", k->ticket->rank, host,
             (long)k->process, what);
    print_line(k, line);
}

/* The process has ended: reports an unexpected end, and returns the exit code. */
static int report_end(keeper *k, int status)
{
    char what[128];
    find_board(k);
    if (WIFEXITED(status)) {
        const int code = WEXITSTATUS(status);
        if (!code || atomic_load(&k->ticket->leaving)) return code;
        /* by MPI, perhaps because another rank has ended */
        snprintf(what, sizeof what, "was ended by MPI with exit code %d", code);
        if (abort_wait(abort_flag_of(k), patience)) print_end(k, what);
        return code;
    }
    const int sig = WTERMSIG(status);
    snprintf(what, sizeof what, "was killed by signal %d (%s)", sig, strsignal(sig));
    if (sig != k->forwarded && abort_claim(abort_flag_of(k))) print_end(k, what);
    return 128 + sig;
}

/* ---- supervising ----------------------------------------------------------------------------- */

/* Seconds after which this keeper reports that MPI does not start: the timeout, if it is the first
 * keeper of a machine that has the faulty rank, or that of rank 0; else a quarter more, because the
 * launcher has ended all processes by then. Called while all keepers still run. */
static double report_after(const keeper *k)
{
    const double timeout = k->ticket->timeout;
    const starting_ranks seen = starting_ranks_look(&k->launcher);
    const int is_here = seen.fault == START_OTHER || seen.fault == START_STOPPED;
    const int is_first = seen.first == k->ticket->rank && (is_here || !k->ticket->rank);
    return is_first ? timeout : 1.25 * timeout + patience;
}

/* Whether MPI does not start, so that the process is to be ended. */
static int start_failed(keeper *k, double now)
{
    char line[256];
    const double timeout = k->ticket->timeout;
    const double waited = watchdog_waited(&k->watchdog, place_of(k), now, process_state_of);
    if (waited <= timeout / 2) return 0;
    if (!(k->late > 0)) k->late = report_after(k);
    if (waited <= k->late) return 0;
    const starting_ranks seen = starting_ranks_look(&k->launcher);
    starting_ranks_describe(&seen, &k->launcher, timeout, line, sizeof line);
    if (abort_claim(abort_flag_of(k))) print_line(k, line);
    return 1;
}

/* Returns whether the process is to be ended. */
static int is_over(keeper *k)
{
    char line[256];
    const double now = clock_seconds();
    if (atomic_load(&k->ticket->starting)) return start_failed(k, now);
    find_board(k);
    if (atomic_load(abort_flag_of(k)) == ABORT_REPORTED) {
        if (!(k->over > 0)) k->over = now;
        return now - k->over > grace;
    }
    k->watchdog.timeout = k->ticket->timeout;
    if (!watchdog_look(&k->watchdog, k->board, place_of(k), now, process_state_of, line,
                       sizeof line))
        return 0;
    if (abort_claim(abort_flag_of(k))) print_line(k, line);
    return 1;
}

static void forward(keeper *k, int sig)
{
    k->forwarded = sig;
    k->watchdog.waited = 0; /* another rank that has waited as long may report it */
    kill(k->process, sig);
    kill(k->process, SIGCONT); /* a stopped process would not handle it */
}

/* The signals that the keeper blocks and waits for. */
static void signals_of_interest(sigset_t *set)
{
    static const int signals[] = {SIGCHLD, SIGTERM, SIGINT,  SIGHUP,
                                  SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};
    sigemptyset(set);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) sigaddset(set, signals[i]);
}

static int supervise(keeper *k, const sigset_t *signals)
{
    const struct timespec pause = {.tv_nsec = (long)(tick * 1e9)};
    for (;;) {
        const int sig = sigtimedwait(signals, NULL, &pause);
        int status;
        if (sig > 0 && sig != SIGCHLD) forward(k, sig);
        const pid_t ended = waitpid(k->process, &status, WNOHANG);
        if (ended == k->process) return report_end(k, status);
        if (ended < 0 && errno != EINTR) return 1;
        if (sig > 0 || !is_over(k)) continue;
        kill(k->process, SIGKILL);
        waitpid(k->process, &status, 0);
        return 1;
    }
}

/* ---- two processes --------------------------------------------------------------------------- */

/* The keeper changes its command line, so that searching for the job's processes finds the workers,
 * and a signal to all processes of the tool's name does not reach a worker twice. */
static void rename_keeper(int rank, pid_t process)
{
    char words[4096], name[64];
    FILE *f;
    const int is_read = !file_open_regular("/proc/self/cmdline", &f, NULL);
    const size_t length = is_read ? fread(words, 1, sizeof words, f) : 0;
    if (is_read) fclose(f);
    snprintf(name, sizeof name, "keeper of rank %d, process %ld", rank, (long)process);
    if (length) { /* the arguments begin at the first one */
        memset(program_invocation_name, 0, length);
        snprintf(program_invocation_name, length, "%s", name);
    }
    snprintf(name, sizeof name, KEEPER_NAME, rank);
    prctl(PR_SET_NAME, name);
}

ssm2d_status keeper_start(const char *name, const launcher *l, board_ticket **ticket,
                          ssm2d_error *error)
{
    const int rank = l->rank;
    keeper k = {
        .command = name, .launcher = *l, .ticket = board_ticket_create(), .watchdog.rank = rank};
    sigset_t signals, before;
    const pid_t own = getpid();
    *ticket = k.ticket;
    if (!k.ticket) return fail_memory(error, "rank %d: memory shared with its keeper", rank);
    k.ticket->rank = rank;
    fflush(NULL);
    signals_of_interest(&signals);
    sigprocmask(SIG_BLOCK, &signals, &before);
    k.process = fork();
    if (k.process > 0) {
        signal(SIGCHLD, SIG_DFL);
        signal(SIGPIPE, SIG_IGN);
        rename_keeper(rank, k.process);
        _exit(supervise(&k, &signals));
    }
    const int why = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (k.process < 0)
        return fail(error, SSM2D_ERROR_SYSTEM, "rank %d: cannot start a process: %s", rank,
                    strerror(why));
    /* its own process group: signals to the keeper's group are forwarded, and arrive once */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != own) _exit(1); /* the keeper has been killed already */
    return SSM2D_OK;
}
