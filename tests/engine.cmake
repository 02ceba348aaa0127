# The tests of the engine: operators and graph. Like those of the layer, each program runs once per instruction set.
foreach(real FLOAT DOUBLE)
  add_library(op_examples_${real} OBJECT op_examples.c)
  target_compile_definitions(op_examples_${real} PRIVATE REAL_IS_${real})
  target_include_directories(op_examples_${real} PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(op_examples_${real} PRIVATE PkgConfig::CMOCKA)
endforeach()

layer_test(test_ops engine $<TARGET_OBJECTS:op_examples_FLOAT> $<TARGET_OBJECTS:op_examples_DOUBLE>)
target_link_libraries(test_ops PRIVATE ssm2d_engine_objects)

layer_test(test_graph engine)
target_compile_definitions(test_graph PRIVATE REAL_IS_DOUBLE)
target_link_libraries(test_graph PRIVATE ssm2d_engine_objects)
