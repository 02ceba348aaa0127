/* swin_oracle - the Swin transformer as slow, plain double code, written from its definition and
 * sharing nothing with src/models: which keys a query sees is decided pair by pair. */
#ifndef TESTS_SWIN_ORACLE_H
#define TESTS_SWIN_ORACLE_H

#include "models/weights.h"

/* images: [batch][channels][rows][cols], logits: [batch][classes]; params are those of w, whose
 * model must be of the family swin with no mixer or ssm2d. */
void swin_oracle(const weights *w, const double *params, size_t batch, const double *images,
                 double *logits);

#endif
