/* swin_windows - how a map of tokens is cut into the windows of a Swin block.
 *
 * Per axis, a window has w = min(window, side) tokens. In odd blocks the map is shifted by s =
 * floor(window/2), except along an axis with side <= window. A side that is not a multiple of w is
 * first padded at its end. The shifted map is the padded one rolled by -s: its cell i is cell
 * (i + s) mod side. Along an axis with s > 0 it has the regions [0, side - w), [side - w, side - s)
 * and [side - s, side), which are not adjacent in the image; padding is a separate region. -100 is
 * added to scores between cells of different regions, so that padding does not affect real
 * cells. */
#ifndef SSM2D_MODELS_SWIN_WINDOWS_H
#define SSM2D_MODELS_SWIN_WINDOWS_H

#include "core/context.h"
#include "graph/param_spec.h"

typedef struct swin_windows {
    int side[2];         /* of a window, clipped */
    int tokens, windows; /* of a window, of the map */
    int *token;          /* [windows][tokens]: indices in the map; -1: padding */
    /* The relative bias of query a and key b is entry center + position[a] - position[b]. */
    int *position, center;
    /* The distinct masks, [masks][tokens][tokens], or NULL; and the mask of each window, -1 for
     * none. */
    float *mask;
    int *mask_of, masks;
} swin_windows;

/* The clipped window of a map. */
void swin_window_side(token_grid map, int window, int side[2]);
/* Returns 0 if out of memory. */
int swin_windows_make(const ssm2d_context *context, token_grid map, int window, int is_shifted,
                      swin_windows *out);
void swin_windows_free(const ssm2d_context *context, swin_windows *w);

#endif
