/* plan_chooser - chooses among the algorithms that could serve a request, by their estimated or
 * measured cost, for every kind of plan over a grid.
 *
 * A kind of plan gives a table of functions; requests, plans and workspaces are of its own types. A
 * draft is a plan that has decided and knows its cost but has no tables yet. */
#ifndef SSM2D_CORE_PLAN_CHOOSER_H
#define SSM2D_CORE_PLAN_CHOOSER_H

#include "core/context.h"

enum { PLAN_CANDIDATES = 4 }; /* algorithms of one kind of plan, at most */

/* What a plan is measured with. u, du, y and dy point to the first cell. */
typedef struct plan_arrays {
    void *params, *dparams, *u, *du, *y, *dy;
} plan_arrays;

typedef struct plan_functions {
    size_t plan_size;                                     /* of the type of a plan */
    const char *(*algorithm)(const void *request, int i); /* the i-th, NULL past the last */
    /* Makes the draft with the i-th algorithm; one that is refused holds nothing. */
    ssm2d_status (*draft)(const void *request, int i, void *draft, ssm2d_error *error);
    /* Refuses a draft that `auto` must not take though it can be asked for; may be NULL. */
    ssm2d_status (*auto_check)(const void *draft, ssm2d_error *error);
    double (*cost)(const void *draft); /* estimated */
    ssm2d_status (*finish)(void *draft, ssm2d_error *error);
    void (*release)(void *draft); /* of a draft or a plan: what draft and finish allocated */
    /* For measuring. */
    ssm2d_status (*params_init)(const void *request, void *params, ssm2d_error *error);
    ssm2d_status (*workspace_create)(const void *plan, void **workspace, ssm2d_error *error);
    void (*workspace_destroy)(void *workspace);
    /* forward, and backward if it will be asked for */
    void (*execute)(const void *plan, void *workspace, const plan_arrays *arrays);
} plan_functions;

typedef struct plan_request {
    const plan_functions *functions;
    const char *name;    /* of what is planned, for messages */
    const void *request; /* of the kind's own type */
    const ssm2d_context *context;
    const ssm2d_plan_options *options; /* checked */
    int channels;
    size_t number_size, params; /* bytes of a number; numbers of the parameters */
} plan_request;

/* drafts: memory for PLAN_CANDIDATES plans. *plan becomes the one of them that serves the request,
 * finished: with the algorithm that the options name, or with the one that costs least. The others
 * are released. */
ssm2d_status plan_choose(const plan_request *r, void *drafts, void **plan, ssm2d_error *error);

/* For `draft`: refuses a workspace that is larger than can be counted, or than max_bytes. */
ssm2d_status plan_bytes_check(const ssm2d_plan_options *o, const char *algorithm, size_t bytes,
                              ssm2d_error *error);

#endif
