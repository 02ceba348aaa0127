# The tests of src/train, and of the commands train, eval and predict.
set(leaks ${CMAKE_CURRENT_SOURCE_DIR}/tool/leaks.supp)
foreach(name optimizers checkpoint data_defaults machines metrics train_settings loop loop_models
    loop_mega loop_interrupted loop_labels loop_parts loop_trouble measure run_folder
    old_runs recipes decay)
  add_executable(test_${name} train/test_${name}.c)
  target_link_libraries(test_${name} PRIVATE
    ssm2d_train ssm2d_nn ssm2d_data ssm2d_draw ssm2d_io ssm2d_objects test_frame)
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES LABELS train TIMEOUT 900
    ENVIRONMENT "LSAN_OPTIONS=suppressions=${leaks}:print_suppressions=0")
endforeach()
# Which products go to oneDNN depends on the instruction set.
add_executable(test_onednn train/test_onednn.c $<TARGET_OBJECTS:layer_oracle>)
target_include_directories(test_onednn PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(test_onednn PRIVATE
  ssm2d_train ssm2d_nn ssm2d_data ssm2d_draw ssm2d_io ssm2d_objects test_frame ${CMAKE_DL_LIBS})
foreach(isa default ${isas})
  add_test(NAME onednn_${isa} COMMAND test_onednn)
  set_tests_properties(onednn_${isa} PROPERTIES LABELS "train;threads" TIMEOUT 900
    SKIP_RETURN_CODE 77)
  if(NOT isa STREQUAL default)
    set_tests_properties(onednn_${isa} PROPERTIES ENVIRONMENT "SSM2D_CPU=${isa}"
      LABELS "train;threads;isa")
  endif()
endforeach()
target_compile_definitions(test_old_runs
  PRIVATE GOLDEN_RUNS="${CMAKE_CURRENT_SOURCE_DIR}/golden-runs")
set_tests_properties(optimizers loop loop_models loop_mega loop_trouble recipes
  PROPERTIES LABELS "train;threads")
