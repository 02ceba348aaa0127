/* scan_table - functions of selective scans (layers/scan), vectorised over channels. A row is one
 * row of cells, in the order in which a direction visits them, of one vector of channels; `lanes`
 * is the number of elements of a vector. */
#ifndef SSM2D_SIMD_SCAN_TABLE_H
#define SSM2D_SIMD_SCAN_TABLE_H

#include "core/real.h"

#include <stddef.h>

/* Which predecessors a cell has, see scan_diagonal.h. */
typedef enum scan_form { SCAN_LINE, SCAN_TWICE, SCAN_PAIR, SCAN_SHARED, SCAN_FORMS } scan_form;

/* A row of a scan with a diagonal state. Pairs: of the predecessor above, of the one on the left;
 * only PAIR and SHARED use the second. */
typedef struct scan_line {
    int cols, states;
    ptrdiff_t step;         /* between cells of u, y, dy and du, in elements */
    ptrdiff_t map_step;     /* between cells of b and c, whose states are contiguous scalars */
    const real *u;          /* vectors */
    real *y;                /* added to; may be NULL */
    const real *b[2], *c;   /* b[1] only for PAIR */
    const real *dt[2];      /* [cols][lanes] */
    const real *a[2];       /* [states][lanes], negative; not for SHARED */
    const real *d;          /* [lanes] */
    real first[2], rest[2]; /* factors of the predecessors at column 0 and after it */
    real gain;              /* of the states in y */
    real *left;             /* [states][lanes], advanced; LINE continues with it */
    real *up;               /* [cols][states][lanes], advanced; not for LINE */
    real *kept;             /* NULL, or gets h: [cols][states][lanes]; TWICE: h, g of each cell */
} scan_line;

/* Its adjoint. */
typedef struct scan_line_back {
    const real *kept;
    const real *left_before; /* LINE: states before the row; else NULL */
    const real *up_before;   /* h of the row before, up_step elements between cells */
    ptrdiff_t up_step;
    const real *dy;
    real *du;          /* added to */
    real *dleft, *dup; /* gradients of left and up, replaced by those before the row */
    real *ddt[2];      /* [cols][lanes] */
    real *dmap;        /* [cols][b, (b,) c][states][lanes], added to */
    real *da[2];       /* [states][lanes], added to: the gradient of a * dt, times dt */
    real *dd;          /* [lanes], added to */
} scan_line_back;

/* A row of the 2-D SSM with a step per cell; index 4 is a1 .. a4 of gates and r, P, q, Q of states,
 * 2 is horizontal and vertical. The row before may be overwritten in place. */
typedef struct scan_step_row {
    int cols, states;
    ptrdiff_t step;
    const real *u;
    real *y;                       /* added to; may be NULL */
    const real *dt;                /* [cols][lanes]; NULL unless it multiplies the input */
    const real *gates;             /* [states][cols][4][lanes], a^dt */
    const real *b, *c;             /* [states][2][lanes]; c includes sqrt(1/N) */
    const real *c_cell;            /* [states][cols][2][lanes], added to c; or NULL */
    const real *skip;              /* [lanes], or NULL */
    real same, other;              /* g1, of a path in the row or column of its source, and g */
    const real *before, *x_before; /* states [states][cols][4][lanes], inputs [cols][lanes] */
    real *now, *x_now;
} scan_step_row;

typedef struct scan_step_back {
    const real *dy;
    real *du;      /* added to */
    real *ddown;   /* [states][cols][3][lanes], of the row below, replaced */
    real *dx_down; /* [cols][lanes], the same of inputs */
    real *dx;      /* [cols][lanes], scratch */
    real *dgates;  /* of the shape of gates, added to */
    real *db, *dc; /* [states][2][lanes], added to */
    real *dc_cell; /* of the shape of c_cell, added to */
    real *ddt;     /* [cols][lanes], added to where dt multiplies the input */
    real *dskip;   /* [lanes], added to if there is a skip */
} scan_step_back;

/* A row of the selective Roesser model: heads of d_v channels, whose gates and d_qk keys and
 * queries are given per channel. The order of gates is that of roesser_gate. */
enum roesser_gate {
    ROESSER_S_R,
    ROESSER_S_D,
    ROESSER_M_L,
    ROESSER_M_U,
    ROESSER_T_RL,
    ROESSER_T_RU,
    ROESSER_T_DL,
    ROESSER_T_DU,
    ROESSER_GATES
};
typedef struct scan_roesser_row {
    int cols, states;
    ptrdiff_t step, v_step; /* between cells of y and dy; of v and dv */
    real scale;             /* of y */
    const real *v;
    real *y;
    const real *q, *k; /* [cols][states][lanes] */
    const real *gates; /* [cols][ROESSER_GATES][lanes] */
    real *left;        /* [states][lanes], S^d */
    real *up;          /* [cols][states][lanes], S^r, advanced */
    real *kept;        /* NULL, or gets what the cell saw: [cols][states][Sl, Su][lanes] */
} scan_roesser_row;

typedef struct scan_roesser_back {
    const real *dy;
    real *dv;               /* added to */
    real *dright, *ddown;   /* LamD of the cell on the right, LamR of the row below */
    real *dq, *dk, *dgates; /* of the shapes of q, k and gates */
} scan_roesser_back;

typedef struct scan_functions {
    void (*softplus)(real *dt, real *slope, const real *raw, const real *bias, size_t n);
    void (*product)(real *out, ptrdiff_t out_row, const real *in, ptrdiff_t in_row,
                    ptrdiff_t in_step, const real *w, ptrdiff_t w_row, size_t rows, size_t depth,
                    int add);
    void (*sum_lanes)(real *out, const real *in, ptrdiff_t in_step, size_t count);
    void (*forward[SCAN_FORMS])(const scan_line *s);
    void (*back[SCAN_FORMS])(const scan_line *s, const scan_line_back *r);
    /* gates[n][cell][m] = exp(-dt[cell] * rate[n][m]), m < 4; and back: from dgates, ddt is added
     * to and drate, the gradient of rate, is added to. */
    void (*gates)(real *gates, const real *dt, const real *rate, int cols, int states);
    void (*gates_back)(real *ddt, real *drate, const real *dgates, const real *gates,
                       const real *dt, const real *rate, int cols, int states);
    void (*step_forward)(const scan_step_row *s);
    void (*step_back)(const scan_step_row *s, const scan_step_back *r);
    void (*roesser_forward)(const scan_roesser_row *s);
    void (*roesser_back)(const scan_roesser_row *s, const scan_roesser_back *r);
    void (*sigmoid)(real *y, const real *x, size_t n); /* of n vectors; in place is fine */
    void (*tanh)(real *y, const real *x, size_t n);
} scan_functions;

#endif
