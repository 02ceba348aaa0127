# The tests of src/cluster, and of the tool under mpirun.
foreach(mpi openmpi mpich)
  add_test(NAME cluster_${mpi} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/cluster/mpi.sh
    $<TARGET_FILE:ssm2d_tool> $<TARGET_FILE:make_small_data> ${mpi})
  set_tests_properties(cluster_${mpi} PROPERTIES LABELS cluster TIMEOUT 900 SKIP_RETURN_CODE 77
    ENVIRONMENT ASAN_OPTIONS=detect_leaks=0) # MPI's own
endforeach()
