/* Reading and writing whole files. */
#define _GNU_SOURCE
#include "io_helpers.h"

#include "io/file.h"
#include "io/file_open.h"
#include "io/text.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static void whole_files_are_read(void **state)
{
    (void)state;
    char *bytes;
    size_t size;
    const char *path = io_put("a", "one\0two", 7);
    assert_int_equal(file_read(context, path, 7, &bytes, &size, &error), SSM2D_OK);
    assert_int_equal(size, 7);
    assert_memory_equal(bytes, "one\0two", 8); /* and a zero byte */
    mem_free(context, bytes);
    path = io_put("empty", "", 0);
    assert_int_equal(file_read(context, path, 0, &bytes, &size, &error), SSM2D_OK);
    assert_int_equal(size, 0);
    assert_int_equal(bytes[0], 0);
    mem_free(context, bytes);
}

static void large_files_are_refused(void **state)
{
    (void)state;
    char *bytes;
    size_t size;
    const char *path = io_put("big", "123456789", 9);
    assert_int_equal(file_read(context, path, 8, &bytes, &size, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("/big: has 9 bytes: at most 8 are read");
    assert_null(bytes);
    assert_int_equal(file_read(context, "/dev/zero", 100000, &bytes, &size, &error),
                     SSM2D_ERROR_ARGUMENT);
    assert_line("/dev/zero: has more than 100000 bytes");
    assert_null(bytes);
}

static void non_files_are_refused(void **state)
{
    (void)state;
    char *bytes;
    size_t size;
    assert_int_equal(file_read(context, folder, 100, &bytes, &size, &error), SSM2D_ERROR_ARGUMENT);
    assert_line(folder);
    assert_line("is a folder");
    assert_int_equal(file_read(context, io_path("missing"), 100, &bytes, &size, &error),
                     SSM2D_ERROR_SYSTEM);
    assert_line("/missing: cannot be opened: No such file");
    assert_int_equal(file_read(context, io_path("missing/more"), 100, &bytes, &size, NULL),
                     SSM2D_ERROR_SYSTEM);
}

/* A pipe has no size, so the buffer grows. */
static void reads_pipes(void **state)
{
    (void)state;
    enum { LONG = 200001 };
    const char *path = io_path("pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        FILE *f = fopen(path, "wb");
        for (int i = 0; f && i < LONG; i++) putc(i % 251, f);
        if (f) fclose(f);
        _exit(0);
    }
    char *bytes;
    size_t size;
    assert_int_equal(file_read(context, path, LONG, &bytes, &size, &error), SSM2D_OK);
    assert_int_equal(waitpid(child, NULL, 0), child);
    assert_int_equal(size, LONG);
    for (int i = 0; i < LONG; i++) assert_int_equal((unsigned char)bytes[i], i % 251);
    mem_free(context, bytes);
}

/* The result of each use of file_fd for a pipe, a link to a file, a file with two names, a folder
 * and a missing file: an error, or 0 for success. */
static void only_safe_files_are_opened(void **state)
{
    (void)state;
    enum { NONE = FILE_SYSTEM };
    static const int expected[][5] = {
        [FILE_READ] = {FILE_NOT_REGULAR, 0, 0, FILE_IS_FOLDER, NONE},
        [FILE_READ_OWN] = {FILE_NOT_REGULAR, FILE_NOT_REGULAR, 0, FILE_IS_FOLDER, NONE},
        [FILE_LOCK] = {FILE_NOT_REGULAR, FILE_NOT_REGULAR, 0, FILE_IS_FOLDER, 0},
        [FILE_APPEND] = {FILE_NOT_REGULAR, FILE_NOT_REGULAR, FILE_HAS_LINKS, FILE_IS_FOLDER, 0},
        [FILE_CONTINUE] = {FILE_NOT_REGULAR, FILE_NOT_REGULAR, FILE_HAS_LINKS, FILE_IS_FOLDER, 0},
        [FILE_REPLACE] = {FILE_NOT_REGULAR, FILE_NOT_REGULAR, 0, FILE_IS_FOLDER, 0},
        [FILE_OVERWRITE] = {0, 0, 0, FILE_IS_FOLDER, 0},
        [FILE_TEMPORARY] = {NONE, NONE, NONE, NONE, 0}};
    char where[512];
    snprintf(where, sizeof where, "%s", io_path("uses"));
    for (int use = FILE_READ; use <= FILE_TEMPORARY; use++) {
        if (use == FILE_READ_ANY) continue; /* would block until the pipe has another end */
        char script[2048];
        snprintf(script, sizeof script,
                 "rm -rf '%s' && mkdir '%s' && cd '%s' && mkfifo 0 && echo mine > mine && "
                 "ln -s mine 1 && ln mine 2 && mkdir 3",
                 where, where, where);
        assert_int_equal(system(script), 0);
        const int at = folder_fd(AT_FDCWD, where, 0);
        assert_true(at >= 0);
        for (int i = 0; i < 5; i++) {
            const char name[] = {(char)('0' + i), 0};
            const int fd = file_fd(at, name, (file_use)use, NULL);
            if ((fd < 0 ? fd : 0) != expected[use][i])
                fail_msg("use %d of %s: %d, not %d", use, name, fd, expected[use][i]);
            if (fd < 0) continue;
            assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
            if (use >= FILE_APPEND) assert_int_equal(write(fd, "x", 1), 1);
            close(fd);
        }
        close(at);
        char *bytes;
        size_t size;
        snprintf(script, sizeof script, "%s/mine", where);
        assert_int_equal(file_read(context, script, 100, &bytes, &size, &error), SSM2D_OK);
        assert_string_equal(bytes, "mine\n");
        mem_free(context, bytes);
        snprintf(script, sizeof script, "rm -r '%s'", where);
        assert_int_equal(system(script), 0);
    }
}

/* Files of the kernel that report 4096 bytes and have fewer look like files that shrink while they
 * are read. */
static void refuses_files_that_shrink(void **state)
{
    (void)state;
    const char *path = "/sys/devices/system/cpu/online";
    struct stat info;
    if (stat(path, &info) || info.st_size != 4096) {
        print_message("SKIPPED: %s does not say that it has 4096 bytes\n", path);
        skip();
    }
    char *bytes;
    size_t size;
    assert_int_equal(file_read(context, path, 1 << 20, &bytes, &size, &error), SSM2D_ERROR_SYSTEM);
    assert_line("of 4096 bytes");
    assert_null(bytes);
}

static void put_text(const char *path, const char *text)
{
    atomic_file file;
    assert_int_equal(atomic_open(context, path, &file, &error), SSM2D_OK);
    assert_int_equal(atomic_write(&file, text, strlen(text), &error), SSM2D_OK);
    assert_int_equal(atomic_commit(&file, &error), SSM2D_OK);
}

static void assert_holds(const char *path, const char *text)
{
    size_t size;
    unsigned char *bytes = io_get(path, &size);
    assert_int_equal(size, strlen(text));
    assert_memory_equal(bytes, text, size);
    free(bytes);
}

static void writes_whole_files(void **state)
{
    (void)state;
    mode_t mask = umask(0027);
    put_text(io_path("out"), "first");
    umask(mask);
    assert_holds(io_path("out"), "first");
    struct stat info;
    assert_int_equal(stat(io_path("out"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0640);
    put_text(io_path("out"), "second"); /* replaces the existing file */
    assert_holds(io_path("out"), "second");
    char name[256];
    memset(name, 'n', 255);
    name[255] = 0;
    put_text(io_path(name), "the longest name there can be");
    assert_int_equal(io_count_files(), 2);
    char here[512];
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(folder), 0);
    put_text("plain", "no folder in the name");
    assert_int_equal(chdir(here), 0);
    assert_holds(io_path("plain"), "no folder in the name");
}

static void appears_only_when_committed(void **state)
{
    (void)state;
    io_put("out", "old", 3);
    atomic_file file;
    assert_int_equal(atomic_open(context, io_path("out"), &file, &error), SSM2D_OK);
    assert_int_equal(atomic_write(&file, "new", 3, &error), SSM2D_OK);
    fflush(file.stream);
    assert_holds(io_path("out"), "old");
    assert_int_equal(io_count_files(), file.nameless ? 1 : 2);
    atomic_cancel(&file);
    assert_holds(io_path("out"), "old");
    assert_int_equal(io_count_files(), 1);
    atomic_cancel(&file); /* does nothing */
}

static void unwritable_places_are_refused(void **state)
{
    (void)state;
    atomic_file file;
    assert_int_equal(atomic_open(context, folder, &file, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("is a folder");
    assert_int_equal(atomic_open(context, "/dev/null", &file, &error), SSM2D_ERROR_ARGUMENT);
    assert_line("/dev/null: is not a regular file");
    assert_int_equal(atomic_open(context, "", &file, &error), SSM2D_ERROR_ARGUMENT);
    assert_int_equal(atomic_open(context, io_path("x/"), &file, &error), SSM2D_ERROR_ARGUMENT);
    assert_int_equal(atomic_open(context, io_path("no/such/folder"), &file, &error),
                     SSM2D_ERROR_SYSTEM);
    assert_line("no/such/folder: cannot be written: No such file");
    io_put("plain", "", 0);
    assert_int_equal(atomic_open(context, io_path("plain/x"), &file, &error), SSM2D_ERROR_SYSTEM);
    assert_line("Not a directory");
    assert_int_equal(atomic_open(context, "/proc/ssm2d", &file, &error), SSM2D_ERROR_SYSTEM);
    assert_line("/proc/ssm2d: cannot be written");
    if (geteuid()) { /* root may do anything */
        assert_int_equal(mkdir(io_path("locked"), 0500), 0);
        assert_int_equal(atomic_open(context, io_path("locked/x"), &file, &error),
                         SSM2D_ERROR_SYSTEM);
        assert_line("Permission denied");
    }
    assert_null(file.stream);
}

/* Killed in the middle of writing: the old file is unchanged, and there is no other. */
static void leaves_nothing_when_killed(void **state)
{
    (void)state;
    io_put("out", "old", 3);
    atomic_file file;
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        if (!atomic_open(context, io_path("out"), &file, NULL)
            && !atomic_write(&file, "new", 3, NULL))
            fflush(file.stream);
        raise(SIGKILL);
    }
    int how = 0;
    assert_int_equal(waitpid(child, &how, 0), child);
    assert_true(WIFSIGNALED(how));
    char *bytes;
    size_t size;
    assert_int_equal(file_read(context, io_path("out"), 100, &bytes, &size, &error), SSM2D_OK);
    assert_string_equal(bytes, "old");
    mem_free(context, bytes);
    /* On file systems without unnamed files the temporary file stays; it never has the name of the
     * file. */
    assert_int_equal(atomic_open(context, io_path("other"), &file, &error), SSM2D_OK);
    assert_int_equal(io_count_files(), file.nameless ? 1 : 3);
    atomic_cancel(&file);
}

/* A limit on file sizes simulates a full disk. */
static void leaves_nothing_on_a_full_disk(void **state)
{
    (void)state;
    static char many[1 << 20];
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 1000;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    atomic_file file;
    assert_int_equal(atomic_open(context, io_path("out"), &file, &error), SSM2D_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    ssm2d_status large = atomic_write(&file, many, sizeof many, &error);
    ssm2d_status commit = atomic_commit(&file, NULL);
    atomic_file buffered;
    assert_int_equal(atomic_open(context, io_path("out"), &buffered, NULL), SSM2D_OK);
    /* fits the buffer, fails when flushed */
    ssm2d_status little = atomic_write(&buffered, many, 2000, NULL);
    ssm2d_error late = {{0}};
    ssm2d_status flushed = atomic_commit(&buffered, &late);
    setrlimit(RLIMIT_FSIZE, &old);
    signal(SIGXFSZ, handler);
    assert_int_equal(large, SSM2D_ERROR_SYSTEM);
    assert_line("/out: cannot be written: File too large");
    assert_int_equal(commit, SSM2D_ERROR_SYSTEM);
    assert_int_equal(little, SSM2D_OK);
    assert_int_equal(flushed, SSM2D_ERROR_SYSTEM);
    assert_non_null(strstr(late.line, "File too large"));
    assert_int_equal(io_count_files(), 0);
}

/* The name is taken by a folder after the file was opened. */
static void failing_rename_is_reported(void **state)
{
    (void)state;
    atomic_file file;
    assert_int_equal(atomic_open(context, io_path("out"), &file, &error), SSM2D_OK);
    assert_int_equal(mkdir(io_path("out"), 0777), 0);
    assert_int_equal(atomic_commit(&file, &error), SSM2D_ERROR_SYSTEM);
    assert_line("/out: cannot be renamed into place: Is a directory");
    assert_int_equal(io_count_files(), 1);
}

static void makes_folders(void **state)
{
    (void)state;
    struct stat info;
    char deep[600];
    snprintf(deep, sizeof deep, "%s/", io_path("one//two/three"));
    assert_int_equal(folder_make(deep, &error), SSM2D_OK);
    assert_int_equal(stat(deep, &info), 0);
    assert_true(S_ISDIR(info.st_mode));
    assert_int_equal(folder_make(deep, &error), SSM2D_OK); /* the file exists */
    assert_int_equal(folder_make("/", &error), SSM2D_OK);
    assert_int_equal(folder_make(".", &error), SSM2D_OK);
    io_put("plain", "", 0);
    assert_int_equal(folder_make(io_path("plain/x"), &error), SSM2D_ERROR_ARGUMENT);
    assert_line("/plain: is a file, not a folder");
    assert_int_equal(folder_make("/proc/ssm2d", &error), SSM2D_ERROR_SYSTEM);
    assert_line("/proc/ssm2d: cannot be made");
    assert_int_equal(folder_make("", &error), SSM2D_ERROR_ARGUMENT);
    char endless[5000];
    memset(endless, 'a', sizeof endless - 1);
    endless[sizeof endless - 1] = 0;
    assert_int_equal(folder_make(endless, &error), SSM2D_ERROR_SYSTEM);
    rmdir(io_path("one/two/three"));
    rmdir(io_path("one/two"));
}

static ssm2d_status read_once(void)
{
    char *bytes;
    size_t size;
    ssm2d_status status = file_read(context, io_path("a"), 100, &bytes, &size, &error);
    if (!status) mem_free(context, bytes);
    return status;
}

static ssm2d_status write_once(void)
{
    atomic_file file;
    ssm2d_status status = atomic_open(context, io_path("b"), &file, &error);
    return status ? status : atomic_commit(&file, &error);
}

static void survives_failing_allocations(void **state)
{
    (void)state;
    io_put("a", "12345", 5);
    assert_int_equal(io_fail_everywhere(read_once), 1);
    assert_int_equal(io_fail_everywhere(write_once), 2);
    assert_int_equal(io_count_files(), 2);
}

static void escapes_control_characters_in_messages(void **state)
{
    (void)state;
    char out[8], path[300];
    assert_string_equal(text_show("ab\n\x1b", 4, out, sizeof out), "ab??");
    assert_string_equal(text_show("1234567", 7, out, sizeof out), "1234567");
    assert_string_equal(text_show("12345678", 8, out, sizeof out), "12345..");
    memset(path, 'p', sizeof path - 1);
    path[sizeof path - 1] = 0;
    assert_int_equal(strlen(text_path(path)), 120);
    path[250] = '/';
    assert_int_equal(strlen(text_path(path)), sizeof path - 1 - 251);
    assert_string_equal(text_path("short/name"), "short/name");
}

#define TEST(f) cmocka_unit_test_setup(f, io_begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(whole_files_are_read),
        TEST(large_files_are_refused),
        TEST(non_files_are_refused),
        TEST(reads_pipes),
        TEST(only_safe_files_are_opened),
        TEST(refuses_files_that_shrink),
        TEST(writes_whole_files),
        TEST(appears_only_when_committed),
        TEST(unwritable_places_are_refused),
        TEST(leaves_nothing_when_killed),
        TEST(leaves_nothing_on_a_full_disk),
        TEST(failing_rename_is_reported),
        TEST(makes_folders),
        TEST(survives_failing_allocations),
        TEST(escapes_control_characters_in_messages),
    };
    return cmocka_run_group_tests_name("file", tests, io_setup, io_teardown);
}
