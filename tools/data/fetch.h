/* fetch - the parts of `ssm2d data get`: a job, and the sources that it can take files from.
 *
 * In the data set's folder, `.fetching-NAME` holds downloads and unpacked files until they are
 * complete. A file appears in the folder when it is complete and verified, and never replaces
 * another, so that an interrupted call can simply be repeated. */
#ifndef SSM2D_TOOLS_FETCH_H
#define SSM2D_TOOLS_FETCH_H

#include "data_sources.h"

#include <limits.h>

typedef struct fetch_job {
    ssm2d_context *context;
    const data_source *source;
    const char *folder;
    long timeout;        /* of downloads, seconds */
    char work[PATH_MAX]; /* FOLDER/.fetching-NAME */
    int opened;          /* the working folder, if this call has locked it; else -1 */
    int lock;
    int new_folder; /* this call has made the data set's folder */
    int stopped;    /* a signal has ended the work */
} fetch_job;

/* FOLDER/NAME, refused if it is too long. */
ssm2d_status fetch_path(const char *folder, const char *name, char path[PATH_MAX],
                        ssm2d_error *error);
/* Whether file i exists as published. Anything else with its name is refused, not replaced. */
ssm2d_status fetch_exists(const fetch_job *j, int i, int *exists, ssm2d_error *error);
ssm2d_status fetch_count_missing(const fetch_job *j, int *missing, ssm2d_error *error);
/* Makes, opens and locks the working folder: one call at a time may use it; the lock ends with the
 * process. */
ssm2d_status fetch_begin(fetch_job *j, ssm2d_error *error);
/* Closes it; complete: removes it, else only if it is empty. */
void fetch_end(fetch_job *j, int complete);
/* Moves file i of the working folder, where it is called `name`, to its place, once it is
 * verified. *wrong: it is not the published one. */
ssm2d_status fetch_take(const fetch_job *j, int i, const char *name, int *wrong,
                        ssm2d_error *error);
/* Reports on standard output that file i is in place. */
void fetch_report(const fetch_job *j, int i);

/* The sources. They write the missing files. */
ssm2d_status fetch_npm(fetch_job *j, ssm2d_error *error);
/* Downloads archives from `address`, which ends in a slash and is completed by their names, or is
 * the address of the only one. Sets j->stopped. */
ssm2d_status fetch_address(fetch_job *j, const char *address, ssm2d_error *error);
/* Takes archives from a folder, or the only one from a file. */
ssm2d_status fetch_local(fetch_job *j, const char *path, ssm2d_error *error);

#endif
