#include "io/download.h"
#include "io/md5.h"
#include "io/sha256.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>
#include <unistd.h>

int published_verify(const published *file, int fd, char sum[SUM_TEXT])
{
    char buffer[1 << 16], text[SHA256_TEXT];
    sha256 s = sha256_start();
    md5 m = md5_start();
    for (;;) {
        const ssize_t got = read(fd, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -1;
        if (!got) break;
        if (file->sha256)
            sha256_add(&s, buffer, (size_t)got);
        else
            md5_add(&m, buffer, (size_t)got);
    }
    if (file->sha256)
        sha256_end(&s, text);
    else
        md5_end(&m, text);
    snprintf(sum, SUM_TEXT, "%s %s", file->sha256 ? "SHA-256" : "MD5", text);
    return !strcasecmp(text, file->sha256 ? file->sha256 : file->md5);
}
