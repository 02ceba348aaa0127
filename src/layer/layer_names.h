/* layer_names - what is compiled for float and for double has the same name in the code and another
 * one for the linker. */
#ifndef SSM2D_LAYER_LAYER_NAMES_H
#define SSM2D_LAYER_LAYER_NAMES_H

#include "core/real.h"

#define system_prepare      WITH_TYPE_SUFFIX(system_prepare)
#define system_border       WITH_TYPE_SUFFIX(system_border)
#define system_adjoint      WITH_TYPE_SUFFIX(system_adjoint)
#define kernel_generate     WITH_TYPE_SUFFIX(kernel_generate)
#define kernel_adjoint      WITH_TYPE_SUFFIX(kernel_adjoint)
#define kernel_states       WITH_TYPE_SUFFIX(kernel_states)
#define two_sided_prepare   WITH_TYPE_SUFFIX(two_sided_prepare)
#define two_sided_adjoint   WITH_TYPE_SUFFIX(two_sided_adjoint)
#define two_sided_plan      WITH_TYPE_SUFFIX(two_sided_plan)
#define two_sided_fetch     WITH_TYPE_SUFFIX(two_sided_fetch)
#define two_sided_reach     WITH_TYPE_SUFFIX(two_sided_reach)
#define layer_norm_apply    WITH_TYPE_SUFFIX(layer_norm_apply)
#define layer_norm_backward WITH_TYPE_SUFFIX(layer_norm_backward)
#define layer_norm_sums     WITH_TYPE_SUFFIX(layer_norm_sums)
#define algorithm_direct    WITH_TYPE_SUFFIX(algorithm_direct)
#define algorithm_fft       WITH_TYPE_SUFFIX(algorithm_fft)
#define algorithm_scan      WITH_TYPE_SUFFIX(algorithm_scan)
#define fft_line_twiddles   WITH_TYPE_SUFFIX(fft_line_twiddles)
#define fft_line_start      WITH_TYPE_SUFFIX(fft_line_start)
#define fft_line_forward    WITH_TYPE_SUFFIX(fft_line_forward)
#define fft_line_finish     WITH_TYPE_SUFFIX(fft_line_finish)
#define fft_line_backward   WITH_TYPE_SUFFIX(fft_line_backward)
#define scan_push           WITH_TYPE_SUFFIX(scan_push)
#define layer_functions     WITH_TYPE_SUFFIX(layer_functions)

#endif
