/* ssm2d_names - gives functions that are compiled for float and for double different linker names;
 * the code uses one name for both. */
#ifndef SSM2D_LAYERS_SSM2D_NAMES_H
#define SSM2D_LAYERS_SSM2D_NAMES_H

#include "core/real.h"

#define system_prepare       WITH_TYPE_SUFFIX(system_prepare)
#define system_border        WITH_TYPE_SUFFIX(system_border)
#define system_adjoint       WITH_TYPE_SUFFIX(system_adjoint)
#define kernel_generate      WITH_TYPE_SUFFIX(kernel_generate)
#define kernel_adjoint       WITH_TYPE_SUFFIX(kernel_adjoint)
#define kernel_states        WITH_TYPE_SUFFIX(kernel_states)
#define directions_prepare   WITH_TYPE_SUFFIX(directions_prepare)
#define directions_adjoint   WITH_TYPE_SUFFIX(directions_adjoint)
#define directions_plan      WITH_TYPE_SUFFIX(directions_plan)
#define directions_fetch     WITH_TYPE_SUFFIX(directions_fetch)
#define output_silu_apply    WITH_TYPE_SUFFIX(output_silu_apply)
#define output_silu_backward WITH_TYPE_SUFFIX(output_silu_backward)
#define directions_reach     WITH_TYPE_SUFFIX(directions_reach)
#define scan_plan_make       WITH_TYPE_SUFFIX(scan_plan_make)
#define scan_cost            WITH_TYPE_SUFFIX(scan_cost)
#define scan_apply           WITH_TYPE_SUFFIX(scan_apply)
#define scan_backward        WITH_TYPE_SUFFIX(scan_backward)
#define scan_push            WITH_TYPE_SUFFIX(scan_push)
#define ssm2d_functions      WITH_TYPE_SUFFIX(ssm2d_functions)

#endif
