# The tests of models: whole graphs (once per instruction set), configurations, weights, and the
# commands run and models.
layer_test(test_models "models;threads" model_case.c
  ${PROJECT_SOURCE_DIR}/tools/reproduce/paper_counts.c)
target_include_directories(test_models PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(test_models PRIVATE ssm2d_nn_double)
layer_test(test_mega "models;threads")
target_link_libraries(test_mega PRIVATE ssm2d_nn_double)
layer_test(test_swin "models;threads" model_case.c model_trial.c swin_oracle.c)
target_link_libraries(test_swin PRIVATE ssm2d_nn_double)
layer_test(test_convnext "models;threads" model_trial.c)
target_link_libraries(test_convnext PRIVATE ssm2d_nn_double)
add_executable(test_mixers test_mixers.c $<TARGET_OBJECTS:layer_oracle>)
target_link_libraries(test_mixers PRIVATE test_frame ssm2d_nn ssm2d_objects)
add_test(NAME mixers COMMAND test_mixers)
set_tests_properties(mixers PROPERTIES LABELS models TIMEOUT 900)
foreach(name model_config weights_list weights_file weights_resize swin_weights extending
    receptive_field low_memory)
  add_executable(test_${name} test_${name}.c model_case.c)
  target_link_libraries(test_${name} PRIVATE test_frame ssm2d_nn ssm2d_objects)
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES LABELS models TIMEOUT 900)
endforeach()
add_executable(test_tool_run tool/test_tool_run.c $<TARGET_OBJECTS:tool_runner> model_case.c)
target_include_directories(test_tool_run PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_compile_definitions(test_tool_run PRIVATE TOOL_PATH="$<TARGET_FILE:ssm2d_tool>")
target_link_libraries(test_tool_run PRIVATE test_frame ssm2d_nn ssm2d_io ssm2d_objects)
add_dependencies(test_tool_run ssm2d_tool)
add_test(NAME tool_run COMMAND test_tool_run)
set_tests_properties(tool_run PROPERTIES LABELS tool TIMEOUT 900)
foreach(name test_models test_swin test_model_config test_weights_list test_weights_file
    test_weights_resize test_swin_weights test_extending test_receptive_field test_low_memory
    test_tool_run)
  target_compile_definitions(${name}
    PRIVATE GOLDEN_MODELS="${CMAKE_CURRENT_SOURCE_DIR}/golden-models")
endforeach()
