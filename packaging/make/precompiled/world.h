// The same in a build with a sanitizer, which is mostly made from nothing: with what most tests of
// the core and of the methods stand on, it takes half of the time.
#include "packaging/make/precompiled/test.h"

#include "tests/unit/core_daemon.h"
#include "tests/unit/idle_host.h"
#include "tests/unit/orders.h"
#include "tests/unit/rpc_world.h"
#include "tests/unit/running.h"
#include "tests/unit/service.h"
#include "tests/unit/starting.h"
