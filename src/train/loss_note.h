/* loss_note - what raises the training loss of a run above its loss on test images: label smoothing
 * and mixed targets are part of the one and not of the other. Curves say so. */
#ifndef SSM2D_TRAIN_LOSS_NOTE_H
#define SSM2D_TRAIN_LOSS_NOTE_H

#include "train/settings.h"

enum { LOSS_PARTS = 128, LOSS_NOTE = 640 };

/* These parts of the training loss, as in "label smoothing (0.1), Mixup and CutMix"; "" when there
 * are none. Returns parts. */
const char *loss_parts(const train_settings *s, const task *t, char parts[LOSS_PARTS]);
/* The sentence that says so; `other` is what the other loss is of, "test" or "validation". NULL for
 * no parts, else note. */
const char *loss_note(const char *parts, const char *other, char note[LOSS_NOTE]);

#endif
