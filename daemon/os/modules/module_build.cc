// A part of the program and of each module.
#include "daemon/os/modules/module_build.h"

// The makefile says it, by the headers; linters and fuzzers load no module.
#ifndef SEQD_MODULE_BUILD
#define SEQD_MODULE_BUILD "none"
#endif

// An ELF note: the sizes of owner and text, a type, owner and text. Only the assembler can say that
// a section is one.
asm(".pushsection .note.seqd, \"a\", %note\n"
    ".balign 4\n"
    ".long 2f - 1f, 4f - 3f, 1\n"
    "1: .asciz \"seqd\"\n"
    "2: .balign 4\n"
    "3: .asciz \"" SEQD_MODULE_BUILD
    "\"\n"
    "4: .balign 4\n"
    ".popsection\n");

namespace seqd {

std::string_view module_build() {
  return SEQD_MODULE_BUILD;
}

}  // namespace seqd
