#include "data/targets.h"

void target_smooth(label_kind labels, int classes, double e, float *target)
{
    const double floor = e / (labels == LABEL_BINARY ? 2 : (double)classes);
    for (int c = 0; c < classes; c++) target[c] = (float)((1 - e) * (double)target[c] + floor);
}

int label_decisions(label_kind labels, int classes) { return labels == LABEL_BINARY ? classes : 1; }

int label_correct(label_kind labels, int classes, const float *logits, const float *target)
{
    int correct = 0;
    if (labels == LABEL_CLASS)
        return largest_index(logits, classes) == largest_index(target, classes);
    for (int c = 0; c < classes; c++) correct += (logits[c] > 0) == (target[c] > 0.5f);
    return correct;
}

int largest_index(const float *numbers, int count)
{
    int best = 0;
    for (int i = 1; i < count; i++)
        if (numbers[i] > numbers[best]) best = i;
    return best;
}
