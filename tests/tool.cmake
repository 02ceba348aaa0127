# The tests of the command-line tool, which they run as a user would, and of src/draw.
find_package(PkgConfig REQUIRED)
pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)

foreach(name test_tool_frame test_tool_layer test_tool_kernels test_tool_filter test_tool_train test_tool_extreme test_tool_hazards
    test_draw)
  add_executable(${name} tool/${name}.c tool/tool_run.c)
  target_compile_definitions(${name} PRIVATE TOOL_PATH="$<TARGET_FILE:ssm2d_tool>" GOLDEN="${CMAKE_CURRENT_SOURCE_DIR}/golden")
  target_link_libraries(${name} PRIVATE PkgConfig::CMOCKA ssm2d_draw ssm2d_io ssm2d_objects)
  add_dependencies(${name} ssm2d_tool)
  string(REGEX REPLACE "^test_" "" short ${name})
  add_test(NAME ${short} COMMAND ${name})
  set_tests_properties(${short} PROPERTIES LABELS tool TIMEOUT 900
    ENVIRONMENT "LSAN_OPTIONS=suppressions=${CMAKE_CURRENT_SOURCE_DIR}/tool/leaks.supp:print_suppressions=0")
endforeach()
