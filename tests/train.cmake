# The tests of src/train, and of the commands train, eval and predict.
set(leaks ${CMAKE_CURRENT_SOURCE_DIR}/tool/leaks.supp)
foreach(name adamw checkpoint machines metrics train_settings loop loop_models loop_mega
    loop_interrupted loop_labels loop_parts loop_trouble measure run_folder old_runs recipes)
  add_executable(test_${name} train/test_${name}.c)
  target_link_libraries(test_${name} PRIVATE
    ssm2d_train ssm2d_nn ssm2d_data ssm2d_draw ssm2d_io ssm2d_objects test_frame)
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES LABELS train TIMEOUT 900
    ENVIRONMENT "LSAN_OPTIONS=suppressions=${leaks}:print_suppressions=0")
endforeach()
target_compile_definitions(test_old_runs
  PRIVATE GOLDEN_RUNS="${CMAKE_CURRENT_SOURCE_DIR}/golden-runs")
set_tests_properties(adamw loop loop_models loop_mega loop_trouble recipes
  PROPERTIES LABELS "train;threads")
