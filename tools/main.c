/* ssm2d - the command-line tool. Each subcommand is a file of its own. */
#include "command.h"

static const command *const commands[] = {&command_layer, &command_kernels, &command_filter, &command_run, &command_models, NULL};

int main(int argc, char **argv) { return command_main(commands, argc, argv); }
