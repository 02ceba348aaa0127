#include "stop_signals.h"

#include "core/status.h"

#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <time.h>

static volatile sig_atomic_t signalled; /* the number of the first signal, or 0 */
static volatile struct timespec first;  /* when it arrived */
static int ended;                       /* cleanly, because of it */

/* timeout(1) and some batch systems send a signal to the process and to its group, so that it
 * arrives twice: only one that comes a second later means that the user does not want to wait. */
static void on_signal(int number)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!signalled) {
        signalled = number;
        first = now;
    } else if (now.tv_sec - first.tv_sec + (now.tv_nsec >= first.tv_nsec) > 1) {
        signal(number, SIG_DFL);
        raise(number); /* is delivered when this handler returns */
    }
}

ssm2d_status stop_signals_end(ssm2d_error *error, const char *format, ...)
{
    char line[sizeof error->line];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ended = 1;
    return fail(error, SSM2D_ERROR_SYSTEM, "%s", line);
}

int stop_signals_code(int otherwise) { return ended && signalled ? 128 + signalled : otherwise; }

int stop_requested(void *user)
{
    (void)user;
    return signalled != 0;
}

void stop_signals_catch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
    struct sigaction before, action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    /* The handler is not interrupted by another of them. */
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&action.sa_mask, numbers[i]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!sigaction(numbers[i], NULL, &before) && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* training continues if the reader of its progress has gone */
}
