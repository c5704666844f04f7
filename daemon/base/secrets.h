// What keeps secrets out of texts that people read: the journal, errors, dumps of the
// configuration. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace seqd {

inline constexpr std::string_view kHidden = "***";

// "SCHEME://HOSTS/PATH" of a connection string, with "***@" in place of user and password, also
// where those were not percent-encoded. From where it may be a password on, just "***": no scheme,
// or a user and a password without an "@". What follows "?" is left out.
std::string masked_address(std::string_view uri);

// Whether an option of that name ("tlsCertificateKeyFilePassword", "AWS_SESSION_TOKEN") is a
// secret, by the words in it.
bool is_named_secret(std::string_view name);

// `text` with "***" in place of each of `secrets`; empty ones are ignored.
std::string hide(std::string text, const std::vector<std::string>& secrets);

// "%41" is "A"; other text is unchanged.
std::string percent_decoded(std::string_view text);

}  // namespace seqd
