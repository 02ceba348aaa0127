#include "train_view.h"

#include "core/clock.h"
#include "io/text.h"
#include "tools/ignored.h"

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

void train_view_start(void *user, const train_start *start)
{
    train_view *v = user;
    const train_settings *s = start->settings;
    const model_config *m = &s->model;
    char mixed[128];
    report_ignored("train", start->ignored, start->first_ignored);
    if (start->no_machine)
        fprintf(stderr, "ssm2d train: %s; this start is not recorded there\n", start->no_machine);
    printf("%s, mixer %s, %zu parameters; images %d x %d x %d, %zu to train on, %zu to %s; ",
           m->model->name, mixer_config_text(&m->mixer, mixed, sizeof mixed), start->parameters,
           m->image[0], m->image[1], m->channels, start->train_images, start->choose_images,
           start->choice == CHOICE_TEST ? "test" : "validate");
    if (v->processes > 1) printf("%d processes of ", v->processes);
    printf("%d thread%s\n", v->threads, v->threads == 1 ? "" : "s");
    if (!*v->of) /* a run of an experiment, whose tables say it */
        printf("the best epoch is chosen by the %s images%s\n", split_choice_name(start->choice),
               start->choice == CHOICE_TEST ? "; --val-fraction 0.1 would hold out training images"
               : start->has_test            ? "; ssm2d eval measures on the test images"
                                            : "; ssm2d eval --split val measures on them");
    if (start->old_epochs)
        printf(
            "the run had %ld epochs and has %ld now: from here on the learning rate is that of a "
            "run of so many\n",
            start->old_epochs, (long)s->options.epochs);
    if (start->read) {
        printf("initial weights from ");
        text_print(stdout, s->options.start);
        if (start->read->new_head) printf("; a new head for %d classes", m->classes);
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
        printf("loss is bce instead of cross-entropy: the labels are binary, %d for each image\n",
               m->classes);
    if (start->restored)
        printf("train.json was changed: a run keeps the settings of its checkpoint, which are "
               "written to it again\n");
    if (start->step) printf("resuming after step %ld of %ld\n", start->step, start->steps);
    fflush(stdout);
}

static int time_to_show(train_view *v)
{
    double now = clock_seconds();
    if (now - v->shown_at < (v->terminal ? terminal_pause : plain_pause)) return 0;
    v->shown_at = now;
    return 1;
}

void train_view_step(void *user, const train_progress *p)
{
    train_view *v = user;
    char left[32], bar[BAR + 1];
    v->epoch = p->epoch;
    if (!time_to_show(v)) return;
    clock_text(p->seconds_left, left, sizeof left);
    if (!v->terminal) {
        printf("%sepoch %ld/%ld, step %ld/%ld: loss %.4f, accuracy %.2f %%, %.0f images/s, waiting "
               "%.1f %%, %s left\n",
               v->of, p->epoch, p->epochs, p->step, p->steps, p->loss, 100 * p->accuracy,
               p->images_per_s, 100 * p->wait, left);
        fflush(stdout);
        return;
    }
    int full = (int)(BAR * p->step / p->steps);
    memset(bar, '.', BAR);
    memset(bar, '#', (size_t)full);
    bar[BAR] = 0;
    fprintf(stderr,
            "\r%sepoch %ld/%ld [%s] %3ld %%  loss %.4f  accuracy %.2f %%  %.0f images/s  waiting "
            "%.1f %%  "
            "%s left\x1b[K",
            v->of, p->epoch, p->epochs, bar, 100 * p->step / p->steps, p->loss, 100 * p->accuracy,
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
    char time[32];
    remove_bar(v);
    printf("%sepoch %ld/%ld: loss %.4f, accuracy %.2f %%; %s loss %.4f, accuracy %.2f %%%s; %.0f "
           "images/s, waiting %.1f %%, %s\n",
           v->of, e->epoch, e->epochs, e->loss, 100 * e->accuracy, split_choice_name(e->choice),
           e->test_loss, 100 * e->test_accuracy, e->best ? " (best)" : "", e->images_per_s,
           100 * e->wait, clock_text(e->seconds, time, sizeof time));
    fflush(stdout);
}

void train_view_end(train_view *v, const char *folder, const train_result *r)
{
    char time[32];
    (void)v;
    report_skipped("train", r->skipped, &r->first_skipped);
    if (!r->images_per_s) {
        printf("the run is complete: %ld steps, best %s accuracy %.2f %% after epoch %ld; --epochs "
               "makes it longer\n",
               r->step, split_choice_name(r->choice), 100 * r->best_accuracy, r->best_epoch);
        return;
    }
    printf("%s accuracy %.2f %% (best %.2f %%, epoch %ld) in %s, %.0f images/s\n",
           split_choice_name(r->choice), 100 * r->test_accuracy, 100 * r->best_accuracy,
           r->best_epoch, clock_text(r->seconds, time, sizeof time), r->images_per_s);
    printf("weights: ");
    text_print(stdout, folder);
    printf("/model.safetensors, curves: ");
    text_print(stdout, folder);
    printf("/curves.svg\n");
}
