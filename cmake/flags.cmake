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
  if(KN_SANITIZE STREQUAL memory)
    target_compile_options(kn_flags INTERFACE -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/msan.ignore)
  endif()
  find_program(KN_GOLD ld.gold) # two hundred large programs are linked: half the time of ld
  if(KN_GOLD)
    target_link_options(kn_flags INTERFACE -fuse-ld=gold)
  endif()
endif()

if(KN_FUZZ)
  target_compile_options(kn_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# Hardening (test/install/hardening.sh looks at the binaries). Sanitizers bring their own checks of memory and do not go
# with FORTIFY. All layers have it, kernels too: 0.4 % of the instructions of a humanoid's step, 1.1 % of three links'.
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
if(NOT KN_SANITIZE)
  target_compile_options(kn_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-fstack-protector-strong>)
  target_compile_definitions(kn_flags INTERFACE $<$<NOT:$<CONFIG:Debug>>:_FORTIFY_SOURCE=2>)
  target_link_options(kn_flags INTERFACE -Wl,-z,relro,-z,now,-z,noexecstack)
endif()
