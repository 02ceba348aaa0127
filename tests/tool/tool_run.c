#define _GNU_SOURCE /* wait4, nftw */
#include "tool_run.h"

#include "folder_state.h"

#include "io/image.h"

#include <ctype.h>
#include <dirent.h>
#include <ftw.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

tool_result tool;
static char folder[64];

static char *take_stream(FILE *f)
{
    long size = ftell(f);
    if (fseek(f, 0, SEEK_END) == 0) size = ftell(f);
    char *text = malloc((size_t)size + 1);
    assert_non_null(text);
    rewind(f);
    text[fread(text, 1, (size_t)size, f)] = 0;
    return text;
}

static void run_program(const char *program, const char *const *words)
{
    FILE *out = tmpfile(), *err = tmpfile();
    struct rusage usage;
    int status;
    assert_non_null(out);
    assert_non_null(err);
    folder_remember(folder);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(fileno(out), STDOUT_FILENO);
        dup2(fileno(err), STDERR_FILENO);
        execv(program, (char *const *)words);
        _exit(127);
    }
    assert_int_equal(wait4(child, &status, 0, &usage), child);
    free(tool.out);
    free(tool.err);
    tool.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    tool.out = take_stream(out);
    tool.err = take_stream(err);
    tool.peak_kib = usage.ru_maxrss;
    fclose(out);
    fclose(err);
}

void tool_run(const char *const *words) { run_program(TOOL_PATH, words); }

void shell_run(const char *script)
{
    const char *const words[] = {"sh", "-c", script, NULL};
    setenv("SSM2D", TOOL_PATH, 1);
    setenv("FOLDER", folder, 1);
    run_program("/bin/sh", words);
}

/* Whether the line names the part: as a whole word, so that "1" is not found in "10". */
static int names(const char *line, const char *part)
{
    const size_t length = strlen(part);
    for (const char *at = line; length && (at = strstr(at, part)); at++)
        if ((at == line || !isalnum(at[-1]) || !isalnum(*part))
            && (!isalnum(at[length]) || !isalnum(part[length - 1])))
            return 1;
    return !length;
}

void assert_one_line(const char *name, const char *part)
{
    char start[64];
    snprintf(start, sizeof start, "ssm2d%s%s: ", *name ? " " : "", name);
    const char *newline = strchr(tool.err, '\n');
    if (strncmp(tool.err, start, strlen(start)))
        fail_msg("\"%s\" does not begin with \"%s\"", tool.err, start);
    if (!newline || newline[1]) fail_msg("\"%s\" is not one line", tool.err);
    if (!names(tool.err, part)) fail_msg("\"%s\" does not name \"%s\"", tool.err, part);
}

void check_refused(int code, const char *name, const char *const *parts, int nothing_else)
{
    if (tool.code != code) fail_msg("exit code %d instead of %d: %s", tool.code, code, tool.err);
    for (; *parts; parts++) assert_one_line(name, *parts);
    if (nothing_else && *tool.out) fail_msg("refused, but prints \"%s\"", tool.out);
    if (nothing_else) assert_folder_change((const char *const[]){NULL});
    assert_no_temporary();
}

void assert_done(void)
{
    if (tool.code || tool.err[0]) fail_msg("exit code %d: %s", tool.code, tool.err);
    assert_no_temporary();
}

void check_wrote(const char *const *paths)
{
    assert_done();
    assert_folder_change(paths);
}

void assert_absent(const char *path)
{
    if (!access(path, F_OK)) fail_msg("%s exists", path);
}

int folder_setup(void **state)
{
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.40s/ssm2d-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder)) return -1;
    /* the tool's cache of images that it has read, kept out of the home folder */
    return setenv("XDG_CACHE_HOME", in_folder(".cache"), 1);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)st;
    (void)kind;
    (void)where;
    return remove(path);
}

int folder_teardown(void **state)
{
    (void)state;
    free(tool.out);
    free(tool.err);
    memset(&tool, 0, sizeof tool);
    folder_forget();
    return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *in_folder(const char *format, ...)
{
    static char paths[8][512];
    static int next;
    char *path = paths[next = (next + 1) % 8];
    int used = snprintf(path, sizeof *paths, "%s/", folder);
    va_list args;
    va_start(args, format);
    vsnprintf(path + used, sizeof *paths - (size_t)used, format, args);
    va_end(args);
    return path;
}

static int files;

static int count_one(const char *path, const struct stat *st, int kind, struct FTW *where)
{
    (void)path;
    (void)st;
    (void)where;
    files += kind == FTW_F;
    return 0;
}

int count_files(const char *path)
{
    files = 0;
    nftw(path, count_one, 16, FTW_PHYS);
    return files;
}

void put_file(const char *path, const void *bytes, size_t size)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
}

void put_text(const char *path, const char *text) { put_file(path, text, strlen(text)); }

char *get_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f) fail_msg("%s does not exist", path);
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    char *bytes = take_stream(f);
    fclose(f);
    return bytes;
}

void assert_same_file(const char *one, const char *two)
{
    size_t size, other;
    char *a = get_file(one, &size), *b = get_file(two, &other);
    assert_int_equal(size, other);
    assert_memory_equal(a, b, size);
    free(a);
    free(b);
}

void copy_folder(const char *from, const char *to)
{
    char path[1024];
    size_t size;
    DIR *dir = opendir(from);
    assert_non_null(dir);
    assert_int_equal(mkdir(to, 0777), 0);
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", from, entry->d_name);
        char *bytes = get_file(path, &size);
        snprintf(path, sizeof path, "%s/%s", to, entry->d_name);
        put_file(path, bytes, size);
        free(bytes);
    }
    closedir(dir);
}

void edit_file(const char *path, const char *old, const char *new)
{
    size_t size;
    char *text = get_file(path, &size);
    char *at = strstr(text, old);
    if (!at || strstr(at + 1, old)) fail_msg("%s does not have \"%s\" once", path, old);
    char *edited = malloc(size + strlen(new) + 1);
    assert_non_null(edited);
    sprintf(edited, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    put_text(path, edited);
    free(edited);
    free(text);
}

void put_picture(const char *path, size_t rows, size_t cols, int channels)
{
    image_info info = {rows, cols, channels};
    image_writer *writer;
    ssm2d_context *context;
    ssm2d_error error;
    uint8_t *row = malloc(cols * (size_t)channels);
    assert_non_null(row);
    assert_int_equal(
        ssm2d_context_create(
            &(ssm2d_context_options){.size = sizeof(ssm2d_context_options), .threads = 1}, &context,
            &error),
        SSM2D_OK);
    if (image_create(context, path, &info, NULL, &writer, &error)) fail_msg("%s", error.line);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < cols; j++)
            for (int c = 0; c < channels; c++) {
                int edge = (i / 9 + j / 7 + (size_t)c) % 3 == 0;
                row[j * (size_t)channels + (size_t)c] =
                    (uint8_t)(edge ? 250 - 40 * c : (int)((i * 3 + j * 5) % 130) + 30 * c);
            }
        assert_int_equal(image_write_row(writer, row, &error), SSM2D_OK);
    }
    assert_int_equal(image_finish(writer, &error), SSM2D_OK);
    ssm2d_context_destroy(context);
    free(row);
}
