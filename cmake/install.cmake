# What `cmake --install` puts where: the headers, the libraries, the tool, how pkg-config and
# find_package find them, and documents. Man pages and completions: tools/CMakeLists.txt.
include(CMakePackageConfigHelpers)

install(TARGETS ssm2d ssm2d_static EXPORT ssm2dTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ssm2d)
if(SSM2D_MODEL)
  install(TARGETS ssm2d_model ssm2d_model_static EXPORT ssm2dModelTargets
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
  install(EXPORT ssm2dModelTargets NAMESPACE ssm2d:: DESTINATION ${package_dir})
endif()
install(EXPORT ssm2dTargets NAMESPACE ssm2d:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/ssm2dConfig.cmake.in
  ${PROJECT_BINARY_DIR}/ssm2dConfig.cmake
  INSTALL_DESTINATION ${package_dir} NO_SET_AND_CHECK_MACRO)
# Before 1.0 every minor version may change the interface; the name of the shared library says the
# same (src/CMakeLists.txt).
write_basic_package_version_file(${PROJECT_BINARY_DIR}/ssm2dConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${PROJECT_BINARY_DIR}/ssm2dConfig.cmake ${PROJECT_BINARY_DIR}/ssm2dConfigVersion.cmake
  DESTINATION ${package_dir})

# Paths from the .pc file's own place, so that `cmake --install --prefix` and a tree that is moved
# stay right.
file(RELATIVE_PATH pc_prefix ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
file(RELATIVE_PATH pc_libdir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_LIBDIR})
file(RELATIVE_PATH pc_includedir ${CMAKE_INSTALL_PREFIX} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
configure_file(${CMAKE_CURRENT_LIST_DIR}/ssm2d.pc.in ${PROJECT_BINARY_DIR}/ssm2d.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/ssm2d.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(SSM2D_MODEL)
  list(TRANSFORM SSM2D_MODEL_LIBS PREPEND -l OUTPUT_VARIABLE pc_model_libs)
  list(JOIN pc_model_libs " " pc_model_libs)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/ssm2d-model.pc.in ${PROJECT_BINARY_DIR}/ssm2d-model.pc
    @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/ssm2d-model.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()

# The documents, and what they link to, at the same places from each other as in this tree.
install(FILES LICENSE README.md CHANGELOG.md CITATION.cff CONTRIBUTING.md
  DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY bench/results DESTINATION ${CMAKE_INSTALL_DOCDIR}/bench)
