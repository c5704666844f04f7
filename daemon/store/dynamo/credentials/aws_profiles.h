// The shared files of Amazon's tools, ~/.aws/credentials and ~/.aws/config: profiles in brackets,
// each with properties. Pure; any thread. Unknown properties are ignored.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace seqd {

enum class AwsFile : std::uint8_t {
  credentials,  // [NAME]
  config,       // [profile NAME], and [default]
};

// Property and value; a property that stands there twice has the last value.
using AwsProfile = std::map<std::string, std::string>;

// None: the file has no such profile.
std::optional<AwsProfile> find_aws_profile(std::string_view text, AwsFile file,
                                           const std::string& profile);

// The value; empty where there is none.
std::string aws_property(const AwsProfile& profile, const std::string& name);

// Where one of the files is.
struct AwsFilePlace {
  std::string path;    // empty: nowhere, as there is no HOME
  bool named = false;  // by the environment; else it need not be there
};
AwsFilePlace aws_file_place(const std::function<std::string(const char*)>& environment,
                            AwsFile file);

}  // namespace seqd
