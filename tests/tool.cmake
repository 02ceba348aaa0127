# The tests of the command-line tool, which they run as a user would, and of src/draw.
set(leaks ${CMAKE_CURRENT_SOURCE_DIR}/tool/leaks.supp)
# Compiled once for all programs that run the tool.
add_library(tool_runner OBJECT tool/tool_run.c tool/folder_state.c)
target_compile_definitions(tool_runner PRIVATE TOOL_PATH="$<TARGET_FILE:ssm2d_tool>")
target_link_libraries(tool_runner PRIVATE test_frame ssm2d_io ssm2d_objects)
foreach(name tool_frame tool_layer tool_kernels tool_theory tool_filter tool_filter_run
    tool_train tool_precision tool_extreme tool_hazards tool_files tool_data tool_data_sets
    tool_photos tool_reproduce tool_reproduce_folder tool_reproduce_results tool_reproduce_sets
    tool_reproduce_settings tool_arena
    tool_report tool_report_images tool_many_classes tool_curves tool_zoo
    draw)
  add_executable(test_${name} tool/test_${name}.c $<TARGET_OBJECTS:tool_runner>)
  target_compile_definitions(test_${name} PRIVATE
    TOOL_PATH="$<TARGET_FILE:ssm2d_tool>" GOLDEN="${CMAKE_CURRENT_SOURCE_DIR}/golden"
    GOLDEN_RUN="${CMAKE_CURRENT_SOURCE_DIR}/golden-runs/0.1"
    MODELS="${PROJECT_SOURCE_DIR}/models")
  target_link_libraries(test_${name} PRIVATE test_frame ssm2d_draw ssm2d_io ssm2d_objects)
  add_dependencies(test_${name} ssm2d_tool)
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES LABELS tool TIMEOUT 900
    ENVIRONMENT "LSAN_OPTIONS=suppressions=${leaks}:print_suppressions=0")
endforeach()
target_link_libraries(test_tool_filter PRIVATE ZLIB::ZLIB)
target_compile_definitions(test_tool_zoo PRIVATE CLASSIFY="$<TARGET_FILE:classify>")
add_dependencies(test_tool_zoo classify)
target_compile_definitions(test_tool_reproduce_results PRIVATE
  BENCH_RESULTS="${PROJECT_SOURCE_DIR}/bench/results")
# It also checks the functions behind the tables.
target_sources(test_tool_theory PRIVATE ${PROJECT_SOURCE_DIR}/tools/layer/theory_kernels.c)
target_include_directories(test_tool_theory PRIVATE ${PROJECT_SOURCE_DIR}/tools/layer)
target_link_libraries(test_tool_report PRIVATE ssm2d_report ssm2d_train ssm2d_nn ssm2d_data)
target_link_libraries(test_tool_many_classes PRIVATE
  ssm2d_report ssm2d_train ssm2d_nn ssm2d_data)
# It checks the files of a run's folder.
target_link_libraries(test_tool_filter_run PRIVATE ssm2d_train ssm2d_nn ssm2d_data)

# The tool with one more task and one more optimiser: their tables with another list, and a file of
# each.
add_executable(ssm2d_extended $<TARGET_OBJECTS:ssm2d_tool> train/brightness_task.c
  train/rmsprop_optimizer.c ${PROJECT_SOURCE_DIR}/src/tasks/task.c
  ${PROJECT_SOURCE_DIR}/src/optim/optimizer.c)
target_compile_definitions(ssm2d_extended PRIVATE
  SSM2D_MORE_TASKS="${CMAKE_CURRENT_SOURCE_DIR}/train/brightness.def"
  SSM2D_MORE_OPTIMIZERS="${CMAKE_CURRENT_SOURCE_DIR}/train/rmsprop.def")
target_link_libraries(ssm2d_extended PRIVATE $<TARGET_PROPERTY:ssm2d_tool,LINK_LIBRARIES>)
foreach(name extending_task extending_optimizer)
  add_executable(test_${name} train/test_${name}.c tool/tool_run.c tool/folder_state.c)
  target_compile_definitions(test_${name} PRIVATE TOOL_PATH="$<TARGET_FILE:ssm2d_extended>")
  target_link_libraries(test_${name} PRIVATE test_frame ssm2d_io ssm2d_objects)
  add_dependencies(test_${name} ssm2d_extended)
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES LABELS "tool;train" TIMEOUT 900
    ENVIRONMENT "LSAN_OPTIONS=suppressions=${leaks}:print_suppressions=0")
endforeach()

# The tool with another table of data sets, for a server on the loopback.
add_executable(ssm2d_fetching $<FILTER:$<TARGET_OBJECTS:ssm2d_tool>,EXCLUDE,data_sources>
  tool/fetch_sources.c)
target_include_directories(ssm2d_fetching PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(ssm2d_fetching PRIVATE $<TARGET_PROPERTY:ssm2d_tool,LINK_LIBRARIES>)
add_executable(test_tool_fetch tool/test_tool_fetch.c tool/tool_run.c tool/folder_state.c)
target_compile_definitions(test_tool_fetch PRIVATE TOOL_PATH="$<TARGET_FILE:ssm2d_fetching>"
  OFFICIAL_TOOL="$<TARGET_FILE:ssm2d_tool>" DATA_PAGE="${PROJECT_SOURCE_DIR}/docs/data.md"
  FETCH_SERVER="${CMAKE_CURRENT_SOURCE_DIR}/tool/fetch_server.py")
target_link_libraries(test_tool_fetch PRIVATE test_frame ssm2d_io ssm2d_objects)
add_dependencies(test_tool_fetch ssm2d_fetching ssm2d_tool)
add_test(NAME tool_fetch COMMAND test_tool_fetch)
set_tests_properties(tool_fetch PROPERTIES LABELS tool TIMEOUT 600 SKIP_RETURN_CODE 77
  ENVIRONMENT "LSAN_OPTIONS=suppressions=${leaks}:print_suppressions=0")

# Campaigns: kills at random moments, and calls that fail one after another; more of both with
# LONG=1 in the environment, as in the long tier.
add_executable(make_small_data campaign/make_small_data.c)
target_link_libraries(make_small_data PRIVATE ssm2d_objects)
add_test(NAME campaign_kill COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/campaign/kill.sh
  $<TARGET_FILE:ssm2d_tool> $<TARGET_FILE:make_small_data>)
set_tests_properties(campaign_kill PROPERTIES LABELS tool TIMEOUT 1800
  ENVIRONMENT "LSAN_OPTIONS=suppressions=${leaks}:print_suppressions=0")
# The tool with an allocator that fails once; under the sanitizers as well, which then check the
# error paths.
add_executable(failing_memory campaign/failing_memory.c $<TARGET_OBJECTS:ssm2d_tool>)
target_link_libraries(failing_memory PRIVATE $<TARGET_PROPERTY:ssm2d_tool,LINK_LIBRARIES>)
target_link_options(failing_memory PRIVATE -Wl,--wrap=malloc,--wrap=aligned_alloc,--wrap=free)
add_test(NAME campaign_failing_memory
  COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/campaign/failing_memory.sh
  $<TARGET_FILE:ssm2d_tool> $<TARGET_FILE:make_small_data> $<TARGET_FILE:failing_memory>)
set_tests_properties(campaign_failing_memory PROPERTIES LABELS tool TIMEOUT 1800
  ENVIRONMENT "LSAN_OPTIONS=suppressions=${leaks}:print_suppressions=0")
if(NOT SSM2D_SANITIZE) # the sanitizers have to be loaded before any other library
  add_library(failing_io MODULE campaign/failing_io.c)
  target_link_libraries(failing_io PRIVATE ${CMAKE_DL_LIBS})
  add_test(NAME campaign_failing_io COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/campaign/failing_io.sh
    $<TARGET_FILE:ssm2d_tool> $<TARGET_FILE:make_small_data> $<TARGET_FILE:failing_io>)
  set_tests_properties(campaign_failing_io PROPERTIES LABELS tool TIMEOUT 1800)
  # the sanitizers also take terabytes of address space
  add_test(NAME campaign_limited_memory
    COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/campaign/limited_memory.sh
    $<TARGET_FILE:ssm2d_tool> $<TARGET_FILE:make_small_data>)
  set_tests_properties(campaign_limited_memory PROPERTIES LABELS tool TIMEOUT 1800)
endif()
# Once is enough: with a sanitizer it is the same page.
if(NOT SSM2D_SANITIZE)
  add_test(NAME report_page COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tool/report_page.sh
    $<TARGET_FILE:ssm2d_tool> $<TARGET_FILE:make_small_data>)
  set_tests_properties(report_page PROPERTIES LABELS tool TIMEOUT 900 SKIP_RETURN_CODE 77)
endif()
add_test(NAME real_data COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tool/real_data.sh
  $<TARGET_FILE:ssm2d_tool>)
set_tests_properties(real_data PROPERTIES LABELS tool TIMEOUT 1800 SKIP_RETURN_CODE 77)

add_executable(test_guard_file tool/test_guard_file.c
  ${PROJECT_SOURCE_DIR}/tools/bench/guard_file.c)
target_include_directories(test_guard_file
  PRIVATE ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(test_guard_file PRIVATE ssm2d_io ssm2d_objects test_frame)
add_test(NAME tool_guard_file COMMAND test_guard_file)
set_tests_properties(tool_guard_file PROPERTIES LABELS tool TIMEOUT 600)

add_executable(test_stop_signals tool/test_stop_signals.c
  ${PROJECT_SOURCE_DIR}/tools/stop_signals.c)
target_include_directories(test_stop_signals PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(test_stop_signals PRIVATE ssm2d_objects test_frame)
add_test(NAME tool_stop_signals COMMAND test_stop_signals)
set_tests_properties(tool_stop_signals PROPERTIES LABELS tool TIMEOUT 600)
