#include "inference/probabilities.h"

#include "core/arith.h"

#include <math.h>
#include <stddef.h>

const char *const train_loss_names[] = {"cross-entropy", "bce", NULL};

void class_probabilities(train_loss loss, const float *logits, int classes, double *probabilities)
{
    if (loss == TRAIN_LOSS_BCE) {
        for (int c = 0; c < classes; c++) probabilities[c] = 1 / (1 + exp(-(double)logits[c]));
        return;
    }
    /* Relative to the largest: added to its logit, the logarithm of a sum might vanish. */
    double largest = (double)logits[0], sum = 0;
    for (int c = 1; c < classes; c++)
        if ((double)logits[c] > largest) largest = (double)logits[c];
    for (int c = 0; c < classes; c++) sum += probabilities[c] = exp((double)logits[c] - largest);
    for (int c = 0; c < classes; c++) probabilities[c] /= sum;
}
