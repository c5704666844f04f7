// The version of seqd: of both programs, the library and the packages. It stands nowhere else in
// the code; the Makefile reads it here, and `make lint` compares what is written elsewhere.
#pragma once

#define SEQD_VERSION "0.2.0"
