/* real - the number type of a file that is compiled twice, once for float and once for double.
 *
 * NAME(x) gives such a file's functions and types a name of their own in each. */
#ifndef SSM2D_CORE_REAL_H
#define SSM2D_CORE_REAL_H

#if defined(REAL_IS_DOUBLE)
typedef double real;
#define NAME(x) x##_f64
#elif defined(REAL_IS_FLOAT)
typedef float real;
#define NAME(x) x##_f32
#else
#error "compile with REAL_IS_FLOAT or REAL_IS_DOUBLE"
#endif

#endif
