/* targets - what a loss compares with: a row of `classes` numbers per image.
 *
 * They are made by the loader rather than by the trainer, because augmentations of batches change
 * images and targets together, and do so ahead of the training step, on the loader's thread.
 * Smoothing comes first, so that what is mixed are smoothed targets. */
#ifndef SSM2D_DATA_TARGETS_H
#define SSM2D_DATA_TARGETS_H

#include "data/dataset.h"

/* Label smoothing of a row of zeros and ones, in place: (1 - e) * t + e / classes for one of
 * several classes, (1 - e) * t + e / 2 for each of several attributes. */
void target_smooth(label_kind labels, int classes, double e, float *target);

/* How many decisions of an image can be right: one for its class, or one per attribute. */
int label_decisions(label_kind labels, int classes);
/* How many of them are: the largest logit is where the largest target is; or the logit is above 0
 * exactly when the target is above 1/2. */
int label_correct(label_kind labels, int classes, const float *logits, const float *target);

/* The place of the largest number, the first of equal ones. */
int largest_index(const float *numbers, int count);

#endif
