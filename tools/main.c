/* ssm2d - the command-line tool. Each subcommand is in a separate file. */
#include "command.h"
#include "io/file_open.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

static const command *const commands[] = {&command_train,
                                          &command_eval,
                                          &command_predict,
                                          &command_quantize,
                                          &command_export,
                                          &command_curves,
                                          &command_report,
                                          &command_kernels,
                                          &command_zoo,
                                          &command_models,
                                          &command_data,
                                          &command_filter,
                                          &command_layer,
                                          &command_run,
                                          &command_bench,
                                          &command_reproduce,
                                          &command_arena,
                                          &command_theory,
                                          NULL};

/* A program may be started with standard input, output or error closed. The first file that it
 * opens would get such a descriptor, and output would be written into it. The descriptors are
 * reserved here, so that reading and writing them fail as they do when closed: lost output is an
 * error. */
static void reserve_standard_streams(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0) (void)!null_fd(fd ? O_RDONLY : O_WRONLY);
}

int main(int argc, char **argv)
{
    reserve_standard_streams();
    /* a limit on file sizes then fails the write, as a full disk does */
    signal(SIGXFSZ, SIG_IGN);
    return command_main(commands, argc, argv);
}
