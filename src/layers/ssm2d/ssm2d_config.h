/* ssm2d_config - the settings of the 2-D SSM, and sizes derived from them. */
#ifndef SSM2D_LAYERS_SSM2D_CONFIG_H
#define SSM2D_LAYERS_SSM2D_CONFIG_H

#include "layers/layer_kind.h"

typedef enum ssm2d_norm {
    SSM2D_NORM_NONE,
    SSM2D_NORM_HALF,
    SSM2D_NORM_RELAXED,
    SSM2D_NORM_PAPER
} ssm2d_norm;

typedef enum ssm2d_values { SSM2D_REAL, SSM2D_POLAR, SSM2D_CARTESIAN } ssm2d_values;

/* How the second of two directions mirrors the image: in both axes (the paper), or in columns only,
 * which can be streamed. */
typedef enum ssm2d_pair { SSM2D_PAIR_BOTH, SSM2D_PAIR_COLUMNS } ssm2d_pair;

/* Which of the K = directions * n_ssm systems serves channel h of direction r:
 *     authors     (r*H + h) mod K, as in the authors' code of 2024. When K divides H, all
 *                 directions of a channel use one system, and the layer cannot tell left from right
 *                 or top from bottom.
 *     distinct    (h + r*n_ssm) mod K: a channel uses different systems in different directions.
 *     paper       r*n_ssm + (h mod n_ssm), as in the authors' code of 2023, which the paper
 *                 describes: every direction has n_ssm systems of its own.
 * With share_directions K is n_ssm and the system is h mod K for each of them. The row of C is
 * r*H + h with c_per_channel (shared: h), else the index of the system. */
typedef enum ssm2d_assign {
    SSM2D_ASSIGN_AUTHORS,
    SSM2D_ASSIGN_DISTINCT,
    SSM2D_ASSIGN_PAPER
} ssm2d_assign;

/* Activation at the end of the layer; the paper uses SiLU on pixels without patches. */
typedef enum ssm2d_activation { SSM2D_ACTIVATION_NONE, SSM2D_ACTIVATION_SILU } ssm2d_activation;

typedef struct ssm2d_config {
    int channels;         /* H */
    layer_init init;      /* initial values */
    int d_state;          /* N, dimension of the state of one system */
    int n_ssm;            /* S, systems per direction */
    int directions;       /* 1: none; 2: see pair; 4: none, rows, columns, both */
    ssm2d_pair pair;      /* read when directions is 2 */
    int average;          /* directions are averaged instead of summed */
    ssm2d_norm norm;      /* of the recursion */
    ssm2d_values values;  /* real, or complex with polar or cartesian B and C */
    int share_directions; /* every direction uses the same systems */
    int c_per_channel;    /* C per direction and channel instead of per system */
    int skip;             /* adds D.u */
    int layer_norm;       /* LayerNorm over channels at the end, eps 1e-5 */
    int trunc_rows;       /* truncates the kernel to this many rows; 0: no truncation */
    int trunc_cols;
    ssm2d_assign assign; /* which system serves which channel */
    ssm2d_activation activation;
} ssm2d_config;

/* The settings of a layer of the kind ssm2d. */
static inline ssm2d_config *ssm2d_config_of(layer_values *values)
{
    return (ssm2d_config *)(void *)values;
}
ssm2d_config ssm2d_config_default(void); /* channels is 0 */

/* K, the number of systems */
static inline int config_systems(const ssm2d_config *c)
{
    return c->share_directions ? c->n_ssm : c->directions * c->n_ssm;
}

static inline int config_c_rows(const ssm2d_config *c)
{
    return (c->share_directions ? 1 : c->directions) * (c->c_per_channel ? c->channels : c->n_ssm);
}

/* Whether direction r mirrors the grid in rows, and in columns. */
typedef struct flip {
    int rows, cols;
} flip;
static inline flip config_flip(const ssm2d_config *c, int r)
{
    static const flip four[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}};
    if (c->directions == 4) return four[r];
    if (r == 0) return four[0];
    return c->pair == SSM2D_PAIR_COLUMNS ? four[2] : four[3];
}

#endif
