/* ssm2d - the command-line tool. Each subcommand is a file of its own. */
#include "command.h"

static const command *const commands[] = {&command_train,
                                          &command_eval,
                                          &command_predict,
                                          &command_curves,
                                          &command_kernels,
                                          &command_models,
                                          &command_filter,
                                          &command_layer,
                                          &command_run,
                                          &command_bench,
                                          NULL};

int main(int argc, char **argv) { return command_main(commands, argc, argv); }
