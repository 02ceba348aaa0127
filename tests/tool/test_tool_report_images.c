/* ssm2d report on image files: misclassified images have the names of their files, whichever images
 * could not be read. */
#include "tool_run.h"

#include <sys/stat.h>

/* Two classes that no model can tell apart; files are named after their class. Each class begins
 * with images that are bad in the test set. */
static void make_photos(void)
{
    shell_run("cd $FOLDER && mkdir -p photos/train/a photos/train/b photos/test/a photos/test/b");
    for (int i = 0; i < 16; i++) {
        const char class = i % 2 ? 'a' : 'b';
        put_picture(in_folder("photos/train/%c/%c%d.png", class, class, i), 8, 8, 3);
        put_picture(in_folder("photos/test/%c/%c-is<b>good%d.png", class, class, i), 8, 8, 3);
        if (i < 6) put_text(in_folder("photos/test/%c/%c-bad%d.png", class, class, i), "bad");
    }
}

/* Returns the text between two marks from *at on; 0 if there is none. */
static int take(const char **at, const char *from, const char *to, char *text, size_t size)
{
    const char *start = strstr(*at, from), *end = start ? strstr(start + strlen(from), to) : NULL;
    if (!end) return 0;
    snprintf(text, size, "%.*s", (int)(end - start - (long)strlen(from)), start + strlen(from));
    *at = end;
    return 1;
}

static void test_wrong_images_have_their_file_names(void **state)
{
    (void)state;
    size_t size;
    int images = 0;
    char truth[64], number[64], file[128];
    make_photos();
    shell_run("cd $FOLDER && $SSM2D train --data photos --bad-images skip --set image=8 --set "
              "dim=16 --set depth=1 --set heads=2 --mixer none --batch 4 --epochs 1 --threads 1 "
              "--out run && $SSM2D report run -o r.html --no-measure --threads 1");
    assert_int_equal(tool.code, 0);
    char *text = get_file(in_folder("r.html"), &size);
    const char *at = strstr(text, "<section id=\"wrong\"");
    assert_non_null(at);
    assert_non_null(strstr(at, "Run <b>run</b>"));
    while (take(&at, "class=\"truth\">true <b>", "</b>", truth, sizeof truth)) {
        assert_true(take(&at, ", no. ", "</span>", number, sizeof number));
        assert_true(take(&at, "class=\"dim file\">", "</span>", file, sizeof file));
        if (file[0] != truth[0]) fail_msg("%s is of class %s", file, truth);
        if (strstr(file, "bad")) fail_msg("%s was not evaluated", file);
        if (!strstr(file, "&lt;b&gt;")) fail_msg("%s: is not text", file);
        images++;
    }
    /* one class is always wrong, or some of each */
    if (images < 4) fail_msg("%d wrong images", images);
    assert_null(strstr(text, in_folder("photos/test"))); /* folders stay private */
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(
        test_wrong_images_have_their_file_names, folder_setup, folder_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
