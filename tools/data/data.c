/* ssm2d data - commands about data sets and augmentation. */
#include "data.h"

static const command *const parts[] = {&command_data_get, &command_data_check, &command_data_show,
                                       &command_data_augment, NULL};

const command command_data = {.name = "data",
                              .summary = "fetch, check and show data sets and augmentations",
                              .about = "Reads, checks and draws images and data sets exactly as "
                                       "training reads them.",
                              .parts = parts};
