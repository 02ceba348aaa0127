/* reproduce_estimate - how long the runs of a plan will take, from a short measurement of each
 * model, which OUT/estimates.json keeps. */
#ifndef SSM2D_TOOLS_REPRODUCE_ESTIMATE_H
#define SSM2D_TOOLS_REPRODUCE_ESTIMATE_H

#include "reproduce_result.h"

typedef struct run_estimate {
    long epochs, done; /* of the run, and those that are done */
    double seconds;    /* of what is left; NAN when it could not be measured */
    run_state state;
} run_estimate;

/* Fills in estimates[plan.count], measuring what is not known. Runs whose measurement fails have
 * none; first_failure has the message of the first. Ends early, with NAN for the rest, when a stop
 * is requested. */
ssm2d_status reproduce_estimate(ssm2d_context *context, const plan *p, run_estimate *estimates,
                                ssm2d_error *first_failure, ssm2d_error *error);
/* Prints the runs, their epochs, time and state, and the total. */
void reproduce_print_plan(const plan *p, const run_estimate *estimates);

#endif
