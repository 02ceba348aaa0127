/* reproduce_data - the data that experiments name: where the caller says they are, what may stand
 * in for them at a smaller scale, and how to get them. */
#ifndef SSM2D_TOOLS_REPRODUCE_DATA_H
#define SSM2D_TOOLS_REPRODUCE_DATA_H

#include "experiment.h"
#include "tools/command.h"

enum { DATA_SPEC = 512, DATA_NAMES = 8 };

/* What data were when they were last there. */
typedef struct data_facts {
    size_t images; /* to train on; 0: they were never there */
    int labels, channels;
} data_facts;

/* What is found for one name. */
typedef struct data_choice {
    const char *wanted;   /* the experiment's name */
    const char *name;     /* of the data taken: another when they stand in; NULL: missing */
    const char *stand_in; /* what the data taken are, when they are not the wanted ones; or NULL */
    char spec[DATA_SPEC]; /* for --data of ssm2d train */
    data_facts facts;
    size_t published;   /* images to train on that the wanted data have as published */
    const char *help;   /* how to get the wanted data */
    const char *labels; /* how stand-ins differ from the wanted data in what is measured; or NULL */
    int is_chosen;      /* cells that are to be run need them */
    int is_placeholder; /* spec is NAME:FOLDER, for showing commands */
    /* Why the data cannot be opened now; the facts are those of before. "": they can. */
    ssm2d_error gone;
} data_choice;

/* Checks the words NAME=SPEC of --data. */
ssm2d_status reproduce_data_check(const word_list *given, ssm2d_error *error);
/* What to find data with. */
typedef struct data_search {
    const word_list *given;   /* words of --data */
    const data_facts *before; /* [DATA_NAMES], by reproduce_data_at */
    experiment_scale scale;
    /* Missing data become NAME:FOLDER with their published number of images, for showing
     * commands. */
    int placeholder;
} data_search;

/* Finds the data for a name of an experiment. Those that were there before and cannot be opened now
 * are found as well, with `gone`: tables and finished runs do not need them. */
ssm2d_status reproduce_data_find(ssm2d_context *context, const data_search *search,
                                 const char *wanted, data_choice *out, ssm2d_error *error);
/* The index of a name, or -1. */
int reproduce_data_index(const char *name);
/* The i-th name and how to get the data, for help; NULL past the last. */
const char *reproduce_data_at(int i, const char **help);

#endif
