// Where secrets may be sent: the addresses that an environment names. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "daemon/base/status.h"

namespace seqd {

// UNAVAILABLE unless `url` is https://HOST[:PORT][/PATH], or the same with http and a host by which
// nothing leaves this host or its hypervisor: localhost, 127.0.0.0/8, [::1], and the link-local
// addresses at which containers (169.254.170.2, 169.254.170.23, [fd00:ec2::23]) and instances
// (169.254.169.254, [fd00:ec2::254]) are served. No other host in the clear, as with Amazon's own
// libraries; nor is a name looked up to see where it leads.
Status check_aws_address(std::string_view url);

// OK: may stand in a header or a path, in one line without a space.
bool is_one_word(std::string_view text);

// As a value of a form (application/x-www-form-urlencoded).
std::string form_encoded(std::string_view text);

// "eu-central-1": letters in lower case, digits and hyphens, at most 40.
bool is_aws_region(std::string_view region);
// Of the region: "amazonaws.com", and that of China.
std::string aws_domain_of(std::string_view region);

}  // namespace seqd
