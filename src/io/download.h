/* download - fetches a published file with libcurl: bounded, verified, and resumed. */
#ifndef SSM2D_IO_DOWNLOAD_H
#define SSM2D_IO_DOWNLOAD_H

#include "ssm2d.h"

/* A published file. */
typedef struct published {
    const char *name;
    uint64_t size;
    const char *sha256, *md5; /* hexadecimal; NULL: not published. One of them is given. */
} published;

typedef struct download {
    const char *url;
    const published *file;
    long timeout; /* seconds: to connect, and without data */
    /* Hooks, which may be NULL: bytes that are here; whether to stop. */
    void (*progress)(void *user, size_t done, size_t total);
    int (*stop)(void *user);
    void *user;
} download;

/* Whether this build has libcurl; without it downloading is refused. */
int download_possible(void);

/* Fetches the file into a folder, which is open as `folder` and named `path` in messages. Bytes are
 * collected in NAME.part, which a later call continues; NAME appears when size and checksum are
 * right, and a wrong NAME.part is removed. Interrupted transfers are continued a few times.
 * Redirections are followed, but not from https to http. *stopped: the stop hook ended it. */
ssm2d_status download_file(const download *d, int folder, const char *path, int *stopped,
                           ssm2d_error *error);

/* Compares a file's checksum with the published one; fd is positioned at its start. sum gets the
 * text "SHA-256 .." or "MD5 ..". Returns 1: equal, 0: different, -1: a read error in errno. */
enum { SUM_TEXT = 80 };
int published_verify(const published *file, int fd, char sum[SUM_TEXT]);

#endif
