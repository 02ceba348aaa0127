/* A fourth optimiser (rmsprop_optimizer.c), one file and one line of optimizers.def, in an
 * otherwise unchanged tool: it learns, checkpoints keep its state by name, an interrupted run
 * resumes to the same bits, with any number of threads. */
#include "../tool/tool_run.h"
#include "small_data.h"

#include <sys/stat.h>

#define SETTINGS                                                                                   \
    "--data data --set dim=16 --set depth=1 --set heads=2 --set mixer.d_state=3 --batch 8 "        \
    "--epochs 6 --seed 2 --set lr=0.003 --set optimizer=rmsprop --set save_every=1"

static int begin(void **state)
{
    if (folder_setup(state)) return -1;
    return mkdir(in_folder("data"), 0777) || !small_data(in_folder("data"), 96, 40) ? -1 : 0;
}

static void assert_same_files(const char *one, const char *two)
{
    size_t one_size, two_size;
    char *a = get_file(in_folder("%s", one), &one_size);
    char *b = get_file(in_folder("%s", two), &two_size);
    assert_int_equal(one_size, two_size);
    assert_memory_equal(a, b, one_size);
    free(a);
    free(b);
}

static void a_wrong_name_is_refused_with_its_name_and_the_run_stores_it(void **state)
{
    (void)state;
    TOOL("train", "--data", in_folder("data"), "--set", "optimizer=none");
    assert_refused(2, "train", "rmsprop");
    shell_run("cd $FOLDER && $SSM2D train " SETTINGS " --out run > out 2>&1");
    if (tool.code) fail_msg("%s", tool.err);
    shell_run("grep -q '\"optimizer\":.*\"rmsprop\"' $FOLDER/run/train.json");
    assert_int_equal(tool.code, 0);
}

/* The mean loss of the last epoch is at most half of that of the first. */
static void it_learns(void **state)
{
    (void)state;
    shell_run("set -e; cd $FOLDER; $SSM2D train " SETTINGS " --out run > out 2>&1\n"
              "sed -n 's/.*\"epoch\":\\([0-9]*\\).*\"test_loss\":\\([0-9.e-]*\\).*/\\1 \\2/p' "
              "run/metrics.jsonl > losses; awk 'NR == 1 { first = $2 } { last = $2 } "
              "END { exit !(NR >= 6 && last < first / 2) }' losses");
    if (tool.code) fail_msg("%s", tool.err);
}

static void an_interrupted_run_resumes_to_the_same_bits(void **state)
{
    (void)state;
    shell_run("set -e; cd $FOLDER; $SSM2D train " SETTINGS " --out run --threads 1 > out 2>&1\n"
              "$SSM2D train " SETTINGS " --out half --threads 2 > half.out 2>&1 &\n"
              "n=0; until grep -sq 'epoch 2/' half.out || [ $n -gt 3000 ]; do sleep .02; "
              "n=$((n+1)); done\n"
              "kill -KILL $! || true; wait $! || true\n"
              "grep -q square half/last.safetensors\n"
              "$SSM2D train --resume half --threads 2 > out 2>&1");
    if (tool.code) fail_msg("%s", tool.err);
    assert_same_files("run/model.safetensors", "half/model.safetensors");
}

int main(void)
{
#define TEST_OF(f) cmocka_unit_test_setup_teardown(f, begin, folder_teardown)
    const struct CMUnitTest tests[] = {
        TEST_OF(a_wrong_name_is_refused_with_its_name_and_the_run_stores_it),
        TEST_OF(it_learns),
        TEST_OF(an_interrupted_run_resumes_to_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
