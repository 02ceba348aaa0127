/* real - the number type of the file being compiled: float, or double with -DREAL_IS_DOUBLE.
 *
 * The layer library holds both: its files are compiled twice, and a header of names (simd_names.h,
 * conv_names.h and others) gives every function a suffix, so that the code itself reads plainly.
 * The graph, operators, mixers and models are float; tests build them in double as well, into
 * programs of their own. */
#ifndef SSM2D_CORE_REAL_H
#define SSM2D_CORE_REAL_H

#ifdef REAL_IS_DOUBLE
typedef double real;
#define WITH_TYPE_SUFFIX(name) name##_f64
#else
typedef float real;
#define WITH_TYPE_SUFFIX(name) name##_f32
#endif

#endif
