#include "train/loss_note.h"

#include <stdio.h>
#include <string.h>

const char *loss_parts(const train_settings *s, const task *t, char parts[LOSS_PARTS])
{
    const double smoothing = train_smoothing(&s->options, t);
    const augmentation *a;
    *parts = 0;
    if (smoothing > 0) snprintf(parts, LOSS_PARTS, "label smoothing (%g)", smoothing);
    for (int i = 0; (a = augmentation_at(i)); i++) {
        const void *options = augment_options_at(&s->augment, i);
        const size_t used = strlen(parts);
        if (!a->mixes_targets || !augmentation_is_on(a, options)) continue;
        const char *what = a->mixes_targets(options);
        snprintf(parts + used, LOSS_PARTS - used, "%s%s",
                 !used                   ? ""
                 : strstr(what, " and ") ? ", "
                                         : " and ",
                 what);
    }
    return parts;
}

const char *loss_note(const char *parts, const char *other, char note[LOSS_NOTE])
{
    if (!*parts) return NULL;
    snprintf(note, LOSS_NOTE, "Training loss: with %s, which raise%s it; %s loss: without.", parts,
             strstr(parts, " and ") || strstr(parts, ", ") ? "" : "s", other);
    return note;
}
