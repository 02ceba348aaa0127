/* ssm2d_baselines.h - the layers that the 2-D SSM is compared with, used in the same way: S4ND, a
 * separable state-space layer, and EMA, the moving average of Mega over patches in raster order.
 *
 *     ssm2d_s4nd_config cfg = ssm2d_s4nd_config_default();       cfg.base.channels = 192;
 *     ssm2d_plan_options opt = ssm2d_plan_options_default();
 *     opt.batch = 128; opt.rows = opt.cols = 8;
 *     ssm2d_baseline_plan_create(ctx, &cfg.base, &opt, &plan, &err);
 *     ssm2d_baseline_workspace_create(plan, &ws, &err);
 *     ssm2d_baseline_params_init(&cfg.base, SSM2D_INIT_AUTHORS, 0, SSM2D_FLOAT, params, &err);
 *     ssm2d_baseline_forward(plan, ws, params, u, y);
 *
 * A configuration of either kind begins with an ssm2d_baseline_config, which says what kind it is;
 * functions take a pointer to that. What ssm2d.h says of plans, workspaces, threads, arrays and
 * structs that begin with their size holds here as well. docs/baselines.md has the mathematics. */
#ifndef SSM2D_BASELINES_H
#define SSM2D_BASELINES_H

#include "ssm2d.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- configuration --------------------------------------------------------------------------- */

typedef enum ssm2d_baseline_kind { SSM2D_S4ND, SSM2D_EMA } ssm2d_baseline_kind;

typedef struct ssm2d_baseline_config {
    size_t size; /* of the whole configuration */
    ssm2d_baseline_kind kind;
    int channels; /* H; no default, must be set */
} ssm2d_baseline_config;

/* S4ND: one diagonal state-space kernel for each axis and side; the 2-D kernel is the product of
 * those of the axes. Channel h uses system h mod n_ssm. */
typedef struct ssm2d_s4nd_config {
    ssm2d_baseline_config base;
    int d_state; /* N, even: N/2 pairs of conjugate states */
    int n_ssm;   /* S, systems */
    double rate; /* factor of the step dt, for a resolution other than the trained one */
} ssm2d_s4nd_config;

/* EMA: y = SiLU(conv(u) + omega.u), over cells in raster order. */
typedef struct ssm2d_ema_config {
    ssm2d_baseline_config base;
    int d_state;       /* N, decays of each channel */
    int bidirectional; /* a second average that looks back from the end */
    int shift;         /* the second one starts at the next cell, so that none counts twice */
    int trunc;         /* kernels are cut to this many cells; 0: as many as there are */
} ssm2d_ema_config;

SSM2D_API void ssm2d_s4nd_config_init(ssm2d_s4nd_config *config, size_t size);
SSM2D_API void ssm2d_ema_config_init(ssm2d_ema_config *config, size_t size);
/* d_state 16, n_ssm 8, rate 1 */
static inline ssm2d_s4nd_config ssm2d_s4nd_config_default(void)
{
    ssm2d_s4nd_config config;
    ssm2d_s4nd_config_init(&config, sizeof config);
    return config;
}
/* d_state 16, bidirectional, with shift */
static inline ssm2d_ema_config ssm2d_ema_config_default(void)
{
    ssm2d_ema_config config;
    ssm2d_ema_config_init(&config, sizeof config);
    return config;
}

SSM2D_API const char *ssm2d_baseline_name(ssm2d_baseline_kind kind); /* "s4nd"; NULL: no such */
SSM2D_API ssm2d_status ssm2d_baseline_config_check(const ssm2d_baseline_config *config,
                                                   ssm2d_error *error);
/* As ssm2d_config_fields; offsets count from the start of the whole configuration. `channels` is
 * the first. NULL: there is no such kind. */
SSM2D_API const ssm2d_field *ssm2d_baseline_fields(ssm2d_baseline_kind kind, size_t *count);

/* ---- parameters ------------------------------------------------------------------------------ */

enum { SSM2D_BASELINE_RANK = 5 };

typedef struct ssm2d_baseline_param {
    const char *name; /* log_dt A_re A_im C D, or alpha delta beta gamma omega */
    int rank;
    size_t shape[SSM2D_BASELINE_RANK];
    size_t offset, size; /* in numbers, from the start of the flat array */
    int decay, system;   /* as in ssm2d_param */
} ssm2d_baseline_param;

/* As ssm2d_param_get, ssm2d_param_total, ssm2d_params_init and ssm2d_params_check. Initial values
 * are the published ones. SSM2D_INIT_IDENTITY is for S4ND alone: D = 1 and a small C. */
SSM2D_API int ssm2d_baseline_param_get(const ssm2d_baseline_config *config, int i,
                                       ssm2d_baseline_param *param);
SSM2D_API size_t ssm2d_baseline_param_total(const ssm2d_baseline_config *config);
SSM2D_API ssm2d_status ssm2d_baseline_params_init(const ssm2d_baseline_config *config,
                                                  ssm2d_init init, uint64_t seed, ssm2d_type type,
                                                  void *params, ssm2d_error *error);
SSM2D_API ssm2d_status ssm2d_baseline_params_check(const ssm2d_baseline_config *config,
                                                   ssm2d_type type, const void *params,
                                                   ssm2d_error *error);

/* ---- plan ------------------------------------------------------------------------------------ */

typedef struct ssm2d_baseline_plan ssm2d_baseline_plan;
typedef struct ssm2d_baseline_workspace ssm2d_baseline_workspace;

/* Algorithms: "auto", or one of ssm2d_baseline_algorithm_name. */
SSM2D_API ssm2d_status ssm2d_baseline_plan_create(ssm2d_context *context,
                                                  const ssm2d_baseline_config *config,
                                                  const ssm2d_plan_options *options,
                                                  ssm2d_baseline_plan **plan, ssm2d_error *error);
SSM2D_API void ssm2d_baseline_plan_destroy(ssm2d_baseline_plan *plan);
SSM2D_API const char *ssm2d_baseline_plan_algorithm(const ssm2d_baseline_plan *plan);
SSM2D_API size_t ssm2d_baseline_plan_bytes(const ssm2d_baseline_plan *plan); /* of a workspace */
/* the i-th algorithm that the kind has, NULL past the last */
SSM2D_API const char *ssm2d_baseline_algorithm_name(ssm2d_baseline_kind kind, int i);

SSM2D_API ssm2d_status ssm2d_baseline_workspace_create(const ssm2d_baseline_plan *plan,
                                                       ssm2d_baseline_workspace **workspace,
                                                       ssm2d_error *error);
SSM2D_API void ssm2d_baseline_workspace_destroy(ssm2d_baseline_workspace *workspace);

/* ---- executing ------------------------------------------------------------------------------- */

/* As ssm2d_forward, ssm2d_prepare, ssm2d_apply and ssm2d_backward. */
SSM2D_API void ssm2d_baseline_forward(const ssm2d_baseline_plan *plan,
                                      ssm2d_baseline_workspace *workspace, const void *params,
                                      const void *u, void *y);
SSM2D_API void ssm2d_baseline_prepare(const ssm2d_baseline_plan *plan,
                                      ssm2d_baseline_workspace *workspace, const void *params);
SSM2D_API void ssm2d_baseline_apply(const ssm2d_baseline_plan *plan,
                                    ssm2d_baseline_workspace *workspace, const void *u, void *y);
SSM2D_API void ssm2d_baseline_backward(const ssm2d_baseline_plan *plan,
                                       ssm2d_baseline_workspace *workspace, const void *params,
                                       const void *u, const void *dy, void *du, void *dparams);
/* The shape of the kernels, and the kernels without D and omega:
 *     S4ND    [n_ssm][2*rows-1][2*cols-1], offset (o1, o2) at (o1+rows-1, o2+cols-1)
 *     EMA     [channels, or twice that when bidirectional][cells], cut to `trunc` cells
 * The latter needs the workspace for itself: prepare again before apply or backward. Returns the
 * rank. */
SSM2D_API int ssm2d_baseline_kernel_shape(const ssm2d_baseline_plan *plan, size_t shape[3]);
SSM2D_API void ssm2d_baseline_kernel(const ssm2d_baseline_plan *plan,
                                     ssm2d_baseline_workspace *workspace, const void *params,
                                     void *kernel);

#ifdef __cplusplus
}
#endif
#endif
