# The tests of src/io, and the fuzz targets.
foreach(name file md5 npy json image image_kinds safetensors short_names)
  add_executable(test_${name} test_${name}.c)
  target_link_libraries(test_${name}
    PRIVATE ssm2d_io ssm2d_objects test_frame PkgConfig::SPNG PkgConfig::JPEG)
  foreach(kind WEBP TIFF)
    if(${kind}_FOUND AND name STREQUAL image_kinds)
      target_link_libraries(test_${name} PRIVATE PkgConfig::${kind})
    endif()
  endforeach()
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES LABELS io TIMEOUT 600)
endforeach()
target_compile_definitions(test_safetensors
  PRIVATE GOLDEN_MODELS="${CMAKE_CURRENT_SOURCE_DIR}/golden-models")
add_subdirectory(fuzz)
