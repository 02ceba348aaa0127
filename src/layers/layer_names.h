/* layer_names - gives functions that are compiled for float and for double different linker names;
 * the code uses one name for both. */
#ifndef SSM2D_LAYERS_LAYER_NAMES_H
#define SSM2D_LAYERS_LAYER_NAMES_H

#include "core/real.h"

#define conv_functions      WITH_TYPE_SUFFIX(conv_functions)
#define dplr_taps           WITH_TYPE_SUFFIX(dplr_taps)
#define dplr_taps_adjoint   WITH_TYPE_SUFFIX(dplr_taps_adjoint)
#define s4nd_functions      WITH_TYPE_SUFFIX(s4nd_functions)
#define s4nd_direct         WITH_TYPE_SUFFIX(s4nd_direct)
#define s4nd_fft            WITH_TYPE_SUFFIX(s4nd_fft)
#define s4nd_tiles_plan     WITH_TYPE_SUFFIX(s4nd_tiles_plan)
#define s4nd_tiles_prepare  WITH_TYPE_SUFFIX(s4nd_tiles_prepare)
#define s4nd_tiles_apply    WITH_TYPE_SUFFIX(s4nd_tiles_apply)
#define s4nd_tiles_backward WITH_TYPE_SUFFIX(s4nd_tiles_backward)
#define s4nd_systems_make   WITH_TYPE_SUFFIX(s4nd_systems_make)
#define s4nd_taps_prepare   WITH_TYPE_SUFFIX(s4nd_taps_prepare)
#define s4nd_taps_adjoint   WITH_TYPE_SUFFIX(s4nd_taps_adjoint)
#define layer_simd          WITH_TYPE_SUFFIX(layer_simd)
#define ema_functions_table WITH_TYPE_SUFFIX(ema_functions_table)
#define ema_decays_make     WITH_TYPE_SUFFIX(ema_decays_make)
#define ema_decays_prepare  WITH_TYPE_SUFFIX(ema_decays_prepare)
#define ema_decays_adjoint  WITH_TYPE_SUFFIX(ema_decays_adjoint)
#define ema_states_scan     WITH_TYPE_SUFFIX(ema_states_scan)
#define ema_states_back     WITH_TYPE_SUFFIX(ema_states_back)
#define ema_scan_make       WITH_TYPE_SUFFIX(ema_scan_make)
#define ema_scan_cost       WITH_TYPE_SUFFIX(ema_scan_cost)
#define ema_scan_apply      WITH_TYPE_SUFFIX(ema_scan_apply)
#define ema_scan_backward   WITH_TYPE_SUFFIX(ema_scan_backward)
#define ema_conv_make       WITH_TYPE_SUFFIX(ema_conv_make)
#define ema_conv_prepare    WITH_TYPE_SUFFIX(ema_conv_prepare)
#define ema_conv_apply      WITH_TYPE_SUFFIX(ema_conv_apply)
#define ema_conv_backward   WITH_TYPE_SUFFIX(ema_conv_backward)
#define tile_groups_cut     WITH_TYPE_SUFFIX(tile_groups_cut)
#define tile_task_at        WITH_TYPE_SUFFIX(tile_task_at)
#define tile_gather         WITH_TYPE_SUFFIX(tile_gather)
#define tile_scatter        WITH_TYPE_SUFFIX(tile_scatter)

#endif
