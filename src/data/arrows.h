/* arrows - the scene of an image of the generated data set `arrows`. */
#ifndef SSM2D_DATA_ARROWS_H
#define SSM2D_DATA_ARROWS_H

#include <stddef.h>

enum { ARROWS_SIDE = 192 }; /* pixels */

/* Lengths are pixels; x to the right and y down, from the image's corner. */
typedef struct arrows_scene {
    int points_at;                     /* whether the arrow points at the circle */
    double x, y, angle, length, width; /* of the arrow, whose middle is at (x, y) */
    double circle_x, circle_y, radius;
} arrows_scene;

/* split: a dataset_split. The same for ever: results name these images. */
arrows_scene arrows_scene_of(int split, size_t index);

#endif
