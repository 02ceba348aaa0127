/* ssm2d_mixer - the configuration of the 2-D state-space layer as a mixer. */
#ifndef SSM2D_MIXERS_SSM2D_MIXER_H
#define SSM2D_MIXERS_SSM2D_MIXER_H

#include "mixers/mixer.h"

typedef struct ssm2d_mixer {
    ssm2d_config layer; /* its channels follow from the tokens */
    int init;           /* an ssm2d_init */
} ssm2d_mixer;

/* Of a mixer whose kind is mixer_ssm2d. */
static inline ssm2d_mixer *ssm2d_mixer_of(mixer_config *m) { return (ssm2d_mixer *)(void *)m->own; }

#endif
