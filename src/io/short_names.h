/* short_names - names for a list of folders: the ends of their paths, as long as is needed to tell
 * them apart. */
#ifndef SSM2D_IO_SHORT_NAMES_H
#define SSM2D_IO_SHORT_NAMES_H

/* Returns the name of folders[i], a part of its text. */
const char *short_name_of(const char *const *folders, int count, int i);

#endif
