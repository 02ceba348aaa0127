# The convolution and its transforms, for each element type; transforms against FFTW as well, if it
# is installed for the target machine.
if(NOT SSM2D_PLAIN_TESTS)
  pkg_check_modules(FFTW IMPORTED_TARGET fftw3)
endif()
foreach(real FLOAT DOUBLE)
  foreach(test fft conv)
    string(TOLOWER ${test}_${real} name)
    add_executable(test_${name} test_${test}.c)
    target_compile_definitions(test_${name}
      PRIVATE REAL_IS_${real} $<$<BOOL:${FFTW_FOUND}>:WITH_FFTW>)
    target_include_directories(test_${name}
      PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(test_${name} PRIVATE test_frame ssm2d_objects)
    if(FFTW_FOUND)
      target_link_libraries(test_${name} PRIVATE PkgConfig::FFTW)
    endif()
    add_test(NAME ${name} COMMAND test_${name})
    set_tests_properties(${name} PROPERTIES LABELS layer TIMEOUT ${timeout})
  endforeach()
endforeach()
