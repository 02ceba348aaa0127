/* setting_hint - finds the setting that an unknown option was meant to be. */
#ifndef SSM2D_TOOLS_SETTING_HINT_H
#define SSM2D_TOOLS_SETTING_HINT_H

#include "command.h"

/* Whether a name is that of a setting, with - allowed in place of _. */
int setting_is_named(const char *written, const char *setting);
/* Members `setting` of a command: among all settings of a run; among those of a model. */
int setting_of_run(const char *name, char key[OPTION_KEY], int *flag);
int setting_of_model(const char *name, char key[OPTION_KEY], int *flag);

#endif
