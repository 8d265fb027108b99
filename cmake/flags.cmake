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
