// The same for the tests beside the code, which all include Catch2: its header alone takes three
// seconds a test.
#include "packaging/make/precompiled/common.h"

#include <catch2/catch.hpp>
