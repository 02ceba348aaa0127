# The tests of src/io, and the fuzz targets.

# io_test(NAME [LIBRARIES..]): test_NAME.c as a program under ctest
function(io_test name)
  add_executable(test_${name} test_${name}.c)
  target_link_libraries(test_${name}
    PRIVATE ssm2d_io ssm2d_objects test_frame PkgConfig::SPNG PkgConfig::JPEG ${ARGN})
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES LABELS io TIMEOUT 600)
endfunction()

foreach(name file md5 sha256 npy json safetensors short_names image_read image_write image_memory
    image_kinds image_exif image_cmyk image_bmp)
  io_test(${name})
endforeach()
# image.c with one more line in the table of formats.
io_test(extending_image)
target_sources(test_extending_image PRIVATE ${PROJECT_SOURCE_DIR}/src/io/image.c)
target_include_directories(test_extending_image BEFORE
  PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/extending)
target_sources(test_json PRIVATE ${PROJECT_SOURCE_DIR}/src/mixers/layer_json.c)
if(WEBP_FOUND)
  io_test(image_webp PkgConfig::WEBP)
endif()
if(TARGET ssm2d_gif)
  io_test(image_gif ssm2d_gif)
endif()
if(HEIF_FOUND)
  io_test(image_heif PkgConfig::HEIF)
  set_tests_properties(image_heif PROPERTIES ENVIRONMENT
    "LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/tool/leaks.supp:print_suppressions=0")
endif()
if(ARCHIVE_FOUND)
  io_test(unpack PkgConfig::ARCHIVE)
endif()
if(TIFF_FOUND)
  io_test(image_tiff PkgConfig::TIFF)
endif()
target_compile_definitions(test_safetensors
  PRIVATE GOLDEN_MODELS="${CMAKE_CURRENT_SOURCE_DIR}/golden-models")
add_subdirectory(fuzz)
