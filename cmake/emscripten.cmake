# Toolchain file: builds for WebAssembly with Debian's emscripten, whose own toolchain file it
# includes. cmake --preset js uses it.
find_program(SSM2D_EMCC emcc REQUIRED)
file(REAL_PATH ${SSM2D_EMCC} emcc)
get_filename_component(EMSCRIPTEN_ROOT_PATH ${emcc} DIRECTORY)
include(${EMSCRIPTEN_ROOT_PATH}/cmake/Modules/Platform/Emscripten.cmake)
