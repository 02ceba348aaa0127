# How SIMD bodies are compiled (src/simd, src/ops/simd).
include(CheckCCompilerFlag)
include(CheckCSourceCompiles)

# Register blocking needs unrolling in every build type, and no loads carried over in registers it
# has not got; instrumented by a sanitizer, the unrolled bodies would take minutes to compile.
function(ssm2d_simd_target name)
  if(SSM2D_FUZZ) # it is the readers that are fuzzed; clang takes minutes to sanitize these bodies
    target_compile_options(${name} PRIVATE -O1 -fno-sanitize=all)
  elseif(SSM2D_SANITIZE)
    # The fake stack on which the address sanitizer looks for uses after return, by default from gcc
    # 13 on, does not align vectors of 64 bytes: storing one would be a segmentation fault. These
    # bodies do without it; everything else keeps it.
    target_compile_options(${name} PRIVATE -O1
      $<$<C_COMPILER_ID:GNU>:--param=asan-use-after-return=0>)
  else()
    target_compile_options(${name} PRIVATE
      -O3 $<$<C_COMPILER_ID:GNU>:-fno-predictive-commoning>)
  endif()
endfunction()

# ssm2d_simd_files(RESULT BASELINE AVX2 AVX512): the files with the bodies of every instruction set
# that the processor's architecture has; the compiler is told of those that it must be told of.
# WebAssembly has no choice at run time: a module with one instruction that the browser does not
# know is refused as a whole. js/ compiles these files, for a module with SIMD128 and one without.
function(ssm2d_simd_files result baseline avx2 avx512)
  if(EMSCRIPTEN)
    set_property(GLOBAL APPEND PROPERTY SSM2D_WASM_BODIES ${CMAKE_CURRENT_SOURCE_DIR}/${baseline})
    set(${result} PARENT_SCOPE)
    return()
  endif()
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(${result} ${baseline} PARENT_SCOPE)
    return()
  endif()
  set(${result} ${baseline} ${avx2} ${avx512} PARENT_SCOPE)
  set_source_files_properties(${avx2} PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma")
  if(SSM2D_EMULATE_AVX512)
    set_source_files_properties(${avx512} PROPERTIES COMPILE_OPTIONS "-Wno-psabi")
  else()
    set(flags -mavx512f -mavx512dq -mavx512vl -mavx512bw -mfma -mprefer-vector-width=512)
    set_source_files_properties(${avx512} PROPERTIES COMPILE_OPTIONS "${flags}")
  endif()
endfunction()

# ssm2d_vnni_files(RESULT AVX2 AVX512): the files for AVX2 and AVX-512 with VNNI if the compiler has
# both, else none.
function(ssm2d_vnni_files result avx2 avx512)
  check_c_compiler_flag(-mavxvnni HAVE_AVXVNNI_FLAG)
  check_c_compiler_flag(-mavx512vnni HAVE_AVX512VNNI_FLAG)
  set(${result} PARENT_SCOPE)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND HAVE_AVXVNNI_FLAG
      AND HAVE_AVX512VNNI_FLAG AND NOT SSM2D_EMULATE_AVX512)
    set_source_files_properties(${avx2} PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mavxvnni")
    set(flags -mavx512f -mavx512dq -mavx512vl -mavx512bw -mavx512vnni -mfma
      -mprefer-vector-width=512)
    set_source_files_properties(${avx512} PROPERTIES COMPILE_OPTIONS "${flags}")
    set(${result} ${avx2} ${avx512} PARENT_SCOPE)
  endif()
endfunction()

# ssm2d_avx512bf16_files(RESULT FILES..): the files for AVX-512 with BF16 if the compiler has it,
# else none.
function(ssm2d_avx512bf16_files result)
  check_c_compiler_flag(-mavx512bf16 HAVE_AVX512BF16_FLAG)
  set(${result} PARENT_SCOPE)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND HAVE_AVX512BF16_FLAG
      AND NOT SSM2D_EMULATE_AVX512)
    set(flags -mavx512f -mavx512dq -mavx512vl -mavx512bw -mavx512bf16 -mfma
      -mprefer-vector-width=512)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${flags}")
    set(${result} ${ARGN} PARENT_SCOPE)
  endif()
endfunction()

# ssm2d_amx_files(RESULT FILES..): the files for AMX if compiler and assembler have it, else none.
function(ssm2d_amx_files result)
  set(CMAKE_REQUIRED_FLAGS "-mamx-tile -mamx-bf16 -mavx512bf16")
  check_c_source_compiles("#include <immintrin.h>
    int main(void) { _tile_dpbf16ps(0, 1, 2); return 0; }" HAVE_AMX_FLAGS)
  set(${result} PARENT_SCOPE)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND HAVE_AMX_FLAGS
      AND NOT SSM2D_EMULATE_AVX512)
    set(flags -mavx512f -mavx512dq -mavx512vl -mavx512bw -mavx512bf16 -mamx-tile -mamx-bf16 -mfma
      -mprefer-vector-width=512)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS "${flags}")
    set(${result} ${ARGN} PARENT_SCOPE)
  endif()
endfunction()
