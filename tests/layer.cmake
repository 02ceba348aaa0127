# The tests of the layer. Each program runs once with the default instruction set, and once per
# instruction set; those that the machine lacks are reported as skipped.
set(isas)
set(timeout 900)
if(CMAKE_CROSSCOMPILING) # emulated
  set(timeout 3600)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(isas baseline avx2 avx512)
endif()

add_library(layer_oracle OBJECT oracle.c problem.c)
target_include_directories(layer_oracle
  PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(layer_oracle PRIVATE test_frame)

# layer_test(NAME LABELS [SOURCES..]): NAME.c and the sources as a program under ctest, named after
# the first label
function(layer_test name label)
  add_executable(${name} ${name}.c ${ARGN} $<TARGET_OBJECTS:layer_oracle>)
  target_link_libraries(${name} PRIVATE test_frame ssm2d_objects)
  list(GET label 0 prefix)
  string(REGEX REPLACE "^test_" "${prefix}_" short ${name})
  add_test(NAME ${short} COMMAND ${name})
  set(own "${label}")
  if(isas) # the same as one of those below
    list(APPEND own default_isa)
  endif()
  set_tests_properties(${short} PROPERTIES LABELS "${own}" TIMEOUT ${timeout} SKIP_RETURN_CODE 77)
  foreach(isa ${isas})
    add_test(NAME ${short}_${isa} COMMAND ${name})
    set_tests_properties(${short}_${isa} PROPERTIES LABELS "${label};isa" TIMEOUT ${timeout}
      SKIP_RETURN_CODE 77 ENVIRONMENT "SSM2D_CPU=${isa}")
  endforeach()
endfunction()

if(SSM2D_PLAIN_TESTS)
  set(io ${PROJECT_SOURCE_DIR}/src/io)
  layer_test(test_golden layer case.c plain/case_scan.c ${io}/npy.c ${io}/file.c ${io}/file_open.c
    ${io}/text.c)
  layer_test(test_baselines "layer;threads" baseline_trial.c
    case.c plain/case_scan.c ${io}/npy.c ${io}/file.c ${io}/file_open.c
    ${io}/text.c)
  layer_test(test_selective "layer;threads" baseline_trial.c
    case.c plain/case_scan.c ${io}/npy.c ${io}/file.c ${io}/file_open.c ${io}/text.c)
  target_include_directories(test_golden PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_include_directories(test_selective PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_include_directories(test_baselines PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
else()
  layer_test(test_golden layer case.c case_json.c ${PROJECT_SOURCE_DIR}/src/mixers/layer_json.c)
  layer_test(test_baselines "layer;threads" baseline_trial.c case.c case_json.c
    ${PROJECT_SOURCE_DIR}/src/mixers/layer_json.c)
  layer_test(test_selective "layer;threads" baseline_trial.c case.c case_json.c
    ${PROJECT_SOURCE_DIR}/src/mixers/layer_json.c)
  target_link_libraries(test_selective PRIVATE ssm2d_io)
  target_link_libraries(test_golden PRIVATE ssm2d_io)
  target_link_libraries(test_baselines PRIVATE ssm2d_io)
endif()
target_compile_definitions(test_golden PRIVATE GOLDEN="${CMAKE_CURRENT_SOURCE_DIR}/golden")
target_compile_definitions(test_baselines PRIVATE GOLDEN="${CMAKE_CURRENT_SOURCE_DIR}/golden")
target_compile_definitions(test_selective
  PRIVATE GOLDEN="${CMAKE_CURRENT_SOURCE_DIR}/golden-selective")
layer_test(test_baseline_properties layer baseline_trial.c)
layer_test(test_oracle "layer;slow")
layer_test(test_properties layer)
layer_test(test_kinds "layer;threads")
layer_test(test_s4nd_dplr layer)
target_compile_definitions(test_s4nd_dplr PRIVATE REAL_IS_DOUBLE)
layer_test(test_grids "layer;slow")
layer_test(test_gradients layer)
layer_test(test_stream layer)
layer_test(test_api layer)
layer_test(test_plan "layer;slow")
layer_test(test_float_mode "layer;threads")
layer_test(test_measured_plans layer)
layer_test(test_wisdom "layer;threads")
layer_test(test_random layer)
layer_test(test_contracts layer)
layer_test(test_threads "layer;threads;slow")
layer_test(test_allocation "layer;slow")
target_link_options(test_allocation PRIVATE
  -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=posix_memalign)

# The pool, and the schedule with which the tool predicts larger ones; once, as the instruction set
# does not matter.
add_executable(test_pool test_pool.c ${PROJECT_SOURCE_DIR}/tools/bench/pool_schedule.c
  $<TARGET_OBJECTS:layer_oracle>)
target_include_directories(test_pool PRIVATE ${PROJECT_SOURCE_DIR})
target_link_libraries(test_pool PRIVATE test_frame ssm2d_objects)
add_test(NAME layer_pool COMMAND test_pool)
set_tests_properties(layer_pool PROPERTIES LABELS "layer;threads" TIMEOUT ${timeout})

# examples/reference.c beside the library, for its own sizes and for others.
layer_test(test_reference layer)
set(more_sizes "L1 = 1, L2 = 7, H = 3, N = 2, S = 1" "L1 = 9, L2 = 4, H = 17, N = 5, S = 3")
foreach(number 1 2)
  math(EXPR at "${number} - 1")
  list(GET more_sizes ${at} sizes)
  add_executable(test_reference_${number} test_reference.c)
  target_compile_definitions(test_reference_${number} PRIVATE "SIZES=${sizes}")
  target_link_libraries(test_reference_${number} PRIVATE test_frame ssm2d_objects)
  add_test(NAME layer_reference_${number} COMMAND test_reference_${number})
  set_tests_properties(layer_reference_${number} PROPERTIES LABELS layer TIMEOUT ${timeout})
endforeach()
