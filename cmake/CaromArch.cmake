# CAROM_ARCH: the value of -march=. The bits of results depend on this value, but never differ between runs.

set(default_arch "")
if(EXISTS /proc/cpuinfo)
  file(STRINGS /proc/cpuinfo flags REGEX "^flags" LIMIT_COUNT 1)
  if(flags MATCHES " avx2( |$)" AND flags MATCHES " fma( |$)" AND flags MATCHES " bmi2( |$)")
    set(default_arch "x86-64-v3")
  endif()
endif()
set(CAROM_ARCH "${default_arch}" CACHE STRING "instruction set, passed as -march=; empty for the compiler's default")
