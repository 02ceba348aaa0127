/* Short names of folders: they differ wherever the folders do. */
#include "io_helpers.h"

#include "core/context.h"
#include "io/short_names.h"

enum { MOST = 4 };

typedef struct example {
    const char *folders[MOST], *names[MOST];
} example;

static const example examples[] = {
    {{"runs/a"}, {"a"}},
    {{"runs/a/"}, {"a/"}},
    {{"/"}, {"/"}},
    {{"runs/a", "runs/b"}, {"a", "b"}},
    {{"one/a", "two/a"}, {"one/a", "two/a"}},
    {{"x/one/a", "x/two/a", "b"}, {"one/a", "two/a", "b"}},
    {{"a", "a"}, {"a", "a"}},
    /* parts common to all are left out, unless nothing would be left */
    {{"r/c10+vit+none+seed=0", "r/c10+vit+ssm2d+seed=0"}, {"none", "ssm2d"}},
    {{"r/c10+vit+none+seed=0", "r/c10+vit+ssm2d+x=1+seed=1"}, {"none+seed=0", "ssm2d+x=1+seed=1"}},
    {{"r/c10+vit"}, {"c10+vit"}},
    {{"r/c10+vit", "r/c10+vit+x=1"}, {"c10+vit", "c10+vit+x=1"}},
    {{"r/a+b", "r/b+a"}, {"a+b", "b+a"}},
    {{"r/a+b+c", "r/a+c+b", "d"}, {"a+b+c", "a+c+b", "d"}},
    {{"r/++", "r/+"}, {"++", "+"}},
    {{"one/a+b", "two/a+b"}, {"one/a", "two/a"}},
};

static void names_are_short_and_unique(void **state)
{
    (void)state;
    for (size_t e = 0; e < sizeof examples / sizeof *examples; e++) {
        int count = 0;
        while (count < MOST && examples[e].folders[count]) count++;
        char **names = short_names_make(context, examples[e].folders, count);
        assert_non_null(names);
        for (int i = 0; i < count; i++) assert_string_equal(names[i], examples[e].names[i]);
        mem_free(context, names);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(names_are_short_and_unique, io_begin)};
    return cmocka_run_group_tests_name("short_names", tests, io_setup, io_teardown);
}
