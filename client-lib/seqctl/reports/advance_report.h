// What `seqctl advance --all` would do and did, for people. Pure.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace seqd::seqctl {

// Of the answer of `list`: the sequences of the store, and the IDs that are available of them.
nlohmann::json advance_all_preview(const nlohmann::json& list, const std::string& store,
                                   bool resume);
std::string advance_all_preview_text(const nlohmann::json& preview);

// The answer of `advance_store`.
std::string advance_all_text(const nlohmann::json& answer);

}  // namespace seqd::seqctl
