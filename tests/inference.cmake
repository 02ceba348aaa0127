# The tests of src/inference: libssm2d_model as a program outside of this tree links it.
foreach(name model_api model_threads model_errors model_file model_float_mode layer_params)
  add_executable(test_${name} inference/test_${name}.c)
  target_include_directories(test_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_compile_definitions(test_${name} PRIVATE
    TOOL_PATH="$<TARGET_FILE:ssm2d_tool>" GOLDEN_RUN="${CMAKE_CURRENT_SOURCE_DIR}/golden-runs/0.1"
    GOLDEN_MODELS="${CMAKE_CURRENT_SOURCE_DIR}/golden-models")
  target_link_libraries(test_${name} PRIVATE ssm2d_model test_frame m)
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES LABELS inference TIMEOUT 900
    ENVIRONMENT "LSAN_OPTIONS=suppressions=${leaks}:print_suppressions=0")
endforeach()
set_tests_properties(model_threads PROPERTIES LABELS "inference;threads")
# The reference code is linked into this program; the library has its own copy.
target_sources(test_model_api PRIVATE $<TARGET_OBJECTS:tool_runner> model_case.c)
target_compile_definitions(test_model_api PRIVATE CLASSIFY="$<TARGET_FILE:classify>")
add_dependencies(test_model_api ssm2d_tool classify)
target_link_libraries(test_model_api PRIVATE
  ssm2d_inference ssm2d_nn ssm2d_data ssm2d_io ssm2d_objects)
target_sources(test_model_errors PRIVATE $<TARGET_OBJECTS:tool_runner>)
target_link_libraries(test_model_errors PRIVATE ssm2d_io ssm2d_objects)
target_link_libraries(test_layer_params PRIVATE ssm2d)
target_sources(test_model_file PRIVATE $<TARGET_OBJECTS:tool_runner>)
target_link_libraries(test_model_file PRIVATE ssm2d_io ssm2d_objects)
