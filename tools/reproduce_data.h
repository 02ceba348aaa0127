/* reproduce_data - the data that experiments name: where the caller says they are, what may stand
 * in for them at a smaller scale, and how to get them. */
#ifndef SSM2D_TOOLS_REPRODUCE_DATA_H
#define SSM2D_TOOLS_REPRODUCE_DATA_H

#include "command.h"
#include "experiment.h"

enum { DATA_SPEC = 512 };

/* What is found for one name. */
typedef struct data_choice {
    const char *wanted;   /* the experiment's name */
    const char *name;     /* of the data taken: another when they stand in; NULL: missing */
    char spec[DATA_SPEC]; /* for --data of ssm2d train */
    size_t images;        /* to train on; 0: not known */
    size_t published;     /* images to train on that the wanted data have as published */
    int classes, channels;
    const char *help;   /* how to get the wanted data */
    int is_placeholder; /* spec is NAME:FOLDER, for showing commands */
} data_choice;

/* Checks the words NAME=SPEC of --data. */
ssm2d_status reproduce_data_check(const word_list *given, ssm2d_error *error);
/* Finds the data for a name of an experiment. placeholder: missing data become NAME:FOLDER with
 * their published number of images, for showing commands alone. */
ssm2d_status reproduce_data_find(ssm2d_context *context, const word_list *given,
                                 experiment_scale scale, const char *wanted, int placeholder,
                                 data_choice *out, ssm2d_error *error);
/* The i-th name and how to get the data, for help; NULL past the last. */
const char *reproduce_data_at(int i, const char **help);

#endif
