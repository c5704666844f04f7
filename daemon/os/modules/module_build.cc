// A part of the program and of each module.
#include "daemon/os/modules/module_build.h"

// The makefile defines it by the headers; linters and fuzzers load no module.
#ifndef SEQD_MODULE_BUILD
#define SEQD_MODULE_BUILD "none"
#endif

const char seqd_module_build[] = SEQD_MODULE_BUILD;

namespace seqd {

std::string_view module_build() {
  return seqd_module_build;
}

}  // namespace seqd
