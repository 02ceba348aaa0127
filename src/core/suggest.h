/* suggest - the name that a mistyped one probably means. */
#ifndef SSM2D_CORE_SUGGEST_H
#define SSM2D_CORE_SUGGEST_H

/* The name in the NULL-terminated list `names` that is closest to `wrong`, or NULL when none is
 * close enough. Case is ignored. If no name is close, one that `wrong` continues after an
 * underscore is taken: image for image_size. */
const char *closest_name(const char *wrong, const char *const *names);

#endif
