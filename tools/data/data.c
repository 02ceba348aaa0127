/* ssm2d data - what is done with images before they reach a model. */
#include "data.h"

static const command *const parts[] = {&command_data_get, &command_data_check, &command_data_show,
                                       &command_data_augment, NULL};

const command command_data = {.name = "data",
                              .summary =
                                  "look at data sets, and at what augmentation makes of them",
                              .about = "Works on images and data sets as training does, for "
                                       "looking at them and for checking.",
                              .parts = parts};
