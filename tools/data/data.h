/* data - the parts of `ssm2d data`. To add one: a file data_NAME.c with a command named
 * "data NAME", a declaration here, a line in data.c, and the file in CMakeLists.txt. */
#ifndef SSM2D_TOOLS_DATA_H
#define SSM2D_TOOLS_DATA_H

#include "tools/command.h"

extern const command command_data_augment, command_data_check, command_data_get, command_data_show;

#endif
