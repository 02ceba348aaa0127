# The tests of operators and graph. Like those of the layer, each program runs once per instruction
# set.

# The files with examples of operators; export.cmake uses them as well.
set(op_examples op_examples.c)
foreach(part values linear attention tokens mixers losses)
  list(APPEND op_examples op_examples_${part}.c)
endforeach()

# The examples in double are a separate library with one exported name, because a program has the
# operators either in float or in double.
add_library(op_examples_double SHARED ${op_examples})
target_link_libraries(op_examples_double PRIVATE ssm2d_nn_double ssm2d_objects test_frame)

layer_test(test_ops "graph;threads" op_checks.c ${op_examples})
target_link_libraries(test_ops PRIVATE ssm2d_nn op_examples_double)

# Training without files, so that it runs in cross builds as well.
set(optim ${PROJECT_SOURCE_DIR}/src/optim)
layer_test(test_training_steps "graph;threads" ${optim}/optimizer.c ${optim}/flat.c
  ${optim}/adamw.c ${optim}/sgd.c ${optim}/lion.c)
target_link_libraries(test_training_steps PRIVATE ssm2d_nn)

# An operator that only this test knows, in double.
layer_test(test_extending_op graph op_checks.c ${op_examples})
target_link_libraries(test_extending_op PRIVATE ssm2d_nn_double)

layer_test(test_activations graph)
target_link_libraries(test_activations PRIVATE ssm2d_nn)

layer_test(test_graph "graph;threads;slow")
target_link_libraries(test_graph PRIVATE ssm2d_nn_double)

foreach(test test_graph_errors test_graph_memory test_op_references)
  layer_test(${test} graph)
  target_link_libraries(${test} PRIVATE ssm2d_nn_double)
endforeach()

# Other types of elements than real, where that is float and where it is double.
foreach(type "" _double)
  foreach(test test_convert test_keep)
    layer_test(${test}${type} graph)
    target_link_libraries(${test}${type} PRIVATE ssm2d_nn${type})
  endforeach()
endforeach()

# Blocks of registers, in float and in double; each program goes through all instruction sets.
foreach(type "" _double)
  add_executable(test_blocks${type} test_blocks${type}.c)
  target_link_libraries(test_blocks${type} PRIVATE test_frame ssm2d_nn${type} ssm2d_objects)
  add_test(NAME graph_blocks${type} COMMAND test_blocks${type})
  set_tests_properties(graph_blocks${type} PROPERTIES LABELS graph TIMEOUT ${timeout})
endforeach()
add_executable(test_gemm_bfloat16 test_gemm_bfloat16.c)
target_link_libraries(test_gemm_bfloat16 PRIVATE test_frame ssm2d_nn ssm2d_objects)
add_test(NAME graph_gemm_bfloat16 COMMAND test_gemm_bfloat16)
set_tests_properties(graph_gemm_bfloat16 PROPERTIES LABELS graph TIMEOUT 600)
add_executable(test_gemm_int8 test_gemm_int8.c)
target_link_libraries(test_gemm_int8 PRIVATE test_frame ssm2d_nn ssm2d_objects)
add_test(NAME graph_gemm_int8 COMMAND test_gemm_int8)
set_tests_properties(graph_gemm_int8 PROPERTIES LABELS graph TIMEOUT 600)
