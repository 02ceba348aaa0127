#define _GNU_SOURCE /* program_invocation_name */
#include "keeper.h"

#include "cluster/watchdog.h"
#include "core/clock.h"
#include "core/status.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static const double tick = 0.1;       /* seconds between two looks */
static const double patience = 3;     /* seconds for others to say what they know better */
static const double last_respite = 5; /* seconds for a process of a job that has ended */

typedef struct keeper {
    const char *command;
    pid_t process;
    board_ticket *ticket;
    board *board; /* NULL: not there yet */
    watchdog watchdog;
    int told;    /* the last signal passed on, 0: none */
    double over; /* when the job was seen to be over; 0: it is not */
} keeper;

/* ---- reporting ------------------------------------------------------------------------------- */

/* The board is there once the processes have met. */
static void find_board(keeper *k)
{
    board_ticket *t = k->ticket;
    const int size = atomic_load(&t->size);
    if (k->board || !size) return;
    k->board = board_open(t->owner, t->fd, size);
    if (!k->board) atomic_store(&t->size, 0); /* not tried again */
}

static atomic_int *word_of(keeper *k) { return k->board ? &k->board->word : &k->ticket->word; }

static const board_place *place_of(const keeper *k)
{
    return k->board ? &k->board->places[k->ticket->rank] : &k->ticket->place;
}

static void say(keeper *k, const char *line)
{
    (void)!dprintf(STDERR_FILENO, "ssm2d %s: %s\n", k->command, line);
    word_said(word_of(k));
}

/* "rank 3 (host, process 123) WHAT: the job ends" */
static void say_end(keeper *k, const char *what)
{
    char line[256], host[BOARD_HOST] = "?";
    (void)!gethostname(host, sizeof host - 1);
    snprintf(line, sizeof line, "rank %d (%s, process %ld) %s: the job ends", k->ticket->rank, host,
             (long)k->process, what);
    say(k, line);
}

/* The process has ended: reports what nobody has asked for, and returns the exit code. */
static int report_end(keeper *k, int status)
{
    char what[128];
    find_board(k);
    if (WIFEXITED(status)) {
        const int code = WEXITSTATUS(status);
        if (!code || atomic_load(&k->ticket->parts)) return code;
        /* by MPI, which may have been told of somebody else's end */
        snprintf(what, sizeof what, "was ended by MPI with exit code %d", code);
        if (word_wait(word_of(k), patience)) say_end(k, what);
        return code;
    }
    const int number = WTERMSIG(status);
    snprintf(what, sizeof what, "was killed by signal %d (%s)", number, strsignal(number));
    if (number != k->told && word_claim(word_of(k))) say_end(k, what);
    return 128 + number;
}

/* ---- looking --------------------------------------------------------------------------------- */

/* Returns whether the process is to be ended. */
static int is_over(keeper *k)
{
    char line[256];
    const double now = clock_seconds();
    find_board(k);
    if (atomic_load(word_of(k)) == WORD_SAID) {
        if (!(k->over > 0)) k->over = now;
        return now - k->over > last_respite;
    }
    k->watchdog.timeout = k->ticket->timeout;
    if (!watchdog_look(&k->watchdog, k->board, place_of(k), now, process_state_of, line,
                       sizeof line))
        return 0;
    if (word_claim(word_of(k))) say(k, line);
    return 1;
}

static void pass_on(keeper *k, int number)
{
    k->told = number;
    k->watchdog.waited = 0; /* perhaps others have waited as long, and say so */
    kill(k->process, number);
    kill(k->process, SIGCONT); /* a process that is stopped would not hear it */
}

/* Blocked in the keeper, which waits for them. */
static void signals_of_interest(sigset_t *set)
{
    static const int numbers[] = {SIGCHLD, SIGTERM, SIGINT,  SIGHUP,
                                  SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM};
    sigemptyset(set);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaddset(set, numbers[i]);
}

static int keep(keeper *k, const sigset_t *signals)
{
    const struct timespec pause = {.tv_nsec = (long)(tick * 1e9)};
    for (;;) {
        const int number = sigtimedwait(signals, NULL, &pause);
        int status;
        if (number > 0 && number != SIGCHLD) pass_on(k, number);
        const pid_t ended = waitpid(k->process, &status, WNOHANG);
        if (ended == k->process) return report_end(k, status);
        if (ended < 0 && errno != EINTR) return 1;
        if (number > 0 || !is_over(k)) continue;
        kill(k->process, SIGKILL);
        waitpid(k->process, &status, 0);
        return 1;
    }
}

/* ---- two processes --------------------------------------------------------------------------- */

/* The keeper has another command line, so that whoever looks for the processes of a job finds those
 * that work, and signals sent to all with the tool's name do not reach a process twice. */
static void take_name(int rank, pid_t process)
{
    char words[4096], name[64];
    FILE *f = fopen("/proc/self/cmdline", "r");
    const size_t length = f ? fread(words, 1, sizeof words, f) : 0;
    if (f) fclose(f);
    snprintf(name, sizeof name, "keeper of rank %d, process %ld", rank, (long)process);
    if (length) { /* where the arguments begin, with the first */
        memset(program_invocation_name, 0, length);
        snprintf(program_invocation_name, length, "%s", name);
    }
    snprintf(name, sizeof name, "keeper %d", rank);
    prctl(PR_SET_NAME, name);
}

ssm2d_status keeper_start(const char *name, int rank, board_ticket **ticket, ssm2d_error *error)
{
    keeper k = {.command = name, .ticket = board_ticket_create(), .watchdog.rank = rank};
    sigset_t signals, before;
    const pid_t own = getpid();
    *ticket = k.ticket;
    if (!k.ticket)
        return fail(error, SSM2D_ERROR_MEMORY, "rank %d: no memory to share with its keeper", rank);
    k.ticket->rank = rank;
    fflush(NULL);
    signals_of_interest(&signals);
    sigprocmask(SIG_BLOCK, &signals, &before);
    k.process = fork();
    if (k.process > 0) {
        signal(SIGCHLD, SIG_DFL);
        signal(SIGPIPE, SIG_IGN);
        take_name(rank, k.process);
        _exit(keep(&k, &signals));
    }
    const int why = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (k.process < 0)
        return fail(error, SSM2D_ERROR_SYSTEM, "rank %d: cannot start a process: %s", rank,
                    strerror(why));
    /* a group of its own: what a launcher sends to the keeper's is passed on, and comes once */
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != own) _exit(1); /* it has been killed already */
    return SSM2D_OK;
}
