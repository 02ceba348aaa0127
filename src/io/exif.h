/* exif - the one thing of EXIF that changes what a picture shows: how it is turned. */
#ifndef SSM2D_IO_EXIF_H
#define SSM2D_IO_EXIF_H

#include <stddef.h>
#include <stdint.h>

/* Returns the orientation, 1 to 8, of an EXIF block, with or without "Exif\0\0" before it. 1, which
 * is upright, for a block that does not say, or is damaged. */
int exif_orientation(const uint8_t *bytes, size_t size);

#endif
