/* ssm2d - the command-line tool. Each subcommand is a file of its own. */
#include "command.h"

#include <fcntl.h>
#include <unistd.h>

static const command *const commands[] = {
    &command_train,  &command_eval,    &command_predict, &command_export,    &command_curves,
    &command_report, &command_kernels, &command_models,  &command_data,      &command_filter,
    &command_layer,  &command_run,     &command_bench,   &command_reproduce, NULL};

/* A program may be started with standard input, output or error closed. The first file that it
 * opens would get such a number, and what is printed would land in it. The numbers are taken here
 * so that reading and writing them fail, as they do when closed: what is printed is lost, which is
 * an error. */
static void reserve_standard_streams(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", fd ? O_RDONLY : O_WRONLY);
}

int main(int argc, char **argv)
{
    reserve_standard_streams();
    return command_main(commands, argc, argv);
}
