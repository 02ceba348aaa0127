#include "train_view.h"

#include "core/clock.h"
#include "io/text.h"
#include "tools/written.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BAR = 20 };
/* Seconds between two updates of the bar, and between two lines without a terminal. */
static const double terminal_pause = 0.2, plain_pause = 60;

void train_view_open(train_view *v, int threads)
{
    *v = (train_view){.terminal = isatty(STDERR_FILENO),
                      .threads = threads,
                      .processes = 1,
                      .shown_at = clock_seconds()};
}

static void remove_bar(train_view *v)
{
    if (v->bar) fputs("\r\x1b[K", stderr);
    v->bar = 0;
}

void train_view_close(train_view *v) { remove_bar(v); }

const char *clock_text(double time, char *text, size_t size)
{
    long s = time > 0 && time < 1e9 ? (long)(time + 0.5) : 0;
    if (s < 3600)
        snprintf(text, size, "%ld:%02ld", s / 60, s % 60);
    else
        snprintf(text, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    return text;
}

static int time_to_show(train_view *v)
{
    double now = clock_seconds();
    if (now - v->shown_at < (v->terminal ? terminal_pause : plain_pause)) return 0;
    v->shown_at = now;
    return 1;
}

/* Prints the image files that cannot be read. */
static void print_bad(train_view *v, const file_check *checked)
{
    if (!checked || !checked->bad) return;
    v->bad = checked->bad;
    fprintf(stderr, "ssm2d train: %zu of %zu images cannot be read and %s left out:\n",
            checked->bad, checked->files, checked->bad == 1 ? "is" : "are");
    for (size_t i = 0; i < checked->bad && i < FILE_CHECK_SHOWN; i++)
        fprintf(stderr, "  %s\n", checked->first[i].line);
    if (checked->bad > FILE_CHECK_SHOWN)
        fprintf(stderr, "  and %zu more: ssm2d data check lists them\n",
                checked->bad - FILE_CHECK_SHOWN);
}

/* Prints the settings that the data have chosen, and why. */
static void print_chosen(const train_start *start)
{
    const data_defaults *c = &start->chosen;
    const train_options *o = &start->settings->options;
    const char *between = "";
    if (!c->batch && !c->epochs && !c->flip && !c->resized_crop) return;
    printf("chosen to fit the images, as not given: ");
    if (c->batch) {
        printf("batch %d (for %d steps per epoch or more)", o->batch, DEFAULTS_EPOCH_STEPS);
        between = ", ";
    }
    if (c->epochs) {
        printf("%s%d epochs (for %d steps or more)", between, o->epochs, DEFAULTS_STEPS);
        between = ", ";
    }
    if (c->flip || c->resized_crop)
        printf("%s%s%s%s for photos", between, c->flip ? "random flips" : "",
               c->flip && c->resized_crop ? " and " : "", c->resized_crop ? "random crops" : "");
    printf("; train.json in its folder has all settings\n");
}

/* Prints which images choose the best epoch. */
static void print_choice(const train_start *start)
{
    if (start->chosen.val_fraction)
        printf("the data have no folder test or val, so %.0f %% of the images are held out from "
               "training; --val-fraction changes that\n",
               100 * start->settings->options.val_fraction);
    printf("the best epoch is chosen by the %s images%s\n", split_choice_name(start->choice),
           start->choice == CHOICE_TEST ? "; --val-fraction 0.1 would hold out training images"
           : start->has_test            ? "; ssm2d eval uses the test images"
                                        : "; ssm2d eval uses them");
}

static void print_steps(const train_start *start)
{
    const train_options *o = &start->settings->options;
    printf("%ld step%s of %d image%s per epoch, %ld epoch%s: %ld step%s in all\n",
           start->epoch_steps, start->epoch_steps == 1 ? "" : "s", o->batch,
           o->batch == 1 ? "" : "s", train_epochs(o), train_epochs(o) == 1 ? "" : "s", start->steps,
           start->steps == 1 ? "" : "s");
    if (start->epoch_steps < DEFAULTS_EPOCH_STEPS) {
        printf("warning: fewer than %d steps per epoch learn little: ", DEFAULTS_EPOCH_STEPS);
        if (start->train_images >= 2 * DEFAULTS_EPOCH_STEPS)
            printf("--batch %zu gives %d\n", start->train_images / DEFAULTS_EPOCH_STEPS,
                   DEFAULTS_EPOCH_STEPS);
        else
            printf("there are too few images\n");
    }
    print_chosen(start);
}

void train_view_checking(void *user, size_t done, size_t files)
{
    train_view *v = user;
    if (!time_to_show(v)) return;
    if (v->terminal) {
        fprintf(stderr, "\r%schecking images: %zu of %zu\x1b[K", v->of, done, files);
        v->bar = 1;
    } else {
        printf("%schecking images: %zu of %zu\n", v->of, done, files);
        fflush(stdout);
    }
}

void train_view_start(void *user, const train_start *start)
{
    train_view *v = user;
    const train_settings *s = start->settings;
    const model_config *m = &s->model;
    char mixed[128];
    remove_bar(v);
    fflush(stdout); /* before the messages on standard error */
    report_ignored("train", start->ignored, start->first_ignored);
    print_bad(v, start->checked);
    if (start->no_machine)
        fprintf(stderr, "ssm2d train: %s; this start is not recorded there\n", start->no_machine);
    printf("%s, mixer %s, %zu parameters; images %d x %d x %d, %zu to train on, %zu to %s; ",
           m->model->name, mixer_config_text(&m->mixer, mixed, sizeof mixed), start->parameters,
           m->image[0], m->image[1], m->channels, start->train_images, start->choose_images,
           start->choice == CHOICE_TEST ? "test" : "validate");
    if (v->processes > 1) printf("%d processes of ", v->processes);
    printf("%d thread%s\n", v->threads, v->threads == 1 ? "" : "s");
    if (!*v->of) { /* an experiment has these in its tables */
        print_steps(start);
        print_choice(start);
    }
    if (start->old_epochs)
        printf("the run had %ld epochs and now has %ld: from here on the learning rate follows the "
               "schedule of the longer run\n",
               start->old_epochs, (long)s->options.epochs);
    if (start->read) {
        printf("initial weights from ");
        text_print(stdout, s->options.start);
        if (start->read->new_head) printf("; a new head for %d %s", m->outputs, start->task->many);
        if (start->read->new_mixer_arrays)
            printf("; %d new arrays of mixers", start->read->new_mixer_arrays);
        if (start->read->resized)
            printf("; position embedding interpolated from %d x %d patches",
                   start->read->old_grid[0], start->read->old_grid[1]);
        if (start->read->resized_tables)
            printf("; %d tables of relative positions interpolated", start->read->resized_tables);
        printf("\n");
    }
    if (start->loss_changed)
        printf("loss is %s, which the task %s needs: the data have %s, %d for each image\n",
               loss_names[s->options.loss], start->task->name, start->task->labels, m->outputs);
    if (start->restored)
        printf("train.json was changed: a run keeps the settings of its checkpoint, which are "
               "written to it again\n");
    if (start->step) printf("resuming after step %ld of %ld\n", start->step, start->steps);
    fflush(stdout);
}

void train_view_step(void *user, const train_progress *p)
{
    train_view *v = user;
    const task_metric *metric = &p->task->metrics[0];
    char left[32], bar[BAR + 1], score[METRIC_TEXT];
    v->epoch = p->epoch;
    if (!time_to_show(v)) return;
    clock_text(p->seconds_left, left, sizeof left);
    metric_text(metric, p->score, score);
    if (!v->terminal) {
        printf("%sepoch %ld/%ld, step %ld/%ld: loss %.4f, %s %s, %.0f images/s, waiting %.1f %%, "
               "%s left\n",
               v->of, p->epoch, p->epochs, p->step, p->steps, p->loss, metric->name, score,
               p->images_per_s, 100 * p->wait, left);
        fflush(stdout);
        return;
    }
    int full = (int)(BAR * p->step / p->steps);
    memset(bar, '.', BAR);
    memset(bar, '#', (size_t)full);
    bar[BAR] = 0;
    fprintf(stderr,
            "\r%sepoch %ld/%ld [%s] %3ld %%  loss %.4f  %s %s  %.0f images/s  waiting %.1f %%  "
            "%s left\x1b[K",
            v->of, p->epoch, p->epochs, bar, 100 * p->step / p->steps, p->loss, metric->name, score,
            p->images_per_s, 100 * p->wait, left);
    v->bar = 1;
}

void train_view_testing(void *user, size_t batch, size_t batches)
{
    train_view *v = user;
    if (!v->terminal || !time_to_show(v)) return;
    fprintf(stderr, "\r%sepoch %ld: testing, %zu %%\x1b[K", v->of, v->epoch, 100 * batch / batches);
    v->bar = 1;
}

void train_view_epoch(void *user, const train_epoch *e)
{
    train_view *v = user;
    const task_metric *metric = &e->task->metrics[0];
    char time[32], score[METRIC_TEXT], test_score[METRIC_TEXT];
    remove_bar(v);
    printf("%sepoch %ld/%ld: loss %.4f, %s %s; %s loss %.4f, %s %s%s; %.0f images/s, waiting "
           "%.1f %%, %s\n",
           v->of, e->epoch, e->epochs, e->loss, metric->name, metric_text(metric, e->score, score),
           split_choice_name(e->choice), e->test_loss, metric->name,
           metric_text(metric, e->test_score, test_score), e->best ? " (best)" : "",
           e->images_per_s, 100 * e->wait, clock_text(e->seconds, time, sizeof time));
    fflush(stdout);
}

void train_view_end(train_view *v, const char *folder, const train_result *r)
{
    const task_metric *metric = &r->task->metrics[0];
    char time[32], score[METRIC_TEXT], best[METRIC_TEXT];
    metric_text(metric, r->best_score, best);
    if (r->skipped > v->bad) report_skipped("train", r->skipped, &r->first_skipped);
    if (!r->images_per_s) {
        printf("the run is complete: %ld steps, best %s %s %s after epoch %ld; --epochs makes it "
               "longer\n",
               r->step, split_choice_name(r->choice), metric->name, best, r->best_epoch);
        return;
    }
    printf("%s %s %s (best %s, epoch %ld) in %s, %.0f images/s\n", split_choice_name(r->choice),
           metric->name, metric_text(metric, r->test_score, score), best, r->best_epoch,
           clock_text(r->seconds, time, sizeof time), r->images_per_s);
    printf("weights: ");
    text_print(stdout, folder);
    printf("/model.safetensors, curves: ");
    text_print(stdout, folder);
    printf("/curves.svg\n");
}
