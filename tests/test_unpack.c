/* Hostile archives: what is not asked for is not written, and nothing outside the folder. */
#include "io_helpers.h"

#include "io/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>

typedef struct item {
    const char *name;
    int type;         /* AE_IFREG, AE_IFLNK .. */
    const char *link; /* of a link: its target; of a file with AE_IFREG: a hard link */
    size_t size;
} item;

/* Writes an archive of these items, which end with a NULL name, and returns its path. */
static const char *put_archive(int zip, const item *items)
{
    static char path[128];
    static const char zeros[1 << 17];
    snprintf(path, sizeof path, "%s", io_path("archive"));
    struct archive *a = archive_write_new();
    if (zip)
        archive_write_set_format_zip(a);
    else
        archive_write_set_format_ustar(a);
    assert_int_equal(archive_write_open_filename(a, path), ARCHIVE_OK);
    for (; items->name; items++) {
        struct archive_entry *e = archive_entry_new();
        archive_entry_set_pathname(e, items->name);
        archive_entry_set_filetype(e, (unsigned)items->type);
        archive_entry_set_perm(e, 0644);
        archive_entry_set_size(e, (la_int64_t)items->size);
        if (items->type == AE_IFLNK) archive_entry_set_symlink(e, items->link);
        if (items->type == AE_IFREG && items->link) archive_entry_set_hardlink(e, items->link);
        assert_true(archive_write_header(a, e) >= ARCHIVE_WARN);
        archive_write_data(a, zeros, items->size);
        archive_entry_free(e);
    }
    archive_write_close(a);
    archive_write_free(a);
    return path;
}

static const char *const under[] = {"train", "words.txt", NULL};
static const unpack_bounds bounds = {"tiny/", under, 3, 1000, 1500, NULL, NULL};
static int at; /* the test's folder */

static ssm2d_status unpack(const item *items, const unpack_bounds *b, int *stopped)
{
    return unpack_tree(put_archive(1, items), 0, b, at, "out", stopped, &error);
}

static void wanted_files_are_written(void **state)
{
    (void)state;
    static const item items[] = {{"tiny/", AE_IFDIR},
                                 {"tiny/test/x", AE_IFREG, NULL, 5},
                                 {"tiny/train/", AE_IFDIR},
                                 {"tiny/train/a/b", AE_IFREG, NULL, 7},
                                 {"../evil", AE_IFREG, NULL, 1},
                                 {"/tmp/evil", AE_IFREG, NULL, 1},
                                 {"tiny/trainer", AE_IFREG, NULL, 1},
                                 {"tiny/words.txt", AE_IFREG, NULL, 9},
                                 {0}};
    int stopped;
    if (unpack(items, &bounds, &stopped)) fail_msg("%s", error.line);
    struct stat info;
    assert_int_equal(unpack_count(at, "out"), 2);
    assert_int_equal(fstatat(at, "out/train/a/b", &info, 0), 0);
    assert_int_equal(info.st_size, 7);
    unpack_remove(at, "out");
    assert_int_equal(faccessat(at, "out", F_OK, 0), -1);
}

/* Each is refused with its name, and nothing appears outside the new folder. */
static void hostile_archives_are_refused(void **state)
{
    (void)state;
    static const struct {
        item items[5];
        const char *line;
    } cases[] = {
        {{{"tiny/train/../../evil", AE_IFREG, NULL, 1}}, "is no name of a file"},
        {{{"tiny/train//evil", AE_IFREG, NULL, 1}}, "is no name of a file"},
        {{{"tiny/train/.hidden", AE_IFREG, NULL, 1}}, "is no name of a file"},
        {{{"tiny/train/1/2/3/4/5/6/7/8/9", AE_IFREG, NULL, 1}}, "is no name of a file"},
        {{{"tiny/train/link", AE_IFLNK, "/tmp"}}, "is a link or a special file"},
        {{{"tiny/train/link", AE_IFLNK, "../.."}, {"tiny/train/link/evil", AE_IFREG, NULL, 1}},
         "is a link or a special file"},
        {{{"tiny/train/big", AE_IFREG, NULL, 1001}}, "is too large"},
        {{{"tiny/train/a", AE_IFREG, NULL, 900}, {"tiny/train/b", AE_IFREG, NULL, 900}},
         "makes the files too large"},
        {{{"tiny/train/a", AE_IFREG, NULL, 1},
          {"tiny/train/b", AE_IFREG, NULL, 1},
          {"tiny/train/c", AE_IFREG, NULL, 1},
          {"tiny/train/d", AE_IFREG, NULL, 1}},
         "there are too many files"},
        {{{"tiny/train/a", AE_IFREG, NULL, 1}, {"tiny/train/a", AE_IFREG, NULL, 1}}, "train/a"},
        {{{"tiny/train/a", AE_IFREG, NULL, 1}, {"tiny/train/a/b", AE_IFREG, NULL, 1}}, "train/a"},
        {{{"tiny/test/a", AE_IFREG, NULL, 1}}, "has no files"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int stopped;
        if (!unpack(cases[i].items, &bounds, &stopped)) fail_msg("case %zu is not refused", i);
        if (!strstr(error.line, cases[i].line)) fail_msg("case %zu: %s", i, error.line);
        unpack_remove(at, "out");
        assert_int_equal(unpack_count(at, "."), 1); /* the archive */
    }
    assert_int_equal(access("/tmp/evil", F_OK), -1);
    /* an existing folder is not used */
    static const item good[] = {{"tiny/train/a", AE_IFREG, NULL, 1}, {0}};
    int stopped;
    assert_int_equal(mkdirat(at, "out", 0777), 0);
    assert_int_not_equal(unpack(good, &bounds, &stopped), SSM2D_OK);
    unpack_remove(at, "out");
    io_put("archive", "PK no archive", 13);
    assert_int_not_equal(unpack_tree(io_path("archive"), 0, &bounds, at, "out", &stopped, &error),
                         SSM2D_OK);
    unpack_remove(at, "out");
}

static int stop_at_once(void *user) { return ++*(int *)user > 1; }

static void unpacking_stops(void **state)
{
    (void)state;
    static const item items[] = {
        {"tiny/train/a", AE_IFREG, NULL, 1}, {"tiny/train/b", AE_IFREG, NULL, 1}, {0}};
    unpack_bounds b = bounds;
    int calls = 0, stopped = 0;
    b.stop = stop_at_once, b.user = &calls;
    assert_int_equal(unpack(items, &b, &stopped), SSM2D_OK);
    assert_int_equal(stopped, 1);
    assert_int_equal(unpack_count(at, "out"), 1);
    unpack_remove(at, "out");
}

/* Links inside a folder that is removed lose their names, not their targets. */
static void removal_follows_no_links(void **state)
{
    (void)state;
    io_put("kept", "x", 1);
    assert_int_equal(mkdirat(at, "out", 0777), 0);
    assert_int_equal(mkdirat(at, "mine", 0777), 0);
    io_put("mine/file", "x", 1);
    assert_int_equal(symlinkat("../mine", at, "out/link"), 0);
    assert_int_equal(linkat(at, "kept", at, "out/kept", 0), 0);
    assert_int_equal(unpack_count(at, "out"), 1);
    unpack_remove(at, "out");
    assert_int_equal(faccessat(at, "out", F_OK, 0), -1);
    assert_int_equal(faccessat(at, "mine/file", F_OK, 0) | faccessat(at, "kept", F_OK, 0), 0);
    assert_int_equal(symlinkat("mine", at, "out"), 0);
    unpack_remove(at, "out");
    assert_int_equal(faccessat(at, "mine/file", F_OK, 0), 0);
    unpack_remove(at, "mine");
    unlinkat(at, "kept", 0), unlinkat(at, "out", 0);
}

/* Single files: names are compared whole, sizes are bounded. */
static void single_files_are_bounded(void **state)
{
    (void)state;
    static const item items[] = {{"a/../names", AE_IFREG, NULL, 3},
                                 {"a/names", AE_IFLNK, "/etc"},
                                 {"a/names", AE_IFREG, NULL, 100},
                                 {0}};
    static const char *const names[] = {"a/names"};
    const char *path = put_archive(0, items);
    struct stat info;
    assert_int_not_equal(unpack_files(context, path, 0, names, 1, 99, folder, &error), SSM2D_OK);
    assert_line("has a file of more than 99 bytes");
    assert_int_equal(faccessat(at, "names", F_OK, 0), -1);
    assert_int_equal(unpack_files(context, path, 0, names, 1, 100, folder, &error), SSM2D_OK);
    assert_int_equal(fstatat(at, "names", &info, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(info.st_size, 100);
    assert_int_not_equal(unpack_single(context, io_path("names"), 0, 99, io_path("to"), &error),
                         SSM2D_OK);
    assert_int_equal(faccessat(at, "to", F_OK, 0), -1);
    assert_int_equal(unpack_single(context, io_path("names"), 0, 100, io_path("to"), &error),
                     SSM2D_OK);
    unlinkat(at, "names", 0), unlinkat(at, "to", 0);
}

static int begin(void **state)
{
    if (io_begin(state)) return -1;
    at = open(folder, O_RDONLY | O_DIRECTORY);
    return at < 0;
}

static int end(void **state)
{
    (void)state;
    unlinkat(at, "archive", 0);
    return close(at);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(wanted_files_are_written), TEST(hostile_archives_are_refused), TEST(unpacking_stops),
        TEST(removal_follows_no_links), TEST(single_files_are_bounded)};
    return cmocka_run_group_tests_name("unpack", tests, io_setup, io_teardown);
}
