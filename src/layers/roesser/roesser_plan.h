/* roesser_plan - settings and plan of the selective Roesser model (the core of pLSTM in 2-D): per
 * head a state S^r of d_qk x d_v values that moves along rows of cells, and one, S^d, that moves
 * along columns. simd/scan_roesser.h has the recurrence. */
#ifndef SSM2D_LAYERS_ROESSER_PLAN_H
#define SSM2D_LAYERS_ROESSER_PLAN_H

#include "layers/scan/scan_plan.h"
#include "simd/scan_table.h"

typedef enum roesser_mode { ROESSER_P, ROESSER_D } roesser_mode;
typedef enum roesser_transition { ROESSER_SIGMOID, ROESSER_TANH } roesser_transition;

typedef struct roesser_config {
    int channels, heads, d_qk, d_v, directions;
    roesser_mode mode;
    int chirality; /* 0: L, 1: R */
    roesser_transition transition;
} roesser_config;

/* Values of a cell and head that gates are made of, in the order of their arrays: P has o, s, eig
 * and m, D has sr, sd, ml, mu, tr, td and tx. */
enum { ROESSER_LINEAR = 7 };
static inline int roesser_linear(const roesser_config *c)
{
    return c->mode == ROESSER_P ? 4 : ROESSER_LINEAR;
}
/* Whether value i is a transition. */
static inline int roesser_is_transition(const roesser_config *c, int i)
{
    return c->mode == ROESSER_P ? i == 2 : i >= 4;
}

typedef struct roesser_plan {
    scan_layer_plan scan;
    roesser_config config;
    scan_walk walk[4];
    int padded_heads;
    /* Columns of the map: q and k [heads][d_qk], values [linear][directions][heads], direct
     * [heads], v [heads][d_v] */
    int k_at, linear_at, direct_at, v_at;
    size_t bias[ROESSER_LINEAR], direct_bias; /* offsets of parameters */
    /* Regions */
    size_t biases;  /* [linear][directions][heads], then direct */
    size_t spread;  /* [V][heads][lanes]: 1 if the channel belongs to the head, else 0 */
    size_t collect; /* [V][lanes][padded heads], the transpose */
    size_t dbiases; /* [chunks][groups] of the shape of biases */
} roesser_plan;

extern const layer_functions roesser_functions_f32, roesser_functions_f64;

#endif
