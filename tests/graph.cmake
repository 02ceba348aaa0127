# The tests of operators and graph. Like those of the layer, each program runs once per instruction
# set.

# Where an operator has its example; export.cmake uses them as well.
set(op_examples op_examples.c)
foreach(part values linear attention tokens mixers losses)
  list(APPEND op_examples op_examples_${part}.c)
endforeach()

# The examples in double are a library of their own with one name to the outside, as a program has
# the operators either in float or in double.
add_library(op_examples_double SHARED ${op_examples})
target_link_libraries(op_examples_double PRIVATE ssm2d_nn_double ssm2d_objects test_frame)

layer_test(test_ops "graph;threads" ${op_examples})
target_link_libraries(test_ops PRIVATE ssm2d_nn op_examples_double)

layer_test(test_activations graph)
target_link_libraries(test_activations PRIVATE ssm2d_nn)

layer_test(test_graph "graph;threads;slow")
target_link_libraries(test_graph PRIVATE ssm2d_nn_double)

foreach(test test_graph_errors test_graph_memory test_op_references)
  layer_test(${test} graph)
  target_link_libraries(${test} PRIVATE ssm2d_nn_double)
endforeach()
