# Toolchain file: builds for 64-bit ARM on another machine, and runs what is built with qemu-user
# where that is installed. cmake --preset aarch64 uses it.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)

# Programs of this machine, libraries and headers of the other one.
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

find_program(SSM2D_QEMU NAMES qemu-aarch64-static qemu-aarch64)
if(SSM2D_QEMU)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${SSM2D_QEMU} -L /usr/aarch64-linux-gnu)
endif()
