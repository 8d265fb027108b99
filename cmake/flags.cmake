# One set of flags for every target. Bit-identical results are a promise: no fast-math, no implicit
# contraction, and per-instruction-set files differ only in the width of the registers they use.
add_library(kn_flags INTERFACE)
target_compile_options(kn_flags INTERFACE -Wall -Wextra -Wshadow -Wpointer-arith -Wcast-qual
  -Wno-psabi -ffp-contract=off -fno-math-errno -fno-trapping-math
  $<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes -Wmissing-prototypes -Wvla>)
# Clearing a structure of some hundred bytes by `rep stos` takes longer than by plain stores: 7 % of a step of three
# links. GCC only.
set(KN_PLAIN_STORES "-mmemset-strategy=vector_loop:1024:noalign,libcall:-1:noalign")
include(CheckCCompilerFlag)
check_c_compiler_flag("${KN_PLAIN_STORES}" KN_HAS_PLAIN_STORES)
if(KN_HAS_PLAIN_STORES)
  target_compile_options(kn_flags INTERFACE "$<$<COMPILE_LANGUAGE:C>:${KN_PLAIN_STORES}>")
endif()
if(KN_WERROR)
  target_compile_options(kn_flags INTERFACE -Werror)
endif()
if(KN_SANITIZE)
  target_compile_options(kn_flags INTERFACE -fsanitize=${KN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(kn_flags INTERFACE -fsanitize=${KN_SANITIZE})
endif()

if(KN_FUZZ)
  target_compile_options(kn_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Files named *_avx2.c and *_avx512.c are compiled for that instruction set and reached by run-time
# dispatch only (src/base/cpu.h). Elsewhere than x86-64 they must compile to nothing.
function(kn_isa_flags)
  if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    return()
  endif()
  foreach(file ${ARGN})
    if(file MATCHES "dynamics/kernel_") # straight-line code for 3-vectors: pairing its scalars only adds moves
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS "-fno-tree-slp-vectorize")
    endif()
    if(KN_FUZZ AND file MATCHES "pair_list_(base|avx)") # address checks only: with the others clang takes ten minutes
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS "-fno-sanitize=undefined")
    endif()
    if(file MATCHES "dynamics/(kernel|batch)_avx512" AND CMAKE_C_COMPILER_ID STREQUAL "GNU") # 32 registers: order before they are given out, 3 to 5 % faster
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS "-fschedule-insns;-fsched-pressure")
    endif()
    if(file MATCHES "_avx2\\.c$")
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS "-mavx2;-mbmi2")
    elseif(file MATCHES "_avx512\\.c$")
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS
        "-mavx2;-mbmi2;-mavx512f;-mavx512vl;-mavx512dq;-mavx512bw;-mprefer-vector-width=512")
    endif()
  endforeach()
endfunction()
