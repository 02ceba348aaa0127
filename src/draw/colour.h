/* colour - colours of lines, and colour maps for heat maps. Both maps are perceptually uniform
 * (OKLab), with a lightness linear in the value, so that they can be printed in grey. */
#ifndef SSM2D_DRAW_COLOUR_H
#define SSM2D_DRAW_COLOUR_H

typedef struct colour {
    double red, green, blue; /* sRGB, 0 to 1 */
} colour;

typedef enum colour_map {
    COLOUR_SEQUENTIAL, /* dark violet over green to light yellow, for values that are >= 0 */
    COLOUR_DIVERGING   /* blue, white in the middle, red, for values with a sign */
} colour_map;

/* Returns the colour at t, which is clamped to 0..1. NaN and infinity are grey. */
colour colour_at(colour_map map, double t);
/* Returns the colour of the i-th line of a chart. They repeat after COLOUR_LINES. */
enum { COLOUR_LINES = 8 };
colour colour_of_line(int i);

#endif
