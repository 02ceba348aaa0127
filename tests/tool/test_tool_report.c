/* ssm2d report: the page has the values of the runs, names cannot break it, and missing parts are
 * reported. */
#include "tool_run.h"

#include "../train/small_data.h"
#include "core/context.h"
#include "report/html.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <math.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SMALL                                                                                      \
    "--batch", "8", "--epochs", "2", "--log-every", "2", "--set", "dim=16", "--set", "depth=2",    \
        "--set", "heads=2", "--set", "crop_padding=0", "--lr", "0.005", "--threads", "1"

static int setup(void **state)
{
    if (folder_setup(state)) return -1;
    return !mkdir(in_folder("data"), 0777) && small_data(in_folder("data"), 80, 40) ? 0 : -1;
}

static void train(const char *run, const char *mixer, const char *seed)
{
    TOOL("train", "--data", in_folder("data"), "--mixer", mixer, "--seed", seed, "--out", run,
         SMALL);
    assert_done();
}

/* The page, to be freed. */
static char *page(const char *name)
{
    size_t size;
    return get_file(in_folder("%s", name), &size);
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("the page does not have %s", part);
}

static void assert_lacks(const char *text, const char *part)
{
    const char *at = strstr(text, part);
    if (at) fail_msg("the page has %.80s", at);
}

static int count_of(const char *text, const char *part)
{
    int count = 0;
    for (; (text = strstr(text, part)); text += strlen(part)) count++;
    return count;
}

/* The text of column `column` (from 0) in the row of a table that begins with `mark`, without
 * tags; valid until the next call. */
static const char *cell(const char *text, const char *table, const char *mark, int column)
{
    static char out[256];
    size_t length = 0;
    const char *at = strstr(text, table), *end;
    if (!at) fail_msg("the page has no %s", table);
    const char *row = strstr(at, mark);
    if (!row) fail_msg("%s has no %s", table, mark);
    end = strstr(row, "</tr>");
    assert_non_null(end);
    at = row;
    for (int i = 0; i <= column; i++) {
        at = strstr(at + 1, "<td");
        if (!at || at > end) fail_msg("%s, %s has no column %d", table, mark, column);
    }
    at = strchr(at, '>') + 1;
    end = strstr(at, "</td>");
    for (int inside = 0; at < end && length + 1 < sizeof out; at++) {
        if (*at == '<') inside = 1;
        if (!inside) out[length++] = *at;
        if (*at == '>') inside = 0;
    }
    out[length] = 0;
    return out;
}

/* A value in the metrics of an epoch, from 1 on; 0 is the last epoch. */
static double epoch_number(const char *run, int epoch, const char *key)
{
    size_t size;
    char *text = get_file(in_folder("%s/metrics.jsonl", run), &size);
    double number = NAN;
    for (char *at = text; (at = strstr(at, "{\"kind\": \"epoch\"")); at++) {
        cJSON *root = cJSON_Parse(at);
        const cJSON *value = cJSON_GetObjectItem(root, key);
        assert_non_null(value);
        if (!epoch || cJSON_GetObjectItem(root, "epoch")->valueint == epoch)
            number = value->valuedouble;
        cJSON_Delete(root);
    }
    assert_false(isnan(number));
    free(text);
    return number;
}

static double last_number(const char *run, const char *key) { return epoch_number(run, 0, key); }

/* Mean and sample deviation of a value of an epoch, times `scale`, over the runs s0, s1, .. of
 * test_seeds. */
static double seeds_mean(int runs, int epoch, const char *key, double scale, double *deviation)
{
    double x[3], sum = 0, squares = 0;
    for (int i = 0; i < runs; i++) {
        char run[16];
        snprintf(run, sizeof run, "s%d", i);
        x[i] = scale * epoch_number(run, epoch, key);
        sum += x[i];
    }
    const double mean = sum / runs;
    for (int i = 0; i < runs; i++) squares += (x[i] - mean) * (x[i] - mean);
    *deviation = sqrt(squares / (runs - 1));
    return mean;
}

static void assert_cell(const char *text, const char *table, const char *mark, int column,
                        const char *format, ...)
{
    char wanted[128];
    va_list args;
    va_start(args, format);
    vsnprintf(wanted, sizeof wanted, format, args);
    va_end(args);
    assert_string_equal(cell(text, table, mark, column), wanted);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* One run: the table of runs has the values of metrics.jsonl, and those of the test are what `ssm2d
 * eval` prints, class by class. */
static void test_one_run_has_its_metrics_and_evaluation(void **state)
{
    (void)state;
    train(in_folder("one"), "ssm2d", "0");
    TOOL("report", in_folder("one"), "-o", in_folder("r.html"), "--threads", "1");
    assert_wrote("r.html");
    assert_has(tool.out, "r.html: report of 1 run, ");
    char *text = page("r.html");
    const double accuracy = last_number("one", "test_accuracy");
    assert_cell(text, "id=\"runs\"", "data-run=\"0\"", 0, "finished");
    assert_cell(text, "id=\"runs\"", "data-run=\"0\"", 2, "2/2");
    assert_cell(text, "id=\"runs\"", "data-run=\"0\"", 3, "%.2f", 100 * accuracy);
    assert_cell(text, "id=\"runs\"", "data-run=\"0\"", 5, "%.2f", 100 * accuracy);
    assert_cell(text, "id=\"runs\"", "data-run=\"0\"", 7, "%.4f", last_number("one", "loss"));
    assert_cell(text, "id=\"runs\"", "data-run=\"0\"", 8, "%.4f", last_number("one", "test_loss"));
    assert_has(text, "id=\"curve-data\"");
    assert_has(text, "\"mixerNorms\":[[");
    assert_lacks(text, "id=\"epoch-means\"");
    assert_has(text, "One training step of 8 images");
    assert_int_equal(count_of(text, "Training loss: with label smoothing (0.1), which raises it; "
                                    "test loss: without."),
                     3); /* of results, of the curves, and of the table of epochs */
    assert_has(text, "Effective receptive field on 8 by 8 pixels");
    assert_has(text, "Kernel of channel 0 in block 2");

    TOOL("eval", in_folder("one"), "--json", "--per-class", "--confusion", in_folder("c.png"));
    assert_wrote("c.png");
    cJSON *root = cJSON_Parse(tool.out);
    assert_cell(text, "id=\"runs\"", "data-run=\"0\"", 6, "%.4f",
                cJSON_GetObjectItem(root, "loss")->valuedouble);
    for (int c = 0; c < SMALL_CLASSES; c++) {
        const cJSON *class = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "classes"), c);
        const cJSON *row = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "confusion"), c);
        char mark[64];
        snprintf(mark, sizeof mark, "<th scope=\"row\">%d</th>", c);
        assert_cell(text, "class=\"classes", mark, 0, "%d",
                    cJSON_GetObjectItem(class, "images")->valueint);
        assert_cell(text, "class=\"classes", mark, 1, "%.2f",
                    100 * cJSON_GetObjectItem(class, "recall")->valuedouble);
        for (int k = 0; k < SMALL_CLASSES; k++)
            assert_cell(text, "class=\"confusion", mark, k, "%d",
                        cJSON_GetArrayItem(row, k)->valueint);
    }
    cJSON_Delete(root);
    /* works offline: the page names nothing that a browser would fetch */
    assert_lacks(text, "http://www.w3.org/1999");
    assert_int_equal(count_of(text, "src=\"") - count_of(text, "src=\"data:image/png;base64,"), 0);
    assert_int_equal(count_of(text, "href=\"") - count_of(text, "href=\"#"), 1); /* of the icon */
    assert_has(text, "href=\"data:,\"");
    free(text);
    /* the same runs give the same page, except for the times */
    TOOL("report", in_folder("one"), "-o", in_folder("a.html"), "--no-measure", "--threads", "1");
    assert_wrote("a.html");
    TOOL("report", in_folder("one/"), "-o", in_folder("b.html"), "--no-measure", "--threads", "1");
    assert_wrote("b.html");
    char *a = page("a.html"), *b = page("b.html");
    assert_string_equal(a, b);
    assert_has(a, "left out by --no-measure");
    free(a);
    free(b);
}

/* Rows of the table of means: of an epoch over `runs` runs, and of the only run of its setup. */
static void assert_means(const char *text, int epoch, int runs)
{
    static const struct column {
        const char *key;
        int scale, digits;
    } columns[] = {
        {"loss", 1, 4}, {"accuracy", 100, 2}, {"test_loss", 1, 4}, {"test_accuracy", 100, 2}};
    char seeds[64], plain[64];
    snprintf(seeds, sizeof seeds, ">vit-mini · ssm2d</th><td>%d<", epoch);
    snprintf(plain, sizeof plain, ">plain · vit-mini · none</th><td>%d<", epoch);
    assert_cell(text, "id=\"epoch-means\"", seeds, 1, "%d", runs);
    assert_cell(text, "id=\"epoch-means\"", plain, 1, "1");
    for (int c = 0; c < 4; c++) {
        const struct column *k = &columns[c];
        double deviation;
        const double mean = seeds_mean(runs, epoch, k->key, k->scale, &deviation);
        assert_cell(text, "id=\"epoch-means\"", seeds, 2 + c, "%.*f ± %.*f", k->digits, mean,
                    k->digits, deviation);
        assert_cell(text, "id=\"epoch-means\"", plain, 2 + c, "%.*f", k->digits,
                    k->scale * epoch_number("plain", epoch, k->key));
    }
}

/* What the script of the page draws: setups, their runs, and the values of metrics.jsonl. */
static void assert_curves(const char *text, const char *const *names, const int *setups, int count)
{
    const char *at = strstr(text, "id=\"curve-data\">");
    assert_non_null(at);
    cJSON *root = cJSON_Parse(strchr(at, '>') + 1);
    const cJSON *runs = cJSON_GetObjectItem(root, "runs");
    const cJSON *first = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "setups"), 0);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "setups")), 2);
    assert_string_equal(cJSON_GetObjectItem(first, "name")->valuestring, "vit-mini · ssm2d");
    assert_int_equal(cJSON_GetArraySize(runs), count);
    for (int i = 0; i < count; i++) {
        const cJSON *run = cJSON_GetArrayItem(runs, i);
        const cJSON *accuracy = cJSON_GetObjectItem(run, "testScore");
        assert_string_equal(cJSON_GetObjectItem(run, "name")->valuestring, names[i]);
        assert_int_equal(cJSON_GetObjectItem(run, "setup")->valueint, setups[i]);
        assert_int_equal(cJSON_GetObjectItem(run, "colour")->valueint, setups[i]);
        assert_int_equal(cJSON_GetArraySize(accuracy), 2);
        for (int e = 0; e < 2; e++)
            assert_true(fabs(cJSON_GetArrayItem(accuracy, e)->valuedouble
                             - 100 * epoch_number(names[i], e + 1, "test_accuracy"))
                        < 1e-4);
    }
    cJSON_Delete(root);
}

/* Runs that differ by the seed alone are one setup, with mean and deviation of n - 1. */
static void test_seeds_form_one_setup_with_deviation(void **state)
{
    (void)state;
    double deviation;
    for (int i = 0; i < 3; i++) {
        char seed[2] = {(char)('0' + i), 0};
        train(in_folder("s%d", i), "ssm2d", seed);
    }
    const double mean = seeds_mean(3, 0, "test_accuracy", 100, &deviation);
    train(in_folder("plain"), "none", "0");
    TOOL("report", in_folder("s0"), in_folder("plain"), in_folder("s1"), in_folder("s2"), "-o",
         in_folder("r.html"), "--no-data", "--no-measure");
    assert_wrote("r.html");
    char *text = page("r.html");
    assert_cell(text, "id=\"setups\"", "data-group=\"0\"", 0, "3");
    assert_cell(text, "id=\"setups\"", "data-group=\"0\"", 1, "%.2f ± %.2f", mean, deviation);
    assert_cell(text, "id=\"setups\"", "data-group=\"1\"", 0, "1");
    assert_cell(text, "id=\"setups\"", "data-group=\"1\"", 1, "%.2f",
                100 * last_number("plain", "test_accuracy"));
    assert_int_equal(count_of(text, "data-group=\""), 2);
    assert_int_equal(count_of(text, "data-run=\""), 4);
    assert_cell(text, "id=\"settings\"", "<code>mixer.kind</code>", 0, "ssm2d");
    assert_cell(text, "id=\"settings\"", "<code>mixer.kind</code>", 1, "none");
    assert_cell(text, "id=\"settings\"", "<code>seed</code>", 0, "0, 1, 2");
    assert_has(text, "<tr class=\"diff\"><th scope=\"row\"><code>mixer.kind</code>");
    assert_has(text, "<tr class=\"same\"><th scope=\"row\"><code>lr</code>");
    assert_has(text, "left out by --no-data");
    assert_curves(text, (const char *const[]){"s0", "plain", "s1", "s2"}, (int[]){0, 1, 0, 0}, 4);
    assert_means(text, 1, 3);
    assert_means(text, 2, 3);
    free(text);
    /* a repeat of a seed does not count */
    shell_run("cd $FOLDER && cp -r s0 again");
    assert_int_equal(tool.code, 0);
    TOOL("report", in_folder("plain"), in_folder("s0"), in_folder("again"), in_folder("s1"),
         in_folder("s2"), "-o", in_folder("r.html"), "--no-data", "--no-measure");
    assert_wrote("r.html");
    text = page("r.html");
    assert_cell(text, "id=\"setups\"", "data-group=\"1\"", 0, "3");
    assert_cell(text, "id=\"setups\"", "data-group=\"1\"", 1, "%.2f ± %.2f", mean, deviation);
    assert_int_equal(count_of(text, "\"repeat\":true"), 1);
    assert_means(text, 1, 3);
    assert_means(text, 2, 3);
    free(text);
    /* a run that does not have an epoch does not count there */
    shell_run("cd $FOLDER && sed -i '/\"kind\": \"epoch\".*\"epoch\": 1,/d' s2/metrics.jsonl");
    assert_int_equal(tool.code, 0);
    TOOL("report", in_folder("plain"), in_folder("s0"), in_folder("s1"), in_folder("s2"), "-o",
         in_folder("r.html"), "--no-data", "--no-measure");
    assert_wrote("r.html");
    text = page("r.html");
    assert_means(text, 1, 2);
    assert_means(text, 2, 3);
    free(text);
}

/* Folders of ssm2d reproduce, whose names are lists of settings: common settings are left out, and
 * setups are named by those in which they differ. */
static void test_common_settings_are_left_out_of_labels(void **state)
{
    (void)state;
    train(in_folder("small+vit-mini+none+quick+seed=0"), "none", "0");
    train(in_folder("small+vit-mini+ssm2d+quick+seed=0"), "ssm2d", "0");
    TOOL("report", in_folder("small+vit-mini+none+quick+seed=0"),
         in_folder("small+vit-mini+ssm2d+quick+seed=0"), "-o", in_folder("r.html"), "--no-data",
         "--no-measure");
    assert_wrote("r.html");
    char *text = page("r.html");
    assert_has(text, "vit-mini · none<");
    assert_has(text, "vit-mini · ssm2d<");
    assert_has(text, "{\"name\":\"none\"");
    assert_lacks(text, "small+vit-mini");
    free(text);
}

/* The best setup is chosen among those on the same data. */
static void test_best_setup_is_chosen_per_data_set(void **state)
{
    (void)state;
    shell_run("mkdir $FOLDER/other && cp $FOLDER/data/* $FOLDER/other");
    assert_int_equal(tool.code, 0);
    train(in_folder("a"), "none", "0");
    train(in_folder("b"), "ssm2d", "0");
    copy_folder(in_folder("a"), in_folder("c"));
    copy_folder(in_folder("b"), in_folder("d"));
    shell_run("cd $FOLDER && sed -i 's|/data\"|/other\"|' c/train.json d/train.json && grep -q "
              "'/other\"' c/train.json");
    assert_int_equal(tool.code, 0);
    TOOL("report", in_folder("a"), in_folder("b"), "-o", in_folder("r.html"), "--no-data",
         "--no-measure");
    assert_wrote("r.html");
    char *text = page("r.html");
    assert_has(text, "Best setup, last epoch");
    assert_int_equal(count_of(text, "class=\"best\""), 1);
    free(text);
    TOOL("report", in_folder("a"), in_folder("b"), in_folder("c"), in_folder("d"), "-o",
         in_folder("r.html"), "--no-data", "--no-measure");
    assert_wrote("r.html");
    text = page("r.html");
    assert_lacks(text, "Best setup, last epoch");
    assert_int_equal(count_of(text, "class=\"best\""), 2);
    free(text);
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char hostile[] = "</script><script>hacked=1</script><img src=x onerror=hacked=1>\"'&";

/* Names of classes and folders are only text, whatever characters they contain. */
static void test_hostile_names_are_escaped(void **state)
{
    (void)state;
    const char *run = in_folder("%s", "<svg onload=hacked=1>");
    train(run, "ssm2d", "0");
    char names[512];
    snprintf(
        names, sizeof names,
        "{\"classes\": [\"</script><script>hacked=1</script><img src=x onerror=hacked=1>\\\"'&\","
        " \"\\u2028\\u0007\\u001b[31m\", \"\xff\xfe\", \"%s\"], \"channels\": 1, \"images\": 80, "
        "\"mean\": [0, 0, 0], \"std\": [1, 1, 1]}",
        "long name of a class without an end");
    put_text(in_folder("%s/data.json", "<svg onload=hacked=1>"), names);
    TOOL("report", run, "-o", in_folder("r.html"), "--no-measure");
    assert_wrote("r.html");
    char *text = page("r.html");
    /* the data of the curves, and the script at the end */
    assert_int_equal(count_of(text, "<script"), 2);
    assert_int_equal(count_of(text, "</script"), 2);
    assert_lacks(text, "<img src=x");
    assert_lacks(text, "<svg onload");
    assert_lacks(text, hostile);
    assert_has(text, "&lt;/script&gt;&lt;script&gt;hacked=1&lt;/script&gt;");
    assert_has(text, "&quot;&#39;&amp;");
    assert_has(text, "\"name\":\"\\u003csvg onload=hacked=1\\u003e\"");
    assert_lacks(text, "\x1b");
    assert_lacks(text, "\x07");
    assert_lacks(text, "\xff");
    assert_has(text, "\xef\xbf\xbd\xef\xbf\xbd");
    free(text);
}

/* Every special character, in HTML and in JSON. */
static void test_every_special_character_is_escaped(void **state)
{
    (void)state;
    html h;
    ssm2d_error error;
    ssm2d_context *context;
    assert_int_equal(ssm2d_context_create(NULL, &context, &error), SSM2D_OK);
    assert_int_equal(html_open(context, in_folder("x.html"), &h, &error), SSM2D_OK);
    html_text(&h, "<a b=\"c\">'&\x01\xc3\x28\xe2\x80\xa8ü</a>");
    html_name(&h, "a+b=<i>/c_d");
    html_put(&h, "\n");
    html_json_text(&h, "\"\\</script>&\n\xe2\x80\xa8\xe2\x80\xa9ü\xed\xa0\x80");
    html_put(&h, "\n");
    html_json_number(&h, NAN, 6);
    html_put(&h, " ");
    html_json_number(&h, 0.125, 6);
    html_put(&h, " ");
    html_count(&h, 1234567);
    html_put(&h, " ");
    html_seconds(&h, 3725);
    assert_int_equal(html_finish(&h, &error), SSM2D_OK);
    ssm2d_context_destroy(context);
    char *text = page("x.html");
    assert_string_equal(text, "&lt;a b=&quot;c&quot;&gt;&#39;&amp;\xef\xbf\xbd\xef\xbf\xbd("
                              "\xe2\x80\xa8ü&lt;/a&gt;a+<wbr>b=&lt;i&gt;/<wbr>c_<wbr>d\n"
                              "\"\\\"\\\\\\u003c/script\\u003e\\u0026\xef\xbf\xbd\\u2028\\u2029ü"
                              "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"\n"
                              "null 0.125 1\u202f234\u202f567 1:02:05");
    free(text);
}

/* ---- missing parts --------------------------------------------------------------------------- */

static void test_missing_files_are_reported_in_the_page(void **state)
{
    (void)state;
    train(in_folder("one"), "ssm2d", "0");
    copy_folder(in_folder("one"), in_folder("weightless"));
    unlink(in_folder("weightless/model.safetensors"));
    copy_folder(in_folder("one"), in_folder("damaged"));
    put_text(in_folder("damaged/train.json"), "{\"model\": ");
    copy_folder(in_folder("one"), in_folder("open"));
    edit_file(in_folder("open/train.json"), "\"epochs\":\t2", "\"epochs\":\t7");
    copy_folder(in_folder("one"), in_folder("bare"));
    edit_file(in_folder("bare/train.json"), "\"epochs\":\t2", "\"epochs\":\t8");
    unlink(in_folder("bare/metrics.jsonl"));
    unlink(in_folder("bare/model.safetensors"));
    put_text(in_folder("gone.failed"), "step 3: the loss is not <finite>\n");
    copy_folder(in_folder("one"), in_folder("half"));
    edit_file(in_folder("half/train.json"), "\"epochs\":\t2", "\"epochs\":\t9");
    put_text(in_folder("half.failed"), "disk full\n");
    shell_run(
        "cd \"$FOLDER\" && exec \"$SSM2D\" report one weightless damaged open bare gone.failed "
        "half half.failed -o r.html --no-measure");
    assert_done();
    char *text = page("r.html");
    static const char *const states[] = {"finished",    "finished", "damaged", "interrupted",
                                         "interrupted", "failed",   "failed"};
    for (int i = 0; i < 7; i++) {
        char mark[32];
        snprintf(mark, sizeof mark, "data-run=\"%d\"", i);
        assert_cell(text, "id=\"runs\"", mark, 0, "%s", states[i]);
    }
    assert_int_equal(count_of(text, "data-run=\""), 7); /* half and half.failed are one */
    assert_has(text, "step 3: the loss is not &lt;finite&gt;");
    assert_has(text, "disk full");
    assert_has(text, "does not exist yet: it is written at the end of an epoch");
    assert_has(text, "</strong> damaged: ");
    assert_has(text, "bare: it has no metrics yet");
    assert_cell(text, "id=\"runs\"", "data-run=\"3\"", 2, "2/7");
    free(text);
    /* a run that another process trains: it holds the lock */
    const int lock = open(in_folder("open"), O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
    TOOL("report", in_folder("open"), "-o", in_folder("t.html"), "--no-data", "--no-measure");
    assert_wrote("t.html");
    close(lock);
    text = page("t.html");
    assert_cell(text, "id=\"runs\"", "data-run=\"0\"", 0, "training now");
    free(text);
    /* missing data */
    assert_int_equal(rename(in_folder("data"), in_folder("elsewhere")), 0);
    TOOL("report", in_folder("one"), "-o", in_folder("g.html"), "--no-measure");
    assert_wrote("g.html");
    text = page("g.html");
    assert_has(text, "<strong>Missing</strong> one: ");
    assert_lacks(text, "id=\"confusion\"");
    assert_has(text, "Kernel of channel 0");
    assert_cell(text, "id=\"runs\"", "data-run=\"0\"", 3, "%.2f",
                100 * last_number("one", "test_accuracy"));
    free(text);
}

static void test_wrong_arguments_are_refused(void **state)
{
    (void)state;
    train(in_folder("one"), "none", "0");
    TOOL("report", in_folder("one"), in_folder("data"), "-o", in_folder("r.html"));
    assert_refused(1, "report", "data", "train.json");
    TOOL("report", in_folder("nothing"), "-o", in_folder("r.html"));
    assert_refused(1, "report", "nothing");
    TOOL("report", in_folder("one"), "-o", in_folder("r.pdf"));
    assert_refused(2, "report", "r.pdf");
    TOOL("report", in_folder("one"));
    assert_refused(2, "report", "--output");
    TOOL("report", "-o", in_folder("r.html"));
    assert_refused(2, "report", "RUN");
    TOOL("report", in_folder("one"), "-o", in_folder("none/r.html"));
    assert_refused(1, "report", "none/r.html");
    /* an existing file is replaced, as by every command that writes one */
    put_text(in_folder("r.html"), "old");
    TOOL("report", in_folder("one"), "-o", in_folder("r.html"), "--no-data", "--no-measure");
    assert_wrote("r.html");
    char *text = page("r.html");
    assert_has(text, "</html>");
    assert_lacks(text, "id=\"kernels\""); /* it has none */
    free(text);
}

/* Every command that draws takes .png, .svg and .pdf by the name's ending. */
static void test_figures_are_written_in_three_formats(void **state)
{
    (void)state;
    static const char *const endings[] = {"png", "svg", "pdf"};
    static const char *const starts[] = {"\x89PNG", "<?xml", "%PDF-"};
    static const char *const commands[] = {
        "kernels one -o", "kernels --figure2 --draws 2 -o", "kernels one --receptive-field test -o",
        "curves one -o",  "data show data --count 4 -o",    "eval one --confusion"};
    char script[256];
    size_t size;
    train(in_folder("one"), "ssm2d", "0");
    for (size_t c = 0; c < sizeof commands / sizeof *commands; c++)
        for (int k = 0; k < 3; k++) {
            snprintf(script, sizeof script, "cd \"$FOLDER\" && exec \"$SSM2D\" %s x%zu.%s",
                     commands[c], c, endings[k]);
            shell_run(script);
            assert_done();
            char said[16]; /* what was written, in the last line */
            snprintf(said, sizeof said, "x%zu.%s: ", c, endings[k]);
            if (!strstr(tool.out, said)) fail_msg("%s does not name its file", commands[c]);
            char *bytes = get_file(in_folder("x%zu.%s", c, endings[k]), &size);
            assert_memory_equal(bytes, starts[k], strlen(starts[k]));
            free(bytes);
        }
}

/* A run of an earlier version. */
static void test_run_of_earlier_version_is_reported(void **state)
{
    (void)state;
    copy_folder(GOLDEN_RUN, in_folder("old"));
    TOOL("report", in_folder("old"), "-o", in_folder("r.html"), "--no-data", "--no-measure");
    assert_wrote("r.html");
    char *text = page("r.html");
    assert_has(text, "data-run=\"0\"");
    assert_lacks(text, "state bad");
    free(text);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, folder_teardown)
    const struct CMUnitTest tests[] = {TEST(test_one_run_has_its_metrics_and_evaluation),
                                       TEST(test_seeds_form_one_setup_with_deviation),
                                       TEST(test_common_settings_are_left_out_of_labels),
                                       TEST(test_best_setup_is_chosen_per_data_set),
                                       TEST(test_hostile_names_are_escaped),
                                       TEST(test_every_special_character_is_escaped),
                                       TEST(test_missing_files_are_reported_in_the_page),
                                       TEST(test_wrong_arguments_are_refused),
                                       TEST(test_run_of_earlier_version_is_reported),
                                       TEST(test_figures_are_written_in_three_formats)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
