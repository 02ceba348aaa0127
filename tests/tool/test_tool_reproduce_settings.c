/* ssm2d reproduce: settings of runs by scale, variant, --set and --lr; names of figures. */
#include "reproduce_helpers.h"

/* Runs the command of a row and checks its settings, words KEY=VALUE. */
static void assert_settings(const char *options, const char *model, const char *mixer,
                            const char *settings)
{
    char script[1024];
    snprintf(
        script, sizeof script,
        "cd $FOLDER && $SSM2D reproduce %s --seeds 1 --out D --dry-run | grep -m 1 -e '--model "
        "%s --mixer %s ' | sed 's/^# //; s/^ssm2d/$SSM2D/; s/$/ --print-settings/' > one.sh && "
        "sh -e one.sh > settings && for s in %s; do grep -q \"^$s \\|^$s\\$\" settings || "
        "{ echo \"$s in:\"; grep \"^${s%%=*}=\" settings; exit 1; }; done",
        options, model, mixer, settings);
    shell(script);
}

#define LAYER                                                                                      \
    "mixer.init=authors mixer.assign=paper mixer.place=attn mixer.c_per_channel=false "            \
    "mixer.skip=true mixer.norm=relaxed mixer.average=false "

/* The settings of the paper's date, by variant. */
static void test_scale_full_has_published_settings(void **state)
{
    (void)state;
    assert_settings(
        "table1 --rows 'ViT w/ SSM-r'", "vit", "ssm2d",
        LAYER "mixer.values=real mixer.directions=4 mixer.n_ssm=2 mixer.d_state=16 "
              "pos_scale=1 drop_path=0.2 lr=0.001 autoaugment=cifar repeats=3 decay_of=paper");
    assert_settings("table1 --rows 'ViT w/ SSM-c' --variant text", "vit", "ssm2d",
                    LAYER "mixer.values=cartesian mixer.n_ssm=8 mixer.d_state=16 lr=0.003 "
                          "autoaugment=none randaugment=2 randaugment_magnitude=9");
    assert_settings("table1 --rows 'ViT w/ S4ND'", "vit", "s4nd",
                    "mixer.form=dplr mixer.n_ssm=2 mixer.d_state=16 mixer.init=authors "
                    "mixer.place=attn pos_scale=1 drop_path=0.1");
    assert_settings("table1 --rows 'Mega 2-D SSM-r'", "mega", "ssm2d",
                    LAYER
                    "mixer.directions=4 mixer.n_ssm=8 mixer.d_state=16 drop_path=0 init=authors");
    assert_settings("table1 --rows 'Mega w/ S4ND'", "mega", "s4nd",
                    "mixer.form=dplr mixer.n_ssm=2 drop_path=0");
    assert_settings("table1 --rows 'Swin w/ SSM-r'", "swin", "ssm2d",
                    LAYER "mixer.directions=4 mixer.n_ssm=8 mixer.d_state=16 drop_path=0.2");
    assert_settings("table1 --rows 'Swin w/ SSM-r' --variant count", "swin", "ssm2d",
                    LAYER "mixer.n_ssm=16 mixer.layer_norm=false lr=0.001");
    assert_settings("table1 --rows 'Swin w/ SSM-c' --variant count", "swin", "ssm2d",
                    LAYER "mixer.n_ssm=8 mixer.layer_norm=true mixer.values=cartesian");
    assert_settings("table1 --rows 'Swin w/ S4ND'", "swin", "s4nd",
                    "mixer.form=dplr mixer.n_ssm=8 mixer.place=attn drop_path=0.1 init=torch "
                    "decay_of=paper");
    assert_settings("table2 --rows 'DeiT-T w. SSM-c'", "deit-t", "ssm2d",
                    LAYER "mixer.values=cartesian mixer.directions=4 mixer.n_ssm=2 "
                          "mixer.d_state=4");
    assert_settings("table2 --rows 'Swin-T w. SSM-r'", "swin-t", "ssm2d",
                    LAYER "mixer.n_ssm=1 mixer.d_state=4");
    assert_settings("table3 --rows 'Mega 2-D SSM'", "mega-lra", "ssm2d",
                    LAYER "mixer.activation=silu mixer.directions=2 mixer.n_ssm=2 "
                          "mixer.d_state=1 lr=0.01 decay_of=everything head=lra epochs=200 "
                          "val_fraction=0.1");
    assert_settings("table4 --rows 2D-SSM-r", "mega-t", "ssm2d",
                    LAYER "mixer.directions=4 mixer.n_ssm=8 mixer.d_state=16");
    assert_settings("table1 --rows ViT --scale medium", "vit", "none",
                    "repeats=1 epochs=30 batch=128 autoaugment=cifar mixup=1 pos_scale=1");
}

/* The same settings in the smaller models, whose training is the scale's; and the library's in the
 * paper's models. */
static void test_variants_apply_at_every_scale(void **state)
{
    (void)state;
    assert_settings("table1 --scale small --variant code --rows 'ViT w/ SSM-r'", "vit-mini",
                    "ssm2d",
                    LAYER "mixer.values=real mixer.directions=4 mixer.n_ssm=2 mixer.d_state=16 "
                          "pos_scale=1 decay_of=paper lr=0.002 epochs=15 autoaugment=none");
    assert_settings("table1 --scale small --variant text --rows 'ViT w/ SSM-c'", "vit-mini",
                    "ssm2d", LAYER "mixer.values=cartesian mixer.n_ssm=8 lr=0.002 randaugment=0");
    assert_settings("table1 --scale tiny --variant code --rows 'Swin w/ S4ND'", "swin-mini", "s4nd",
                    "mixer.form=dplr mixer.init=authors mixer.place=attn mixer.n_ssm=8 init=torch "
                    "decay_of=paper batch=32");
    assert_settings("table1 --scale small --variant count --rows 'Swin w/ SSM-c'", "swin-mini",
                    "ssm2d", LAYER "mixer.values=cartesian mixer.n_ssm=8 mixer.layer_norm=true");
    assert_settings("table1 --scale small --variant count --rows 'Swin w/ SSM-r'", "swin-mini",
                    "ssm2d", LAYER "mixer.values=real mixer.n_ssm=16");
    assert_settings("table1 --scale small --variant code --rows 'Mega w/ S4ND'", "mega-mini",
                    "s4nd", "mixer.form=dplr mixer.n_ssm=2 init=authors decay_of=paper");
    /* a model may stand for another than its name says */
    assert_settings("table2 --scale small --variant code --rows 'Swin-T w. SSM-c'", "swin-mini",
                    "ssm2d",
                    LAYER "mixer.values=cartesian mixer.n_ssm=1 mixer.d_state=4 "
                          "init=trunc_normal");
    assert_settings("table3 --scale small --variant code --rows '*SSM'", "mega-mini", "ssm2d",
                    LAYER "mixer.activation=silu mixer.directions=2 mixer.n_ssm=2 "
                          "mixer.d_state=1 decay_of=everything head=lra lr=0.002");
    assert_settings("table5 --scale small --variant code --rows 'ViT +Ours (C)'", "vit-mini",
                    "ssm2d", LAYER "mixer.values=cartesian pos_scale=1");
    assert_settings("table1 --scale small --rows 'ViT w/ SSM-c'", "vit-mini", "ssm2d",
                    "mixer.values=polar mixer.assign=distinct pos_scale=0.02 decay_of=all");
    assert_settings("table1 --variant library --rows 'ViT w/ SSM-c'", "vit", "ssm2d",
                    "mixer.values=polar mixer.assign=distinct mixer.place=block pos_scale=0.02 "
                    "lr=0.001 autoaugment=cifar repeats=3 decay_of=all");
    assert_settings("table1 --scale medium --variant library --rows 'Swin w/ S4ND'", "swin", "s4nd",
                    "mixer.form=diag mixer.place=block epochs=30");
    assert_settings("table3 --scale medium --variant library --rows Mega", "mega-lra", "ema",
                    "head=lra epochs=10");
    /* names of runs with the defaults of a scale are those of earlier versions */
    shell(
        "$SSM2D reproduce table1 --scale small --seeds 1 --out D --dry-run --rows 'ViT w/ SSM-c'");
    assert_says(tool.out, "/runs/cifar100+vit-mini+ssm2d+quick+mixer.values=polar+flip=true+"
                          "crop_padding=4+part=0.2+epochs=15+seed=0");
    shell("$SSM2D reproduce table1 --scale medium --seeds 1 --out D --dry-run --rows '*SSM-c'");
    assert_says(tool.out, "/runs/cifar100+vit+ssm2d+small+mixer.values=cartesian+pos_scale=1+"
                          "repeats=1+paper+epochs=30+seed=0");
    shell("$SSM2D reproduce table2 --scale small --variant code --seeds 1 --out D --dry-run");
    assert_says(tool.out, "+paper-swin-t+");
}

/* The variant is stored; that of earlier versions counts where they had variants. */
static void test_variant_is_stored(void **state)
{
    (void)state;
    shell("$SSM2D " TABLE5 "--seeds 1 --epochs 1 --rows Baseline --columns 'w/o PE' --variant code "
          "--out $FOLDER/o");
    assert_says(tool.out, "This is the variant code: ");
    assert_says(tool.out, "1 of 1 runs are done");
    shell("$SSM2D reproduce table5 --out $FOLDER/o --dry-run");
    assert_int_equal(count_of(tool.out, "mixer.assign=paper"), 4);
    shell("$SSM2D reproduce table5 --out $FOLDER/o --variant library --dry-run");
    assert_null(strstr(tool.out, "mixer.assign"));
    shell("sed -i s/follows/variant/ $FOLDER/o/table5.options.json");
    shell("$SSM2D reproduce table5 --out $FOLDER/o --dry-run");
    assert_null(strstr(tool.out, "mixer.assign"));
    shell("mkdir $FOLDER/m && echo '{\"scale\": \"medium\", \"seeds\": 1, \"epochs\": 1, "
          "\"variant\": \"text\"}' > $FOLDER/m/table1.options.json");
    shell("$SSM2D reproduce table1 --out $FOLDER/m --dry-run --rows 'ViT w/ SSM-r'");
    assert_says(tool.out, "--set mixer.n_ssm=8 --set lr=0.003");
}

static void test_columns_of_table5(void **state)
{
    (void)state;
    TOOL("reproduce", "table5", "--out", "DIR", "--dry-run", "--seeds", "1");
    assert_done();
    assert_int_equal(count_of(tool.out, "ssm2d train"), 3 * 10);
    assert_says(tool.out, "--model mega-lra --mixer ssm2d --recipe lra --set relative_bias=false");
    assert_says(tool.out, "--model deit-t --mixer none --recipe celeba --set pos_embed=false");
    assert_says(tool.out, "--model swin --mixer none --recipe small --set pos_embed=false --set "
                          "relative_bias=false");
    TOOL("reproduce", "table5", "--out", "DIR", "--dry-run", "--seeds", "1", "--scale", "small");
    assert_done();
    assert_int_equal(count_of(tool.out, "--model vit-mini"), 5 * 2);
    assert_int_equal(count_of(tool.out, "--model swin-mini"), 5 * 4);
    assert_int_equal(count_of(tool.out, "--model mega-mini"), 5 * 4);
    /* the paper's cells alone */
    TOOL("reproduce", "table5", "--out", "DIR", "--dry-run", "--seeds", "1", "--scale", "small",
         "--rows", "Baseline|Ours", "--columns", "with PE|w/o PE");
    assert_done();
    assert_int_equal(count_of(tool.out, "ssm2d train"), 3 * 3 * 2);
    assert_null(strstr(tool.out, "relative_bias"));
    TOOL("reproduce", "table4", "--out", "DIR", "--dry-run", "--rows", "2d*", "--epochs", "7");
    assert_done();
    assert_int_equal(count_of(tool.out, "ssm2d train"), 3); /* top 1 and top 5 share them */
    assert_says(tool.out, "--epochs 7 --seed 1");
}

/* --set and --lr apply to the runs that have the setting, and are kept; a setting that no run has
 * is refused. */
static void test_settings_reach_every_run(void **state)
{
    (void)state;
    TOOL("reproduce", "table1", "--out", "DIR", "--dry-run", "--seeds", "1", "--lr", "0.003",
         "--set", "mixer.n_ssm=4", "--epochs", "5", "--set", "decay=0.1");
    assert_done();
    const int runs = count_of(tool.out, "ssm2d train"), plain = count_of(tool.out, "--mixer none"),
              ema = count_of(tool.out, "--mixer ema");
    assert_int_equal(runs, 2 * 14);
    assert_int_equal(count_of(tool.out, "--set lr=0.003"), runs);
    assert_int_equal(count_of(tool.out, "--set decay=0.1"), runs);
    assert_int_equal(count_of(tool.out, "--epochs 5"), runs);
    assert_int_equal(count_of(tool.out, "--set mixer.n_ssm=4"), runs - plain - ema);
    assert_int_equal(count_of(tool.out, "+lr=0.003+"), runs); /* in the names */
    TOOL("reproduce", "table1", "--out", "DIR", "--dry-run", "--set", "mixer.nssm=4");
    assert_refused(1, "reproduce", "--set mixer.nssm=4", "table1");
    TOOL("reproduce", "table1", "--out", "DIR", "--dry-run", "--set", "decay");
    assert_refused(2, "reproduce", "--set decay");
    TOOL("reproduce", "table1", "--out", "DIR", "--dry-run", "--set", "decay=a/b");
    assert_refused(2, "reproduce", "--set decay=");
    TOOL("reproduce", "table1", "--out", "DIR", "--dry-run", "--set", "decay=much");
    assert_refused(1, "reproduce", "decay");
    TOOL("reproduce", "ablations", "--out", "DIR", "--variant", "text", "--dry-run");
    assert_refused(1, "reproduce", "--variant text", "ablations");
    TOOL("reproduce", "convnext", "--out", "DIR", "--variant", "library", "--dry-run");
    assert_done();
    TOOL("reproduce", "table2", "--out", "DIR", "--scale", "medium", "--dry-run");
    assert_refused(1, "reproduce", "--scale medium", "table2");
    /* stored, and removed again */
    shell("$SSM2D " TABLE5 "--seeds 1 --epochs 1 --rows Baseline --lr 0.004 --set decay=0.1 --out "
          "$FOLDER/o");
    assert_says(tool.out, "All runs have the learning rate 0.004 (--lr).");
    assert_file_says(in_folder("o/table5.json"), "\"decay=0.1\"");
    assert_file_says(in_folder("o/table5.csv"), ",0.004,\"decay=0.1\"");
    assert_file_says(in_folder("o/table5.md"), "`decay=0.1`");
    shell("$SSM2D reproduce table5 --out $FOLDER/o --tables-only");
    assert_says(tool.out, "All runs have the learning rate 0.004");
    assert_says(tool.out, "2 of 10 runs are done");
    shell("$SSM2D reproduce table5 --out $FOLDER/o --lr 0 --set default --dry-run");
    assert_null(strstr(tool.out, "decay=0.1"));
    assert_null(strstr(tool.out, "lr=0.004"));
}

static void test_variant_is_noted(void **state)
{
    (void)state;
    shell("$SSM2D reproduce table1 --tables-only --data cifar100=idx:$FOLDER/data --variant count "
          "--out $FOLDER/o");
    assert_file_says(in_folder("o/table1.md"), "This is the variant count: ");
    assert_file_says(in_folder("o/table1.md"),
                     "The others are code, the default at this scale: learning rate");
    assert_file_says(in_folder("o/table1.json"), "\"variant\":\t\"count\"");
    assert_file_says(in_folder("o/table1.csv"), ",\"count\",,\"\"");
    shell("$SSM2D reproduce table1 --tables-only --scale small --data cifar100=idx:$FOLDER/data "
          "--out $FOLDER/o");
    assert_file_says(in_folder("o/table1.md"),
                     "This is the variant library, the default at this scale: models and mixers");
    assert_file_says(in_folder("o/table1.json"), "\"variant\":\t\"library\"");
    shell("$SSM2D reproduce table1 --tables-only --data cifar100=idx:$FOLDER/data --variant "
          "library --out $FOLDER/o");
    assert_says(tool.out, "Scale full: the paper's models and recipe, but other");
    shell("$SSM2D reproduce convnext --tables-only --data cifar100=idx:$FOLDER/data --out "
          "$FOLDER/o");
    shell("! grep -q variant $FOLDER/o/convnext.md");
}

/* Figures have names of their own and the paper's numbers; in a folder of an earlier version a
 * number keeps its old meaning. */
static void test_figures_have_names_and_numbers(void **state)
{
    (void)state;
    TOOL("reproduce", "figure3", "--out", "DIR", "--seeds", "1");
    assert_refused(2, "reproduce", "kernels");
    TOOL("reproduce", "figure3", "--out", in_folder("o"), "--dry-run");
    assert_says(tool.out, "ssm2d kernels --figure3 -o ");
    TOOL("reproduce", "figure4", "--out", in_folder("o"), "--dry-run");
    assert_says(tool.out, "--train-fraction 0.1");
    assert_says(tool.out, "--model swin --mixer ssm2d");
    shell("cd $FOLDER && mkdir more && cp data/t10k* more");
    assert_true(small_split(in_folder("more"), "train", 800, 1));
    shell("mkdir $FOLDER/o && echo '{\"scale\": \"tiny\", \"seeds\": 1, \"epochs\": 1, "
          "\"data\": [\"cifar10=idx:'$FOLDER'/more\"]}' > $FOLDER/o/figure3.options.json");
    shell("$SSM2D reproduce figure3 --out $FOLDER/o --rows 'ViT w/*' --threads 1");
    assert_says(tool.err, "figure3 of an earlier version is training-size now");
    assert_says(tool.out, "written: ");
    assert_pictures("o/training-size");
    shell("$SSM2D reproduce training-size --out $FOLDER/o --tables-only");
    assert_says(tool.out, "4 of 8 runs are done");
    shell("echo '{\"scale\": \"tiny\", \"seeds\": 3, \"epochs\": 0}' > "
          "$FOLDER/o/figure2.options.json");
    TOOL("reproduce", "figure2", "--out", in_folder("o"), "--dry-run");
    assert_says(tool.out, "ssm2d kernels --figure3 -o ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_scale_full_has_published_settings, setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(test_variants_apply_at_every_scale, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_variant_is_stored, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_columns_of_table5, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_settings_reach_every_run, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_variant_is_noted, setup, folder_teardown),
        cmocka_unit_test_setup_teardown(test_figures_have_names_and_numbers, setup,
                                        folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
