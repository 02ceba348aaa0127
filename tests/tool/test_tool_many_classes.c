/* Many classes: evaluation and report keep only the cells of a confusion matrix that are not zero,
 * so that memory depends on the number of images, and counts of classes are not multiplied as
 * ints. */
#include "tool_run.h"

#include "core/context.h"
#include "draw/confusion.h"
#include "io/image.h"
#include "report/section.h"

#include <cjson/cJSON.h>
#include <sys/stat.h>
#include <unistd.h>

static ssm2d_error error;

/* ---- cells ----------------------------------------------------------------------------------- */

static void test_equal_cells_are_merged(void **state)
{
    (void)state;
    confusion_cell cells[] = {{3, 1, 2}, {0, 49999, 1}, {3, 1, 5}, {0, 2, 1}, {3, 0, 1}};
    size_t end;
    assert_int_equal(confusion_cells_merge(cells, 5), 4);
    assert_int_equal(cells[0].predicted, 2);
    assert_int_equal(cells[1].predicted, 49999);
    assert_int_equal(cells[2].predicted, 0);
    assert_int_equal(cells[3].count, 7);
    assert_int_equal(confusion_row_total(cells, 4, 0, &end), 2);
    assert_int_equal(end, 2);
    assert_int_equal(confusion_row_total(cells, 4, 2, &end), 8);
    assert_int_equal(end, 4);
    assert_int_equal(confusion_cells_merge(cells, 0), 0);
}

/* 46,341 classes are the first whose square exceeds INT_MAX. */
enum { MANY = 50000 };

static const char **many_names(ssm2d_context *context)
{
    const char **names = mem_alloc(context, MANY * sizeof *names);
    assert_non_null(names);
    for (int i = 0; i < MANY; i++) names[i] = "some class";
    names[MANY - 1] = "last class";
    names[46341] = "true class";
    return names;
}

static const confusion_cell many_cells[] = {{1, 1, 3}, {46341, MANY - 1, 3}, {46341, 46341, 1}};
enum { CELLS = sizeof many_cells / sizeof *many_cells };

static void test_report_section_omits_large_matrix(void **state)
{
    (void)state;
    ssm2d_context *context;
    assert_int_equal(ssm2d_context_create(NULL, &context, &error), SSM2D_OK);
    report_run run = {.task = &task_classification, .data = {.outputs = MANY}};
    report_group group = {.count = 1, .label = "a setup"};
    const report r = {
        .context = context, .runs = &run, .run_count = 1, .groups = &group, .group_count = 1};
    html h;
    size_t size;
    run.data.names = many_names(context);
    run.evaluation.done = 1;
    run.evaluation.detail.shape.outputs = MANY;
    run.evaluation.confusion = (confusion_cell *)many_cells;
    run.evaluation.confusion_count = CELLS;
    assert_int_equal(html_open(context, in_folder("r.html"), &h, &error), SSM2D_OK);
    if (section_confusion.write(&r, &h, &error)) fail_msg("%s", error.line);
    assert_int_equal(html_finish(&h, &error), SSM2D_OK);
    char *text = get_file(in_folder("r.html"), &size);
    assert_non_null(strstr(text, "The matrix is left out: it has 50000 classes"));
    assert_non_null(strstr(text, "<th scope=\"row\">true class</th><td class=\"word\">last "
                                 "class</td><td>3</td><td>75.0</td>"));
    assert_null(strstr(text, "<img"));
    free(text);
    mem_free(context, run.data.names);
    ssm2d_context_destroy(context);
}

static void test_matrix_of_many_classes_is_drawn(void **state)
{
    (void)state;
    ssm2d_context *context;
    image_reader *reader;
    image_info info;
    assert_int_equal(ssm2d_context_create(NULL, &context, &error), SSM2D_OK);
    const char **names = many_names(context);
    const confusion m = {"many", "class", "classes", MANY, names, many_cells, CELLS};
    if (confusion_draw(context, in_folder("c.png"), &m, &error)) fail_msg("%s", error.line);
    assert_int_equal(image_open(context, in_folder("c.png"), NULL, &reader, &info, &error),
                     SSM2D_OK);
    assert_true(info.rows < 2000 && info.cols < 2000);
    image_close(reader);
    mem_free(context, names);
    ssm2d_context_destroy(context);
}

/* ---- the tool -------------------------------------------------------------------------------- */

enum { CLASSES = 1500 };

/* One image of 4 x 4 pixels for each class, in train and in val. */
static void put_classes(void)
{
    size_t size;
    put_picture(in_folder("image.png"), 4, 4, 3);
    char *bytes = get_file(in_folder("image.png"), &size);
    for (int i = 0; i < 2 * CLASSES; i++) {
        const char *split = i % 2 ? "val" : "train";
        if (i < 2) {
            mkdir(in_folder("data"), 0777);
            assert_int_equal(mkdir(in_folder("data/%s", split), 0777), 0);
        }
        assert_int_equal(mkdir(in_folder("data/%s/%04d", split, i / 2), 0777), 0);
        put_file(in_folder("data/%s/%04d/a.png", split, i / 2), bytes, size);
    }
    free(bytes);
}

static void test_run_with_many_classes_is_evaluated_and_reported(void **state)
{
    (void)state;
    size_t size;
    put_classes();
    TOOL("train", "--data", in_folder("data"), "--out", in_folder("run"), "--model", "vit-mini",
         "--batch", "125", "--epochs", "1", "--set", "dim=16", "--set", "depth=1", "--set",
         "heads=2", "--set", "mixer.d_state=3", "--set", "image=8");
    if (tool.code) fail_msg("%s", tool.err);
    TOOL("eval", in_folder("run"), "--json", "--confusion", in_folder("c.png"));
    assert_wrote("c.png");
    cJSON *root = cJSON_Parse(tool.out);
    const cJSON *pairs = cJSON_GetObjectItem(root, "confusion_pairs"), *pair;
    int images = 0, right = 0;
    assert_null(cJSON_GetObjectItem(root, "confusion"));
    cJSON_ArrayForEach(pair, pairs)
    {
        const int count = cJSON_GetArrayItem(pair, 2)->valueint;
        images += count;
        if (cJSON_GetArrayItem(pair, 0)->valueint == cJSON_GetArrayItem(pair, 1)->valueint)
            right += count;
    }
    assert_int_equal(images, CLASSES);
    assert_float_equal(cJSON_GetObjectItem(root, "accuracy")->valuedouble, right / 1500., 1e-9);
    cJSON_Delete(root);
    assert_int_equal(access(in_folder("c.png"), F_OK), 0);
    TOOL("report", in_folder("run"), "-o", in_folder("r.html"), "--no-measure");
    if (tool.code) fail_msg("%s", tool.err);
    char *text = get_file(in_folder("r.html"), &size);
    assert_non_null(strstr(text, "The matrix is left out: it has 1500 classes"));
    assert_null(strstr(text, "data-matrix="));
    assert_non_null(strstr(text, "Confused most"));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_equal_cells_are_merged),
        cmocka_unit_test_setup_teardown(test_report_section_omits_large_matrix, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_matrix_of_many_classes_is_drawn, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_run_with_many_classes_is_evaluated_and_reported,
                                        folder_setup, folder_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
