/* probabilities - what the logits of a model mean: that depends on the loss it was trained with. */
#ifndef SSM2D_INFERENCE_PROBABILITIES_H
#define SSM2D_INFERENCE_PROBABILITIES_H

typedef enum train_loss { TRAIN_LOSS_CROSS_ENTROPY, TRAIN_LOSS_BCE } train_loss;
extern const char *const train_loss_names[]; /* as settings have them; ended by NULL */

/* Computes probabilities[classes] of one image: softmax, or for bce the sigmoid of each logit. */
void class_probabilities(train_loss loss, const float *logits, int classes, double *probabilities);

#endif
