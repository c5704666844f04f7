// method_next(), method_range() and so on: the methods of methods.def, each in a file of methods/
// with what belongs to it. See Method.
#pragma once

#include "daemon/rpc/methods.h"

namespace seqd {

#define METHOD(name, right, reply)                                   \
  void method_##name(const MethodContext& context, Session& session, \
                     const protocol::Message& message);
#include "daemon/rpc/methods.def"
#undef METHOD

}  // namespace seqd
