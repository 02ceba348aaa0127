/* blend - what is transparent becomes white. */
#ifndef SSM2D_IO_BLEND_H
#define SSM2D_IO_BLEND_H

#include <stdint.h>

/* A sample of 8 bits over white, rounded to the nearest. */
static inline uint8_t blend_white(uint8_t sample, uint8_t alpha)
{
    return (uint8_t)((sample * alpha + 255 * (255 - alpha) + 127) / 255);
}

#endif
