/* folder_state - the state of a folder before and after a run of the tool: names, kinds and
 * contents of all below, except the tool's own cache. */
#ifndef SSM2D_TESTS_FOLDER_STATE_H
#define SSM2D_TESTS_FOLDER_STATE_H

/* Records the state of a folder, which may be missing; folder_forget frees the record. */
void folder_remember(const char *folder);
void folder_forget(void);

/* Fails the test unless exactly these files have been written since then, and none removed. A name
 * with a slash at its end stands for the folder with all below. */
void assert_folder_change(const char *const *names);

/* Fails the test if a file has a name that the tool gives to half-written files. */
void assert_no_temporary(void);

#endif
