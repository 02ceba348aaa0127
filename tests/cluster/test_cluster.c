/* Cooperating processes, simulated by threads: exchange of values, agreement, sums in a fixed
 * order; and which launcher started a process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "thread_transport.h"

#include "cluster/reduction.h"
#include "cluster/watchdog.h"
#include "core/rng.h"
#include "train/batch_gradient.h"

#include <stdio.h>
#include <unistd.h>

static ssm2d_context *context;

/* Threads of a test report failures here, as cmocka does not work in them. */
static atomic_int failures;
static char first_failure[128];

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition) && !atomic_fetch_add(&failures, 1))                                       \
            snprintf(first_failure, sizeof first_failure, "line %d: %s", __LINE__, #condition);    \
    } while (0)

static void in_threads(int size, void (*run)(cluster *c, void *user), void *user)
{
    atomic_store(&failures, 0);
    run_threads(size, run, user);
    if (atomic_load(&failures)) fail_msg("%d threads: %s", size, first_failure);
}

static void meet(cluster *c, const char *words)
{
    ssm2d_error error;
    CHECK(!cluster_meet(c, context, words, SSM2D_OK, &error));
}

/* ---- exchange and agreement ------------------------------------------------------------------ */

static void exchange(cluster *c, void *user)
{
    ssm2d_error error;
    int own[3] = {c->rank, 10 * c->rank, -c->rank}, all[THREAD_RANKS][3];
    double sums[2] = {c->rank + 1, 0.5}, scratch[2];
    char text[100];
    (void)user;
    meet(c, "the same");
    CHECK(!cluster_gather(c, own, sizeof own, all, &error));
    for (int i = 0; i < c->size; i++)
        CHECK(all[i][0] == i && all[i][1] == 10 * i && all[i][2] == -i);
    memset(text, c->rank ? 'x' : 'a', sizeof text);
    CHECK(!cluster_broadcast(c, text, sizeof text, &error));
    for (size_t i = 0; i < sizeof text; i++) CHECK(text[i] == 'a');
    CHECK(!cluster_sum(c, sums, scratch, 2, &error));
    CHECK(sums[0] == c->size * (c->size + 1) / 2 && sums[1] == 0.5 * c->size);
    CHECK(!cluster_same(c, "words", "abc", 3, &error));
    cluster_leave(c);
}

static void messages_arrive_in_any_number_of_processes(void **state)
{
    (void)state;
    for (int size = 1; size <= THREAD_RANKS; size++) in_threads(size, exchange, NULL);
}

/* The last process fails: all fail with its line, which names it. */
static void disagree(cluster *c, void *user)
{
    ssm2d_error error = {"not this"};
    const int last = c->rank == c->size - 1;
    char name[32];
    (void)user;
    meet(c, "the same");
    const ssm2d_status status = last ? SSM2D_ERROR_ARGUMENT : SSM2D_OK;
    if (last) snprintf(error.line, sizeof error.line, "lr=2: too large");
    CHECK(cluster_agree(c, status, &error) == SSM2D_ERROR_ARGUMENT);
    snprintf(name, sizeof name, "rank %d (", c->size - 1);
    CHECK(strstr(error.line, name) == error.line);
    CHECK(strstr(error.line, "lr=2: too large"));
    CHECK(cluster_same(c, "weights", last ? "abd" : "abc", 3, &error));
    CHECK(strstr(error.line, "weights differ"));
    CHECK(!cluster_agree(c, SSM2D_OK, &error)); /* and can continue afterwards */
    cluster_leave(c);
}

static void other_words(cluster *c, void *user)
{
    ssm2d_error error = {""};
    (void)user;
    CHECK(cluster_meet(c, context, c->rank == 1 ? "train\n--lr\n2\n" : "train\n--lr\n1\n", SSM2D_OK,
                       &error));
    CHECK(strstr(error.line, "rank 1 ("));
    CHECK(strstr(error.line, "\"2\" where rank 0 has \"1\""));
    cluster_leave(c);
}

static void differing_processes_fail_with_one_error(void **state)
{
    (void)state;
    for (int size = 2; size <= THREAD_RANKS; size++) in_threads(size, disagree, NULL);
    for (int size = 2; size <= 4; size++) in_threads(size, other_words, NULL);
}

/* ---- sums ------------------------------------------------------------------------------------ */

enum { ELEMENTS = 5000 };
static float elements[THREAD_RANKS][ELEMENTS];

/* The order that reduction.h promises. */
static float tree(size_t i, int first, int count)
{
    if (count == 1) return elements[first][i];
    return tree(i, first, count / 2) + tree(i, first + count / 2, count / 2);
}

static void reduce(cluster *c, void *user)
{
    static const reduction_bucket buckets[] = {{4000, 1000}, {17, 3983}, {16, 1}, {0, 16}};
    ssm2d_error error;
    reduction *r;
    float *values = malloc(ELEMENTS * sizeof *values);
    (void)user;
    meet(c, "the same");
    CHECK(!reduction_create(c, context, values, 4, buckets, 0, &r, &error));
    for (int again = 0; again < 3; again++) {
        memcpy(values, elements[c->rank], sizeof elements[0]);
        for (int b = 0; b < 4; b++) {
            reduction_begin(r, b);
            for (int k = 0; k < (c->rank + again) % 3; k++) reduction_progress(r);
        }
        CHECK(!reduction_finish(r, &error));
        for (size_t i = 0; i < ELEMENTS; i++) {
            const float wanted = tree(i, 0, c->size);
            CHECK(!memcmp(&wanted, &values[i], sizeof wanted));
        }
    }
    reduction_destroy(r);
    free(values);
    cluster_leave(c);
}

static void reductions_sum_in_tree_order(void **state)
{
    (void)state;
    rng r = rng_seed(3);
    for (int i = 0; i < THREAD_RANKS; i++)
        for (size_t k = 0; k < ELEMENTS; k++) elements[i][k] = (float)rng_uniform(&r, -1, 1);
    for (int size = 1; size <= THREAD_RANKS; size *= 2) in_threads(size, reduce, NULL);
}

/* A subtree per process, and the tree over these, is the tree over all slices. */
static void subtrees_combine_to_the_tree_of_all_slices(void **state)
{
    enum { MOST = 96 };
    double values[MOST], parts[MOST];
    int differs = 0;
    rng r = rng_seed(1);
    (void)state;
    for (int i = 0; i < MOST; i++) values[i] = rng_uniform(&r, -1, 1);
    for (int slices = 1; slices <= MOST; slices++) {
        const double whole = slice_tree_sum(values, slices);
        double in_turn = 0;
        for (int i = 0; i < slices; i++) in_turn += values[i];
        differs += whole < in_turn || whole > in_turn;
        assert_true(whole - in_turn < 1e-12 && in_turn - whole < 1e-12);
        for (int ranks = 1; slices % ranks == 0; ranks *= 2) {
            const int own = slices / ranks;
            for (int k = 0; k < ranks; k++) parts[k] = slice_tree_sum(values + k * own, own);
            const double sum = slice_tree_sum(parts, ranks);
            assert_memory_equal(&sum, &whole, sizeof sum);
        }
    }
    assert_true(differs > 10); /* the order matters, so that the test can fail */
}

/* ---- launchers ------------------------------------------------------------------------------- */

static const char *const *environment; /* name, value, .., NULL */

static char *variable(const char *name)
{
    for (int i = 0; environment[i]; i += 2)
        if (!strcmp(environment[i], name)) return (char *)environment[i + 1];
    return NULL;
}

static void expect(const char *const *variables, const char *name, int rank, int size, int is_mpich)
{
    environment = variables;
    const launcher l = launcher_find(variable);
    if (!name) {
        assert_null(l.name);
        return;
    }
    assert_string_equal(l.name, name);
    assert_int_equal(l.rank, rank);
    assert_int_equal(l.size, size);
    assert_int_equal(l.is_mpich, is_mpich);
}

#define ENVIRONMENT(...) ((const char *const[]){__VA_ARGS__, NULL})

static void launchers_are_recognised_by_their_variables(void **state)
{
    (void)state;
    expect(ENVIRONMENT("HOME", "/"), NULL, 0, 0, 0);
    expect(ENVIRONMENT("OMPI_COMM_WORLD_RANK", "3", "OMPI_COMM_WORLD_SIZE", "8", "PMIX_RANK", "3"),
           "Open MPI", 3, 8, 0);
    expect(ENVIRONMENT("PMI_RANK", "1", "PMI_SIZE", "2", "MPI_LOCALNRANKS", "2"), "hydra", 1, 2, 1);
    expect(ENVIRONMENT("PMIX_RANK", "5", "PMIX_NAMESPACE", "prterun-1"), "prterun", 5, 0, 0);
    expect(ENVIRONMENT("SLURM_PROCID", "2", "SLURM_STEP_NUM_TASKS", "4"), "srun", 2, 4, 0);
    expect(ENVIRONMENT("SLURM_PROCID", "2", "SLURM_STEP_NUM_TASKS", "4", "PMIX_RANK", "2"), "srun",
           2, 4, 0);
    expect(ENVIRONMENT("SLURM_PROCID", "2", "SLURM_STEP_NUM_TASKS", "4", "PMI_RANK", "2"), "srun",
           2, 4, 1);
    /* a script in an allocation, which srun has not started */
    expect(ENVIRONMENT("SLURM_PROCID", "0", "SLURM_NTASKS", "8"), NULL, 0, 0, 0);
    expect(ENVIRONMENT("OMPI_COMM_WORLD_RANK", "x", "OMPI_COMM_WORLD_SIZE", "8"), NULL, 0, 0, 0);
    expect(ENVIRONMENT("OMPI_COMM_WORLD_RANK", "0", "OMPI_COMM_WORLD_SIZE", "-1"), NULL, 0, 0, 0);
}

/* ---- the watchdog ---------------------------------------------------------------------------- */

static process_state states[4]; /* of processes 100 to 103 */

static process_state state_in_test(long process) { return states[process - 100]; }

/* Four processes that all wait for the next, the last two on another machine. */
static board *make_board(void)
{
    board *b = calloc(1, sizeof *b + 4 * sizeof *b->places);
    assert_non_null(b);
    b->size = 4;
    for (int i = 0; i < 4; i++) {
        snprintf(b->places[i].host, sizeof b->places[i].host, "%s", i < 2 ? "here" : "there");
        b->places[i].process = 100 + i;
        b->places[i].is_here = i < 2;
        place_enter(&b->places[i], (i + 1) % 4);
        states[i] = PROCESS_RUNS;
    }
    return b;
}

/* Checks once per second after `seconds`; returns when rank 0 is given up, or 0. */
static int given_up(const board *b, int seconds, char *line, size_t size)
{
    watchdog w = {.timeout = 10};
    line[0] = 0;
    for (int now = 1; now <= seconds; now++)
        if (watchdog_look(&w, b, &b->places[0], now, state_in_test, line, size)) return now;
    return 0;
}

static void watchdog_names_the_blocking_process(void **state)
{
    char line[256];
    board *b = make_board();
    (void)state;
    /* no process here blocks: after a longer wait, the end of the chain of waiting is named */
    assert_int_equal(given_up(b, 30, line, sizeof line), 14);
    assert_non_null(strstr(line, "rank 2 (there, process 102) has not answered for 10 seconds: "));
    /* one that does not wait itself */
    place_leave(&b->places[1]);
    assert_int_equal(given_up(b, 30, line, sizeof line), 12);
    assert_non_null(strstr(
        line, "rank 1 (here, process 101) has not answered for 10 seconds, though it runs: "));
    place_enter(&b->places[1], 2);
    /* one that is stopped, though it waits */
    states[1] = PROCESS_STOPPED;
    assert_int_equal(given_up(b, 30, line, sizeof line), 12);
    assert_non_null(strstr(
        line, "rank 1 (here, process 101) has not answered for 10 seconds, as it is stopped: "));
    /* a stopped process never times out, nor do its partners on other machines */
    states[0] = PROCESS_STOPPED;
    assert_int_equal(given_up(b, 3000, line, sizeof line), 0);
    states[0] = states[1] = PROCESS_RUNS;
    /* a process that computes does not wait, however long */
    place_leave(&b->places[0]);
    assert_int_equal(given_up(b, 3000, line, sizeof line), 0);
    /* all processes here wait for no rank in particular */
    place_enter(&b->places[0], -1);
    assert_int_equal(given_up(b, 30, line, sizeof line), 14);
    assert_string_equal(line, "rank 0 has waited for others for 10 seconds: the job ends");
    free(b);
}

/* Time during which the watchdog itself did not run does not count, nor time before the last
 * message. */
static void stopped_time_is_not_counted_as_waiting(void **state)
{
    char line[256];
    board *b = make_board();
    watchdog w = {.timeout = 10};
    (void)state;
    assert_false(watchdog_look(&w, b, b->places, 1, state_in_test, line, sizeof line));
    for (int hours = 1; hours < 5; hours++)
        assert_false(
            watchdog_look(&w, b, b->places, 3600 * hours, state_in_test, line, sizeof line));
    assert_true(w.waited <= 8 && w.waited >= 8);
    place_leave(b->places);
    place_enter(b->places, 1);
    assert_false(watchdog_look(&w, b, b->places, 20000, state_in_test, line, sizeof line));
    assert_true(w.waited <= 0);
    free(b);
}

/* A process of this machine, as the system sees it. */
static void process_states_come_from_the_system(void **state)
{
    (void)state;
    assert_int_equal(process_state_of((long)getpid()), PROCESS_RUNS);
    assert_int_equal(process_state_of(1L << 40), PROCESS_ENDED);
}

/* A board is found by its file, and only with its size; one of several reports an abort. */
static void board_is_found_by_file_and_size(void **state)
{
    int fd;
    board *b = board_create(3, &fd);
    (void)state;
    assert_non_null(b);
    assert_null(board_open((long)getpid(), fd, 3)); /* not filled yet */
    b->size = 3;
    assert_null(board_open((long)getpid(), fd, 4));
    assert_null(board_open((long)getpid(), -1, 3));
    board *again = board_open((long)getpid(), fd, 3);
    assert_non_null(again);
    place_enter(&b->places[2], 1);
    assert_int_equal(again->places[2].partner, 1);
    assert_true(abort_claim(&b->abort_flag));
    assert_false(abort_claim(&again->abort_flag));
    assert_false(abort_wait(&again->abort_flag, 0.01)); /* claimed, but never reported */
    abort_reported(&b->abort_flag);
    assert_false(abort_wait(&again->abort_flag, 1000)); /* reported: returns at once */
    board_close(again, 3);
    board_close(b, 3);
    close(fd);
    board_ticket *t = board_ticket_create();
    assert_non_null(t);
    assert_true(abort_wait(&t->abort_flag, 0.01)); /* no other process reports it */
}

/* A process shows whom it waits for while it does, and only then. */
static void show_waiting(cluster *c, void *user)
{
    board_place own = {.process = 1};
    ssm2d_error error;
    char byte = 0;
    (void)user;
    meet(c, "the same");
    c->place = &own;
    CHECK(!cluster_broadcast(c, &byte, 1, &error));
    CHECK(own.event > 0 && own.event % 2 == 0 && !c->depth);
    if (c->rank) CHECK(own.partner != c->rank);
    cluster_leave(c);
}

static void waiting_processes_show_it_on_the_board(void **state)
{
    (void)state;
    in_threads(4, show_waiting, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages_arrive_in_any_number_of_processes),
        cmocka_unit_test(differing_processes_fail_with_one_error),
        cmocka_unit_test(reductions_sum_in_tree_order),
        cmocka_unit_test(subtrees_combine_to_the_tree_of_all_slices),
        cmocka_unit_test(launchers_are_recognised_by_their_variables),
        cmocka_unit_test(watchdog_names_the_blocking_process),
        cmocka_unit_test(stopped_time_is_not_counted_as_waiting),
        cmocka_unit_test(process_states_come_from_the_system),
        cmocka_unit_test(board_is_found_by_file_and_size),
        cmocka_unit_test(waiting_processes_show_it_on_the_board),
    };
    ssm2d_context_options o = ssm2d_context_options_default();
    o.threads = 1;
    if (ssm2d_context_create(&o, &context, NULL)) return 1;
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    ssm2d_context_destroy(context);
    return failed;
}
