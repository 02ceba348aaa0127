/* s4nd_mixer - the configuration of S4ND as a mixer. */
#ifndef SSM2D_MIXERS_S4ND_MIXER_H
#define SSM2D_MIXERS_S4ND_MIXER_H

#include "mixers/mixer.h"
#include "ssm2d_baselines.h"

typedef struct s4nd_mixer {
    ssm2d_s4nd_config layer; /* its channels follow from the tokens */
    int init;                /* an ssm2d_init */
} s4nd_mixer;

#endif
