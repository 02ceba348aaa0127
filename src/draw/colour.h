/* colour - colour maps for heat maps. Both run through OKLab, where equal steps look equally large:
 * lightness is a straight line of the value, so that they survive printing in grey. */
#ifndef SSM2D_DRAW_COLOUR_H
#define SSM2D_DRAW_COLOUR_H

typedef struct colour {
    double red, green, blue; /* sRGB, 0 to 1 */
} colour;

typedef enum colour_map {
    COLOUR_SEQUENTIAL, /* dark violet over green to light yellow: for what is not negative */
    COLOUR_DIVERGING   /* blue, white at the middle, red: for what has a sign */
} colour_map;

/* t from 0 to 1; beyond is cut. What is not a number is grey. */
colour colour_at(colour_map map, double t);

#endif
