# The tests of src/data.
find_package(ZLIB REQUIRED)
foreach(name resize dataset arrows folder image_sets bad_images split augment loader workers stages
    targets pixel_ops policies reduced_decoding)
  add_executable(test_${name} test_${name}.c)
  target_link_libraries(test_${name}
    PRIVATE ssm2d_data ssm2d_io ssm2d_tasks ssm2d_nn ssm2d_objects test_frame PkgConfig::JPEG
    ZLIB::ZLIB)
  add_test(NAME data_${name} COMMAND test_${name})
  set_tests_properties(data_${name} PROPERTIES LABELS "data" TIMEOUT 600)
endforeach()
set_tests_properties(data_loader data_stages data_workers data_bad_images
  PROPERTIES LABELS "data;threads")
target_compile_definitions(test_pixel_ops
  PRIVATE VECTORS="${CMAKE_CURRENT_SOURCE_DIR}/golden-pillow/vectors.txt")
