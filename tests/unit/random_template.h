// Templates of readable IDs for property tests: any that read_template() takes, with everything
// that a template can have. Only with RapidCheck's rc::check().
#pragma once

#include <string>

namespace seqd {

// `scrambles`: it may ask for a scramble.
std::string random_template(bool scrambles);

}  // namespace seqd
