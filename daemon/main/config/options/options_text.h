// The documentation of the options, made from the table: the help text, the manual pages' lists and
// the sample file. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>

namespace seqd {

// See OptionUse.
enum class OptionSet : std::uint8_t { basic, all };

// "limits.max_count  an integer from 1 to 10000000 [100000]": for `seqd --help`.
std::string options_help(OptionSet which);
// The list of options of seqd.toml(5), in scdoc's language: the basic ones, and ADVANCED OPTIONS.
std::string options_scdoc();
// packaging/seqd.toml: every option with its default, commented out.
std::string options_sample();
// The table of errors of seqd(8), in scdoc's language.
std::string errors_scdoc();

}  // namespace seqd
