/* loss_note - why the training loss of a run is higher than its test loss: only the training loss
 * includes label smoothing and mixed targets. Pictures of curves carry this note. */
#ifndef SSM2D_TRAIN_LOSS_NOTE_H
#define SSM2D_TRAIN_LOSS_NOTE_H

#include "train/settings.h"

enum { LOSS_PARTS = 128, LOSS_NOTE = 640 };

/* Lists them, as in "label smoothing (0.1), Mixup and CutMix"; "" if there are none. Returns
 * parts. */
const char *loss_parts(const train_settings *s, const task *t, char parts[LOSS_PARTS]);
/* The sentence for these parts; other: "test" or "validation". Returns note, or NULL if there are
 * no parts. */
const char *loss_note(const char *parts, const char *other, char note[LOSS_NOTE]);

#endif
