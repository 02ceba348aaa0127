/* A transfer is one request. When it ends early, the next one asks for the rest by Range; a server
 * that sends the whole file instead makes the partial file start again. */
#include "io/download.h"

#include "core/status.h"

#ifdef SSM2D_CURL
#include "io/file_open.h"
#include "io/text.h"

#include <curl/curl.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

enum {
    TRIES = 3,        /* transfers in a row that brought nothing */
    TRANSFERS = 50,   /* in all */
    REDIRECTIONS = 5, /* of one transfer */
    SLOWEST = 100,    /* bytes per second, below which a transfer counts as stalled */
    /* before the next transfer, times those that brought nothing, for each second of the timeout */
    PAUSE_MS = 20
};

int download_possible(void) { return 1; }

typedef struct job {
    const download *d;
    CURL *curl;
    const char *path; /* of the folder */
    int fd;
    uint64_t have;          /* bytes in the partial file */
    uint64_t started;       /* have, when the transfer began */
    uint64_t begins, total; /* of the last response's Content-Range: size of the whole file, or 0 */
    int answered;           /* the first bytes of the answer have been checked */
    int stopped;
    ssm2d_status refused; /* the transfer was ended because of *error */
    ssm2d_error *error;
    char why[CURL_ERROR_SIZE];
} job;

static const char *name_of(const job *j) { return j->d->file->name; }

/* Ends a transfer; the return value makes libcurl do so. */
static size_t refuse(job *j, ssm2d_status status) { return j->refused = status, (size_t)0; }

static size_t on_header(char *text, size_t one, size_t size, void *user)
{
    job *j = user;
    uint64_t begins, ends, total;
    char line[128];
    (void)one;
    snprintf(line, sizeof line, "%.*s", (int)(size < sizeof line ? size : sizeof line - 1), text);
    if (!strncmp(line, "HTTP/", 5)) j->total = 0; /* the next response, after a redirection */
    if (!strncasecmp(line, "content-range:", 14)
        && sscanf(line + 14, " bytes %" SCNu64 "-%" SCNu64 "/%" SCNu64, &begins, &ends, &total)
               == 3)
        j->begins = begins, j->total = total;
    return size;
}

/* Empties the partial file. */
static int restart(job *j)
{
    j->have = j->started = 0;
    return ftruncate(j->fd, 0);
}

static size_t refuse_size(job *j, uint64_t size, const char *what)
{
    return refuse(j, fail(j->error, SSM2D_ERROR_ARGUMENT,
                          "%s: %s %" PRIu64 " bytes, expected %" PRIu64
                          ": it is not the published file; give another address with --from",
                          text_path(j->d->url), what, size, j->d->file->size));
}

static size_t refuse_disk(job *j)
{
    return refuse(j, fail(j->error, SSM2D_ERROR_SYSTEM, "%s/%s.part: cannot be written: %s",
                          text_path(j->path), name_of(j), strerror(errno)));
}

/* Checks what the response says before its first bytes are kept. */
static int check_answer(job *j)
{
    long code = 0;
    curl_off_t length = -1;
    j->answered = 1;
    curl_easy_getinfo(j->curl, CURLINFO_RESPONSE_CODE, &code);
    curl_easy_getinfo(j->curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    if (code == 206) {
        if (j->total && j->total != j->d->file->size)
            return refuse_size(j, j->total, "announces"), 0;
        if (!j->total || j->begins != j->started) {
            fail(j->error, SSM2D_ERROR_ARGUMENT,
                 "%s: sends another range than the one asked for, which begins at byte %" PRIu64
                 ": give another address with --from",
                 text_path(j->d->url), j->started);
            return refuse(j, SSM2D_ERROR_ARGUMENT), 0;
        }
    } else if (code != 200) {
        fail(j->error, SSM2D_ERROR_SYSTEM,
             "%s: status %ld: give another address with --from, or try again later",
             text_path(j->d->url), code);
        return refuse(j, SSM2D_ERROR_SYSTEM), 0;
    } else if (j->have && restart(j)) /* the server ignores ranges */
        return refuse_disk(j), 0;
    if (length >= 0 && j->have + (uint64_t)length != j->d->file->size)
        return refuse_size(j, j->have + (uint64_t)length, "announces"), 0;
    return 1;
}

static size_t on_body(char *bytes, size_t one, size_t size, void *user)
{
    job *j = user;
    (void)one;
    if (!j->answered && !check_answer(j)) return 0;
    if (size > j->d->file->size - j->have) return refuse_size(j, j->have + size, "sends at least");
    for (size_t done = 0; done < size;) {
        const ssize_t put = write(j->fd, bytes + done, size - done);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) return refuse_disk(j);
        done += (size_t)put;
        j->have += (uint64_t)put;
    }
    return size;
}

static int is_stopped(job *j)
{
    if (j->d->stop && j->d->stop(j->d->user)) j->stopped = 1;
    return j->stopped;
}

static int on_progress(void *user, curl_off_t a, curl_off_t b, curl_off_t c, curl_off_t d)
{
    job *j = user;
    (void)a, (void)b, (void)c, (void)d;
    if (j->d->progress) j->d->progress(j->d->user, (size_t)j->have, (size_t)j->d->file->size);
    return is_stopped(j);
}

static int is_encrypted(const char *url) { return !strncasecmp(url, "https:", 6); }

static CURLcode set_up(job *j)
{
    CURL *c = j->curl;
    /* as the program curl has it, for networks with a certificate of their own */
    const char *authorities = getenv("CURL_CA_BUNDLE");
    if (!authorities) authorities = getenv("SSL_CERT_FILE");
    CURLcode bad = CURLE_OK;
#define SET(option, value)                                                                         \
    if (!bad) bad = curl_easy_setopt(c, CURLOPT_##option, value)
    SET(URL, j->d->url);
    SET(USERAGENT, "ssm2d/" SSM2D_VERSION);
    SET(NOSIGNAL, 1L);
    SET(FOLLOWLOCATION, 1L);
    SET(MAXREDIRS, (long)REDIRECTIONS);
#if LIBCURL_VERSION_NUM >= 0x075500
    SET(PROTOCOLS_STR, "http,https");
    SET(REDIR_PROTOCOLS_STR, is_encrypted(j->d->url) ? "https" : "http,https");
#else
    SET(PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    SET(REDIR_PROTOCOLS, (long)(CURLPROTO_HTTPS | (is_encrypted(j->d->url) ? 0 : CURLPROTO_HTTP)));
#endif
    SET(FAILONERROR, 1L);
    SET(CONNECTTIMEOUT, j->d->timeout);
    SET(LOW_SPEED_LIMIT, (long)SLOWEST);
    SET(LOW_SPEED_TIME, j->d->timeout);
    SET(ERRORBUFFER, j->why);
    SET(HEADERFUNCTION, on_header);
    SET(HEADERDATA, j);
    SET(WRITEFUNCTION, on_body);
    SET(WRITEDATA, j);
    SET(XFERINFOFUNCTION, on_progress);
    SET(XFERINFODATA, j);
    SET(NOPROGRESS, 0L);
    if (authorities && *authorities) SET(CAINFO, authorities);
#undef SET
    return bad;
}

/* Whether the next transfer may succeed. */
static int may_recover(CURLcode bad, long code)
{
    switch (bad) {
    case CURLE_OK: /* fewer bytes than expected */
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_RECV_ERROR:
    case CURLE_SEND_ERROR:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM: return 1;
    case CURLE_HTTP_RETURNED_ERROR: return code == 408 || code == 416 || code == 429 || code >= 500;
    default: return 0;
    }
}

static ssm2d_status explain(job *j, CURLcode bad, long code)
{
    const char *url = text_path(j->d->url);
    const char *why = *j->why ? j->why : curl_easy_strerror(bad);
    switch (bad) {
    case CURLE_HTTP_RETURNED_ERROR:
        return fail(j->error, SSM2D_ERROR_SYSTEM,
                    "%s: status %ld%s: give another address with --from%s", url, code,
                    code == 404 ? ", the file is not there" : "",
                    code >= 500 ? ", or try again later" : "");
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_COULDNT_CONNECT:
        return fail(j->error, SSM2D_ERROR_SYSTEM,
                    "%s: cannot be reached (%s): this machine seems to be offline; fetch the file "
                    "elsewhere and give it with --from",
                    url, why);
    case CURLE_TOO_MANY_REDIRECTS:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return fail(j->error, SSM2D_ERROR_SYSTEM,
                    "%s: is redirected %s: give another address with --from", url,
                    bad == CURLE_TOO_MANY_REDIRECTS ? "too often"
                    : is_encrypted(url)             ? "to an address that is not https"
                                                    : "to an address that is not http");
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
        return fail(j->error, SSM2D_ERROR_SYSTEM,
                    "%s: no secure connection (%s): CURL_CA_BUNDLE names a file with other "
                    "certificates",
                    url, why);
    default:
        return fail(j->error, SSM2D_ERROR_SYSTEM,
                    "%s: the transfer broke off after %" PRIu64 " of %" PRIu64
                    " bytes (%s): run the same command again to continue",
                    url, j->have, j->d->file->size, bad ? why : "the server sends no more");
    }
}

/* Waits before the next transfer; returns early when stopped. */
static void pause_ms(job *j, int ms)
{
    for (; ms > 0 && !is_stopped(j); ms -= 50) nanosleep(&(struct timespec){0, 50 * 1000000}, NULL);
}

/* Completes the partial file. */
static ssm2d_status transfer_all(job *j)
{
    for (int transfers = 1, idle = 1; j->have < j->d->file->size; transfers++, idle++) {
        long code = 0;
        char range[32];
        j->started = j->have;
        j->answered = 0;
        *j->why = 0;
        snprintf(range, sizeof range, "%" PRIu64 "-", j->have);
        /* unlike CURLOPT_RESUME_FROM_LARGE it accepts the whole file instead */
        CURLcode bad = curl_easy_setopt(j->curl, CURLOPT_RANGE, j->have ? range : NULL);
        if (!bad) bad = curl_easy_perform(j->curl);
        if (j->refused) return j->refused;
        if (j->stopped) return SSM2D_OK;
        if (j->have == j->d->file->size) break;
        curl_easy_getinfo(j->curl, CURLINFO_RESPONSE_CODE, &code);
        if (j->have > j->started) idle = 0;
        if (!may_recover(bad, code) || idle >= TRIES || transfers >= TRANSFERS)
            return explain(j, bad, code);
        /* the range does not exist: the partial file is of another file */
        if (bad == CURLE_HTTP_RETURNED_ERROR && code == 416 && restart(j)) {
            refuse_disk(j);
            return j->refused;
        }
        pause_ms(j, PAUSE_MS * idle * (int)j->d->timeout);
        if (j->stopped) return SSM2D_OK;
    }
    return SSM2D_OK;
}

/* *right: whether the partial file is the published one. */
static ssm2d_status verify(job *j, int *right, char sum[SUM_TEXT])
{
    *right = lseek(j->fd, 0, SEEK_SET) ? -1 : published_verify(j->d->file, j->fd, sum);
    if (*right >= 0) return SSM2D_OK;
    return fail(j->error, SSM2D_ERROR_SYSTEM, "%s/%s.part: cannot be read: %s", text_path(j->path),
                name_of(j), strerror(errno));
}

/* Bytes of an earlier call may be those of another file: they are fetched again, once. */
static ssm2d_status fetch(job *j, int *wrong)
{
    for (;;) {
        const uint64_t before = j->have;
        char sum[SUM_TEXT];
        int right = 0;
        ssm2d_status status = transfer_all(j);
        if (!status && !j->stopped) status = verify(j, &right, sum);
        if (status || j->stopped || right) return status;
        if (before) {
            if (!restart(j)) continue;
            refuse_disk(j);
            return j->refused;
        }
        *wrong = 1;
        return fail(j->error, SSM2D_ERROR_ARGUMENT,
                    "%s: has the %s, expected %s of the published file, and was removed: give "
                    "another address with --from",
                    text_path(j->d->url), sum,
                    j->d->file->sha256 ? j->d->file->sha256 : j->d->file->md5);
    }
}

/* Opens the partial file to continue it. */
static ssm2d_status open_part(job *j, int folder, const char *part)
{
    struct stat info;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", j->path, part);
    ssm2d_status status = file_open_fd(folder, part, path, FILE_CONTINUE, &j->fd, j->error);
    if (status) return status;
    if (fstat(j->fd, &info)) return fail_errno(j->error, path, "cannot be read");
    j->have = (uint64_t)info.st_size;
    if (j->have > j->d->file->size && restart(j))
        return fail_errno(j->error, path, "cannot be written");
    return SSM2D_OK;
}

ssm2d_status download_file(const download *d, int folder, const char *path, int *stopped,
                           ssm2d_error *error)
{
    job j = {.d = d, .path = path, .fd = -1, .error = error};
    char part[NAME_MAX];
    int wrong = 0;
    *stopped = 0;
    if (snprintf(part, sizeof part, "%s.part", name_of(&j)) >= (int)sizeof part)
        return fail(error, SSM2D_ERROR_ARGUMENT, "%s: the name is too long", name_of(&j));
    ssm2d_status status = open_part(&j, folder, part);
    if (!status && !(j.curl = curl_easy_init())) status = fail_memory(error, "a transfer");
    if (!status && set_up(&j))
        status = fail(error, SSM2D_ERROR_ARGUMENT,
                      "%s: is no address of "
                      "http or https",
                      text_path(d->url));
    if (!status) status = fetch(&j, &wrong);
    if (j.curl) curl_easy_cleanup(j.curl);
    if (!status && !j.stopped && fsync(j.fd)) {
        refuse_disk(&j);
        status = j.refused;
    }
    if (j.fd >= 0) close(j.fd);
    /* an empty file is not worth keeping, and a wrong one is no start */
    if (wrong || (j.fd >= 0 && !j.have)) unlinkat(folder, part, 0);
    *stopped = j.stopped;
    if (status || j.stopped) return status;
    if (!renameat(folder, part, folder, name_of(&j))) return SSM2D_OK;
    return fail_errno(error, path, "the downloaded file cannot be renamed into place");
}

#else
int download_possible(void) { return 0; }

ssm2d_status download_file(const download *d, int folder, const char *path, int *stopped,
                           ssm2d_error *error)
{
    (void)folder, (void)path, (void)stopped;
    return fail(error, SSM2D_ERROR_UNSUPPORTED,
                "%s: this ssm2d was built without libcurl: install libcurl4-gnutls-dev and build "
                "it again, or fetch the file with another program and give it with --from",
                d->url);
}
#endif
