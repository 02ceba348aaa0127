/* element_type - the types that the elements of a tensor may have. */
#ifndef SSM2D_CORE_ELEMENT_TYPE_H
#define SSM2D_CORE_ELEMENT_TYPE_H

#include "core/real.h"

#include <stddef.h>
#include <stdint.h>

typedef enum element_type {
    ELEMENT_REAL,     /* float32; float64 where the tests build everything in double */
    ELEMENT_BFLOAT16, /* the upper half of a float32 */
    ELEMENT_INT8, /* stands for scale * element; tensors have a scale per row, or a single one */
    ELEMENT_TYPES
} element_type;

typedef uint16_t bfloat16; /* the bits of one */

/* A set of types is a sum of these. */
#define ELEMENT_BIT(type) (1u << (type))

static inline size_t element_size(element_type type)
{
    static const size_t size[ELEMENT_TYPES] = {sizeof(real), sizeof(bfloat16), sizeof(int8_t)};
    return size[type];
}

static inline const char *element_name(element_type type)
{
    static const char *const name[ELEMENT_TYPES] = {
        sizeof(real) == sizeof(double) ? "float64" : "float32", "bfloat16", "int8"};
    return name[type];
}

#endif
