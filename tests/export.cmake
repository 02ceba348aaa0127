# The tests of src/export, in builds with ONNX; those of the command are in every build.
add_executable(test_tool_export tool/test_tool_export.c $<TARGET_OBJECTS:tool_runner>)
target_compile_definitions(test_tool_export PRIVATE TOOL_PATH="$<TARGET_FILE:ssm2d_tool>"
  GOLDEN_RUN="${CMAKE_CURRENT_SOURCE_DIR}/golden-runs/0.1"
  GOLDEN_MODELS="${CMAKE_CURRENT_SOURCE_DIR}/golden-models" HAS_ONNX=$<BOOL:${SSM2D_HAS_ONNX}>)
target_link_libraries(test_tool_export PRIVATE test_frame ssm2d_io ssm2d_objects)
add_dependencies(test_tool_export ssm2d_tool)
add_test(NAME tool_export COMMAND test_tool_export)
set_tests_properties(tool_export PROPERTIES LABELS tool TIMEOUT 900
  ENVIRONMENT "LSAN_OPTIONS=suppressions=${leaks}:print_suppressions=0")
if(NOT SSM2D_HAS_ONNX)
  return()
endif()

add_executable(test_export export/test_export.c ${op_examples} $<TARGET_OBJECTS:layer_oracle>)
target_include_directories(test_export PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(test_export PRIVATE test_frame ssm2d_export ssm2d_nn ssm2d_objects)
add_test(NAME export COMMAND test_export)
set_tests_properties(export PROPERTIES LABELS models TIMEOUT 900)

# Checks exported files with ONNX's checker, and runs them in NumPy and, if available, ONNX Runtime.
add_executable(model_values export/model_values.c)
target_link_libraries(model_values PRIVATE ssm2d_nn ssm2d_objects)
add_test(NAME export_values COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/export/export_check.sh
  $<TARGET_FILE:ssm2d_tool> $<TARGET_FILE:test_export> $<TARGET_FILE:model_values>
  $<TARGET_FILE:make_small_data>)
set_tests_properties(export_values PROPERTIES LABELS "tool;values" TIMEOUT 1800 SKIP_RETURN_CODE 77
  ENVIRONMENT "LSAN_OPTIONS=suppressions=${leaks}:print_suppressions=0")
