# The tests of src/cluster, and of the tool under mpirun.
add_executable(test_cluster cluster/test_cluster.c)
target_link_libraries(test_cluster PRIVATE
  ssm2d_train ssm2d_cluster ssm2d_nn ssm2d_data ssm2d_draw ssm2d_io ssm2d_objects test_frame)
add_test(NAME cluster COMMAND test_cluster)
set_tests_properties(cluster PROPERTIES LABELS "cluster;threads" TIMEOUT 300)

# With a sanitizer only the cases for which it matters: messages, keepers, processes that differ.
set(cluster_cases)
if(SSM2D_SANITIZE)
  set(cluster_cases other_slices silent one_process)
endif()
foreach(mpi openmpi mpich)
  add_test(NAME cluster_${mpi} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cluster/mpi.sh
    $<TARGET_FILE:ssm2d_tool> $<TARGET_FILE:make_small_data> ${mpi} ${cluster_cases})
  set_tests_properties(cluster_${mpi} PROPERTIES LABELS cluster TIMEOUT 900 SKIP_RETURN_CODE 77
    ENVIRONMENT ASAN_OPTIONS=detect_leaks=0) # MPI's own
endforeach()
