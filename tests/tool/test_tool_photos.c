/* First use: ssm2d train on a folder of photos, with only --data, and then eval and predict. The
 * model is small, and the photos have one colour per class. */
#include "tool_run.h"

#include "io/image.h"
#include "ssm2d.h"

#include <sys/stat.h>
#include <unistd.h>

#define TINY                                                                                       \
    " --set image=8 --set dim=16 --set depth=1 --set heads=2 --set mixer.d_state=3 --lr 0.005 "

enum { CLASSES = 3, PHOTOS = 60 };
static const char *const classes[CLASSES] = {"blue", "green", "red"};

/* An image of one colour, which depends on its class, and a little on its index. */
static void put_photo(const char *path, int c, int number)
{
    const image_info info = {8, 10, 3, 8};
    ssm2d_context *context;
    ssm2d_error error;
    image_writer *writer;
    uint8_t row[30];
    for (int i = 0; i < 30; i++) row[i] = (uint8_t)(i % 3 == 2 - c ? 200 + number / 2 : number);
    assert_int_equal(ssm2d_context_create(NULL, &context, &error), SSM2D_OK);
    assert_int_equal(image_create(context, path, &info, NULL, &writer, &error), SSM2D_OK);
    for (int r = 0; r < 8; r++) assert_int_equal(image_write_row(writer, row, &error), SSM2D_OK);
    assert_int_equal(image_finish(writer, &error), SSM2D_OK);
    ssm2d_context_destroy(context);
}

static int setup(void **state)
{
    if (folder_setup(state) || mkdir(in_folder("my photos"), 0777)) return -1;
    for (int c = 0; c < CLASSES; c++)
        if (mkdir(in_folder("my photos/%s", classes[c]), 0777)) return -1;
    for (int i = 0; i < PHOTOS; i++)
        put_photo(in_folder("my photos/%s/%02d.png", classes[i % CLASSES], i), i % CLASSES, i);
    return 0;
}

#define PHOTO_TRAIN "cd $FOLDER && $SSM2D train --data 'my photos'" TINY

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part)) fail_msg("\"%s\" is not in \"%s\"", part, text);
}

/* The name of the latest run, from its first line. */
static const char *run_name(void)
{
    static char name[256];
    if (sscanf(tool.out, "the folder of the run is %255[^;]", name) != 1)
        fail_msg("no folder in \"%s\"", tool.out);
    return name;
}

static void assert_settings(const char *run, const char *const *parts)
{
    size_t size;
    char *text = get_file(in_folder("%s/train.json", run), &size);
    for (; *parts; parts++) assert_says(text, *parts);
    free(text);
}

static void trains_with_what_fits(void **state)
{
    (void)state;
    char first[256];
    put_text(in_folder("my photos/red/half.png"), "\x89PNG\r\n");
    put_text(in_folder("my photos/green/notes.txt"), "milk");
    shell_run(PHOTO_TRAIN);
    if (tool.code) fail_msg("%s", tool.err);
    assert_says(tool.err, "1 file in the data folder is ignored, such as ");
    assert_says(tool.err, "1 of 61 images cannot be read and is left out:\n");
    assert_says(tool.err, "/red/half.png: ");
    assert_null(strstr(tool.err, "could not be read")); /* reported only once */
    strcpy(first, run_name());
    assert_memory_equal(first, "runs/my-photos-vit-mini-20", 26);
    /* 61 images, of which 6 are held out */
    assert_says(tool.out, "55 to train on, 6 to validate");
    assert_says(tool.out, "13 steps of 4 images per epoch, 24 epochs: 312 steps in all\n");
    assert_says(tool.out, "chosen to fit the images, as not given: batch 4 (for 10 steps per epoch "
                          "or more), 24 epochs (for 300 steps or more), random flips and random "
                          "crops for photos");
    assert_says(tool.out, "no folder test or val, so 10 % of the images are held out");
    assert_null(strstr(tool.out, "warning"));
    assert_says(tool.out, "(best 100.00 %"); /* colours are easy */
    assert_settings(first, (const char *const[]){"\"batch\":\t4,", "\"epochs\":\t24,",
                                                 "\"val_fraction\":\t0.1,", "\"flip\":\ttrue",
                                                 "\"bad_images\":\t\"few\"", NULL});
    /* saved settings are used when it is resumed, and as settings of another run */
    TOOL("train", "--resume", in_folder("%s", first), "--epochs", "25");
    if (tool.code) fail_msg("%s", tool.err);
    assert_says(tool.out, "13 steps of 4 images per epoch, 25 epochs: 325 steps in all\n");
    assert_null(strstr(tool.out, "chosen to fit"));
    /* a separate folder for each */
    shell_run(PHOTO_TRAIN "--epochs 1 --batch 16");
    assert_int_equal(tool.code, 0);
    assert_memory_equal(run_name(), first, strlen(first));
    assert_string_equal(run_name() + strlen(first), "-2");
    assert_says(tool.out, "3 steps of 16 images per epoch, 1 epoch: 3 steps in all\n");
    assert_says(tool.out, "warning: fewer than 10 steps per epoch learn little: --batch 5 "
                          "gives 10\n");
    /* a recipe knows by itself */
    shell_run(PHOTO_TRAIN "--recipe quick --epochs 1 --batch 4");
    assert_int_equal(tool.code, 0);
    assert_null(strstr(tool.out, "chosen to fit"));
    assert_settings(run_name(),
                    (const char *const[]){"\"flip\":\tfalse", "\"resized_crop\":\t0,", NULL});
    /* and the run can be used */
    TOOL("eval", in_folder("%s", first));
    assert_says(tool.out, "6 held-out images");
    TOOL("report", in_folder("%s", first), "-o", in_folder("page.html"));
    assert_int_equal(tool.code, 0);
}

static void settings_chosen_by_the_data_are_shown(void **state)
{
    (void)state;
    shell_run("cd $FOLDER && $SSM2D train --data 'my photos' --print-settings --epochs 7");
    assert_done();
    assert_says(tool.out, "batch=-  ");
    assert_says(tool.out, "flip=-  ");
    assert_says(tool.out, "val_fraction=-  ");
    assert_says(tool.out, "epochs=7  ");
    assert_absent(in_folder("runs"));
    shell_run("$SSM2D train --data fashion-mnist --print-settings");
    assert_says(tool.out, "batch=128  ");
    assert_says(tool.out, "epochs=4  ");
    assert_says(tool.out, "flip=false  ");
    assert_says(tool.out, "bad_images=stop  ");
}

/* A few broken files are left out; more than 3 and 1 % are an error. */
static void stops_at_many_bad_images(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) put_text(in_folder("my photos/red/bad%d.jpg", i), "no image");
    shell_run(PHOTO_TRAIN "--epochs 1");
    assert_int_equal(tool.code, 0);
    assert_says(tool.err, "3 of 63 images cannot be read and are left out:\n");
    shell_run("rm -r $FOLDER/runs");
    put_text(in_folder("my photos/blue/bad.jpg"), "");
    shell_run(PHOTO_TRAIN);
    assert_int_equal(tool.code, 1);
    assert_says(tool.err, "4 of 64 images cannot be read, more than 1 %: ssm2d data check lists "
                          "them; remove them, or skip them with --bad-images skip. The first: ");
    assert_absent(in_folder("runs")); /* nothing is left behind */
    shell_run(PHOTO_TRAIN "--bad-images stop");
    assert_int_equal(tool.code, 1);
    assert_says(tool.err, "(4 of the ");
    assert_says(tool.err, " images checked cannot be read; bad_images=skip leaves them out)");
    shell_run(PHOTO_TRAIN "--bad-images skip --epochs 1");
    assert_int_equal(tool.code, 0);
    assert_says(tool.err, "4 images could not be read and were left out");
}

/* A file whose first part is good is found before the run starts. */
static void finds_files_that_end_early(void **state)
{
    (void)state;
    assert_int_equal(truncate(in_folder("my photos/red/02.png"), 60), 0);
    shell_run(PHOTO_TRAIN "--bad-images stop");
    assert_int_equal(tool.code, 1);
    assert_says(tool.err, "/red/02.png: ends in row ");
    assert_says(tool.err, "(1 of 60 images cannot be read; bad_images=skip leaves them out)");
    assert_absent(in_folder("runs"));
}

/* Files are not read again, unless they have changed. */
static void remembers_good_images(void **state)
{
    (void)state;
    shell_run(PHOTO_TRAIN "--epochs 1");
    assert_int_equal(tool.code, 0);
    assert_int_equal(count_files(in_folder(".cache/ssm2d")), 1);
    shell_run("cd \"$FOLDER/my photos/red\" && cp -p 02.png kept && tr '\\000-\\377' x < kept > "
              "02.png && touch -r kept 02.png && mv kept ../..");
    shell_run(PHOTO_TRAIN "--epochs 1");
    assert_int_equal(tool.code, 0);
    assert_null(strstr(tool.err, "cannot be read and"));
    assert_says(tool.err, "1 image could not be read and was left out"); /* found during training */
    shell_run("cd \"$FOLDER/my photos/red\" && touch 02.png");
    shell_run(PHOTO_TRAIN "--epochs 1");
    assert_says(tool.err, "1 of 60 images cannot be read and is left out:\n");
    /* a damaged or missing list costs only time */
    shell_run("for f in $FOLDER/.cache/ssm2d/*; do echo x > $f; done");
    shell_run(PHOTO_TRAIN "--epochs 1");
    assert_int_equal(tool.code, 0);
    shell_run("rm -r $FOLDER/.cache && echo x > $FOLDER/.cache");
    shell_run(PHOTO_TRAIN "--epochs 1");
    assert_int_equal(tool.code, 0);
}

/* Images that were good when they were checked, and are gone during training. */
static void many_missing_images_end_the_run(void **state)
{
    (void)state;
    shell_run(PHOTO_TRAIN "--epochs 1");
    assert_int_equal(tool.code, 0);
    shell_run("cd \"$FOLDER/my photos/red\" && for f in *.png; do cp -p $f kept && "
              "tr '\\000-\\377' x < kept > $f && touch -r kept $f; done; rm kept");
    shell_run(PHOTO_TRAIN "--epochs 2 --out run");
    assert_int_equal(tool.code, 1);
    assert_says(tool.err, " of 60 images cannot be read, more than 1 %; step ");
    assert_says(tool.err, "/red/");
    shell_run("cd $FOLDER && $SSM2D train --resume run --bad-images skip");
    assert_int_equal(tool.code, 0);
    assert_says(tool.err, "images could not be read and were left out");
}

/* A run with at least one step is replaced only on request; one without, as after a failed first
 * attempt, is replaced at once. */
static void replaces_a_run_of_no_steps(void **state)
{
    (void)state;
    shell_run(PHOTO_TRAIN "--epochs 1 --out run");
    assert_int_equal(tool.code, 0);
    shell_run(PHOTO_TRAIN "--epochs 2 --out run");
    assert_refused(1, "train", "run", "--resume");
    assert_settings("run", (const char *const[]){"\"epochs\":\t1,", NULL});
    shell_run("cd $FOLDER/run && rm model.safetensors best.safetensors curves.svg last.safetensors "
              "&& : > metrics.jsonl");
    shell_run(PHOTO_TRAIN "--epochs 2 --out run");
    assert_int_equal(tool.code, 0);
    assert_settings("run", (const char *const[]){"\"epochs\":\t2,", NULL});
    /* a train.json of another program does not make a run */
    shell_run("mkdir $FOLDER/other && echo '{}' > $FOLDER/other/train.json");
    shell_run(PHOTO_TRAIN "--epochs 2 --out other");
    assert_refused(1, "train", "other", "train.json");
}

static void predicts_folders(void **state)
{
    (void)state;
    shell_run(PHOTO_TRAIN "--out run");
    assert_int_equal(tool.code, 0);
    assert_int_equal(mkdir(in_folder("new"), 0777), 0);
    assert_int_equal(mkdir(in_folder("new/below"), 0777), 0);
    put_photo(in_folder("new/b, \"1\".png"), 0, 3);
    put_photo(in_folder("new/below/r.png"), 2, 5);
    put_photo(in_folder("one.png"), 1, 8);
    shell_run("cd $FOLDER && ln -s .. new/below/up && $SSM2D predict run one.png new --top 1");
    assert_int_equal(tool.code, 0);
    assert_says(tool.err,
                "1 file in the data folder is ignored, such as new/below/up"); /* a link */
    assert_memory_equal(tool.out, "weights of the best epoch of run\none.png: green ", 48);
    assert_says(tool.out, " %\nnew/b, \"1\".png: blue ");
    assert_says(tool.out, " %\nnew/below/r.png: red ");
    shell_run("cd $FOLDER && rm new/below/up && $SSM2D predict run new one.png --csv --top 2 "
              "--weights last");
    assert_done();
    static const char head[] = "file,weights,class_1,probability_1,class_2,probability_2\n"
                               "\"new/b, \"\"1\"\".png\",last,blue,0.";
    assert_memory_equal(tool.out, head, sizeof head - 1);
    assert_says(tool.out, "\nnew/below/r.png,last,red,");
    shell_run("cd $FOLDER && $SSM2D predict run new --json --top 1");
    assert_done();
    assert_says(tool.out, "{\"file\":\"new/b, \\\"1\\\".png\",\"weights\":\"best\",\"classes\":[{");
    TOOL("predict", in_folder("run"), in_folder("new"), "--json", "--csv");
    assert_refused(2, "predict", "--json", "--csv");
    /* an unreadable file does not prevent the others from being classified */
    put_text(in_folder("new/z.png"), "");
    shell_run("cd $FOLDER && $SSM2D predict run new");
    assert_int_equal(tool.code, 1);
    assert_says(tool.out, "new/below/r.png: red ");
    assert_says(tool.err, "ssm2d predict: new/z.png: is empty");
    assert_says(tool.err, "no prediction for 1 of 3 images");
    assert_int_equal(mkdir(in_folder("none"), 0777), 0);
    TOOL("predict", in_folder("run"), in_folder("none"));
    assert_refused(1, "predict", "none");
    /* without weights of a best epoch those of the last are used, which is reported */
    assert_int_equal(unlink(in_folder("run/best.safetensors")), 0);
    TOOL("predict", in_folder("run"), in_folder("one.png"));
    assert_wrote_nothing();
    assert_memory_equal(tool.out, "weights of the last epoch", 25);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, folder_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(trains_with_what_fits),      TEST(settings_chosen_by_the_data_are_shown),
        TEST(stops_at_many_bad_images),   TEST(finds_files_that_end_early),
        TEST(remembers_good_images),      TEST(many_missing_images_end_the_run),
        TEST(replaces_a_run_of_no_steps), TEST(predicts_folders),
    };
    return cmocka_run_group_tests_name("tool_photos", tests, NULL, NULL);
}
