/* conv_names - gives functions that are compiled for float and for double different linker names;
 * the code uses one name for both. */
#ifndef SSM2D_CONV_CONV_NAMES_H
#define SSM2D_CONV_CONV_NAMES_H

#include "core/real.h"

#define conv_algorithm_name        WITH_TYPE_SUFFIX(conv_algorithm_name)
#define conv_plan_draft            WITH_TYPE_SUFFIX(conv_plan_draft)
#define conv_plan_finish           WITH_TYPE_SUFFIX(conv_plan_finish)
#define conv_plan_destroy          WITH_TYPE_SUFFIX(conv_plan_destroy)
#define conv_plan_cost             WITH_TYPE_SUFFIX(conv_plan_cost)
#define conv_plan_bytes            WITH_TYPE_SUFFIX(conv_plan_bytes)
#define conv_plan_error_of_largest WITH_TYPE_SUFFIX(conv_plan_error_of_largest)
#define conv_plan_layout           WITH_TYPE_SUFFIX(conv_plan_layout)
#define conv_prepare               WITH_TYPE_SUFFIX(conv_prepare)
#define conv_apply                 WITH_TYPE_SUFFIX(conv_apply)
#define conv_backward              WITH_TYPE_SUFFIX(conv_backward)
#define conv_reserve               WITH_TYPE_SUFFIX(conv_reserve)
#define conv_direct                WITH_TYPE_SUFFIX(conv_direct)
#define conv_fft                   WITH_TYPE_SUFFIX(conv_fft)
#define direct_plan_make           WITH_TYPE_SUFFIX(direct_plan_make)
#define direct_pairs               WITH_TYPE_SUFFIX(direct_pairs)
#define direct_cost                WITH_TYPE_SUFFIX(direct_cost)
#define fft_plan_make              WITH_TYPE_SUFFIX(fft_plan_make)
#define fft_plan_tables            WITH_TYPE_SUFFIX(fft_plan_tables)
#define fft_plan_release           WITH_TYPE_SUFFIX(fft_plan_release)
#define fft_cost                   WITH_TYPE_SUFFIX(fft_cost)
#define fft_line_twiddles          WITH_TYPE_SUFFIX(fft_line_twiddles)
#define fft_line_start             WITH_TYPE_SUFFIX(fft_line_start)
#define fft_line_forward           WITH_TYPE_SUFFIX(fft_line_forward)
#define fft_line_finish            WITH_TYPE_SUFFIX(fft_line_finish)
#define fft_line_backward          WITH_TYPE_SUFFIX(fft_line_backward)

#endif
