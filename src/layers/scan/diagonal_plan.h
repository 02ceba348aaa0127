/* diagonal_plan - selective scans whose state is a vector of d_state values per channel, each with
 * a coefficient of its own: the kinds ss2d, mamba2d, scan2d and chimera. simd/scan_diagonal.h has
 * their recurrences. Every direction (walk) reads its ranks p, B and C from the columns of a map:
 *     raw_g = W_g p + bias_g,  dt_g = log(1 + exp(raw_g))      per channel and gate g */
#ifndef SSM2D_LAYERS_DIAGONAL_PLAN_H
#define SSM2D_LAYERS_DIAGONAL_PLAN_H

#include "layers/output_norm.h"
#include "layers/scan/scan_plan.h"
#include "simd/scan_table.h"

enum { DIAGONAL_WALKS = 4, DIAGONAL_GATES = 2 };

typedef struct diagonal_walk {
    scan_walk cells;
    int map;
    /* Columns: of the first rank of each gate, rank_step apart; of B of each gate; of C. */
    int rank[DIAGONAL_GATES], rank_step, b[DIAGONAL_GATES], c;
} diagonal_walk;

typedef struct diagonal_plan {
    scan_layer_plan scan;
    scan_form form;
    int walks, states, ranks, gates, sources; /* sources: different B */
    diagonal_walk walk[DIAGONAL_WALKS];
    double gain;   /* of the states and of D in y */
    double corner; /* PAIR and SHARED: factor of the source of the corner cell */
    double inside; /* and of both predecessors inside; it is 1 along the border */
    int heads;     /* channels of a head share bias and D, and rank h is head h; 0: no heads */
    /* Offsets of parameters; with heads no W and no rate. */
    size_t w[DIAGONAL_GATES], bias[DIAGONAL_GATES], rate[DIAGONAL_GATES], d;
    int layer_norm;
    output_norm norm;
    int elements; /* vectors of coefficients per walk and vector of channels: W, bias, A, D */
    /* Regions */
    size_t coefs;      /* [walks][V][elements][lanes] */
    size_t transposed; /* [walks][gates][V*lanes][ranks, padded] */
    size_t partial;    /* [chunks] of the shape of coefs: gradients */
    size_t one;        /* the number 1 */
} diagonal_plan;

extern const layer_functions diagonal_functions_f32, diagonal_functions_f64;

/* ---- settings shared by ss2d, mamba2d and scan2d --------------------------------------------- */

typedef struct diagonal_config {
    int channels, d_state, dt_rank, directions, corner, normalize;
} diagonal_config;

enum { DIAGONAL_MAX_CHANNELS = 1 << 20, DIAGONAL_MAX_STATE = 1 << 10 };

/* dt_rank 0 stands for channels/16, rounded up. */
static inline int diagonal_rank(const diagonal_config *c)
{
    return c->dt_rank ? c->dt_rank : div_up(c->channels, 16);
}

#define DIAGONAL_NUMBER(name, low, high, value, help)                                              \
    {                                                                                              \
#name, help, SSM2D_KIND_INT, offsetof(diagonal_config, name), low, high, value, NULL, NULL \
    }
#define DIAGONAL_FIELDS(states)                                                                    \
    DIAGONAL_NUMBER(channels, 1, DIAGONAL_MAX_CHANNELS, NULL, "channels of the input"),            \
        DIAGONAL_NUMBER(d_state, 1, DIAGONAL_MAX_STATE, states, "states of each channel"),         \
        DIAGONAL_NUMBER(dt_rank, 0, DIAGONAL_MAX_CHANNELS, "0",                                    \
                        "rank of the projection to the steps; 0: channels / 16, rounded up")

/* How initial values are drawn. */
enum {
    DIAGONAL_X_PROJ,
    DIAGONAL_DT_PROJ,
    DIAGONAL_DT_BIAS,
    DIAGONAL_A_LOG,
    DIAGONAL_ONE,
    DIAGONAL_ZERO
};

ssm2d_status diagonal_check(const void *config, ssm2d_error *error);
double diagonal_draw(const void *config, const layer_array *array, size_t k, rng *r);
/* A dt_bias whose step is drawn log-uniformly from 0.001 to 0.1. */
double diagonal_draw_bias(rng *r);
/* An array of the recurrence. */
layer_array diagonal_system(layer_array array);
/* The arrays of these kinds: one gate, or two, T (the predecessor above) and L. */
int diagonal_arrays(const void *config, int gates, layer_array *table);
/* Fills in a plan; rates, ranks and walks are per direction. */
void diagonal_begin(diagonal_plan *p, const ssm2d_layer *layer, int gates);
/* Offset of an array by name; SIZE_MAX: there is none. */
size_t diagonal_offset(const ssm2d_layer *layer, const char *name);

#endif
