/* suggest - the name that somebody who mistyped one probably meant. */
#ifndef SSM2D_CORE_SUGGEST_H
#define SSM2D_CORE_SUGGEST_H

/* The name in the NULL-ended list `names` that is closest to `wrong`, or NULL when none is close
 * enough to suggest. Case does not count. */
const char *closest_name(const char *wrong, const char *const *names);

#endif
