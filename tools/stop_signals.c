#include "stop_signals.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t signalled;

static void on_signal(int number)
{
    (void)number;
    signalled = 1;
}

int stop_requested(void *user)
{
    (void)user;
    return signalled;
}

void stop_signals_catch(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction before,
        action = {.sa_handler = on_signal, .sa_flags = SA_RESTART | (int)SA_RESETHAND};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (!sigaction(numbers[i], NULL, &before) && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    signal(SIGPIPE, SIG_IGN); /* when nobody reads the progress any more, training continues */
    signal(SIGXFSZ, SIG_IGN); /* so that a limit on the file size is an error, as a full disk is */
}
