# The modules that let several processes train together, one for each MPI that is found: Debian's
# Open MPI and MPICH may both be there (mpicc.openmpi, mpicc.mpich); elsewhere mpicc is the one. The
# compiler wrapper says what the compiler needs, so that any MPI will do.
option(SSM2D_MPI "Build the modules for MPI, where there is one" ON)
find_program(SSM2D_MPICC_OPENMPI mpicc.openmpi DOC "Open MPI's compiler wrapper")
find_program(SSM2D_MPICC_MPICH mpicc.mpich DOC "MPICH's compiler wrapper")
find_program(SSM2D_MPICC mpicc DOC "The compiler wrapper of another MPI")

# ssm2d_mpi_module(NAME WRAPPER)
function(ssm2d_mpi_module name wrapper)
  execute_process(COMMAND ${wrapper} -show OUTPUT_VARIABLE shown RESULT_VARIABLE bad
    ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(bad)
    message(WARNING "${wrapper} -show fails: no module for MPI is built with it")
    return()
  endif()
  separate_arguments(words UNIX_COMMAND "${shown}")
  list(POP_FRONT words) # the compiler
  set(includes ${words})
  list(FILTER includes INCLUDE REGEX "^-I")
  list(TRANSFORM includes REPLACE "^-I" "")
  list(FILTER words INCLUDE REGEX "^-(L|l|Wl,)")
  add_library(${name} MODULE ${PROJECT_SOURCE_DIR}/src/cluster/transport_mpi.c)
  target_include_directories(${name} PRIVATE
    ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
  target_include_directories(${name} SYSTEM PRIVATE ${includes})
  target_compile_definitions(${name} PRIVATE _GNU_SOURCE) # cpu_set_t
  target_link_libraries(${name} PRIVATE ${words})
  set_target_properties(${name} PROPERTIES PREFIX "" # beside the tool, which looks for it there
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tools)
  if(SSM2D_INSTALL)
    install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/ssm2d)
  endif()
endfunction()

if(SSM2D_MPI AND NOT CMAKE_CROSSCOMPILING)
  if(SSM2D_MPICC_OPENMPI)
    ssm2d_mpi_module(ssm2d_mpi_openmpi ${SSM2D_MPICC_OPENMPI})
  endif()
  if(SSM2D_MPICC_MPICH)
    ssm2d_mpi_module(ssm2d_mpi_mpich ${SSM2D_MPICC_MPICH})
  endif()
  if(SSM2D_MPICC AND NOT SSM2D_MPICC_OPENMPI AND NOT SSM2D_MPICC_MPICH)
    ssm2d_mpi_module(ssm2d_mpi ${SSM2D_MPICC})
  endif()
  if(NOT SSM2D_MPICC)
    message(STATUS "No mpicc (libopenmpi-dev or libmpich-dev): the tool runs in one process")
  endif()
endif()
