// Turns answers into what seqctl prints. Pure functions: any thread. The data of the daemon is not
// trusted: control characters are never printed as they are, and types are checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client-lib/seqctl/command_line.h"
#include "client-lib/seqd.h"

namespace seqd::seqctl {

// The JSON of a MessagePack value. A discarded value when the bytes are none that JSON can hold.
nlohmann::json from_message_pack(std::string_view bytes);

// One line, never an exception.
std::string to_json_line(const nlohmann::json& value);

// A member of an object: null when it is missing.
nlohmann::json member(const nlohmann::json& object, const char* key);
// A member for people: "-" when it is missing or nil.
std::string shown(const nlohmann::json& object, const char* key);
// Columns as wide as their widest cell, two spaces apart; the last one is not filled up.
std::string table(const std::vector<std::vector<std::string>>& rows);

// Control characters, those of C1 too, and bytes that are not UTF-8 become '?'.
std::string printable(std::string_view text);

// IDs one a line.
std::string ids_text(std::span<const seqd_run> runs);
// "first count step" a line.
std::string runs_text(std::span<const seqd_run> runs);
nlohmann::json runs_json(std::span<const seqd_run> runs);

// The answers of peek, list, status, reload, parse and advance for people, each ending with a
// newline.
std::string peek_text(const nlohmann::json& peek);
std::string list_text(const nlohmann::json& list);
std::string status_text(const nlohmann::json& status);
// Of an answer of list: name, store and error of each sequence that is stopped.
nlohmann::json stopped_sequences(const nlohmann::json& list);
// Of a row of list: whether the sequence inserts documents, so that it has no IDs of its own here.
bool inserts(const nlohmann::json& row);
// Whether no sequence is stopped and no store has an error; one that was not needed yet is waiting
// without one. `status` has `stopped`, too.
bool status_is_good(const nlohmann::json& status);
std::string reload_text(const nlohmann::json& reload);
std::string parsed_text(const nlohmann::json& parsed);
std::string advance_text(const nlohmann::json& next);
// What an advance would do, of the map that seqctl makes of its arguments and of peek.
std::string advance_preview_text(const nlohmann::json& preview);

// "3 d 4 h", "12 min 5 s", "850 ms": two units at most.
std::string duration_text(std::int64_t milliseconds);

// What goes to stderr, ending with a newline.
std::string error_text(Format format, std::string_view code, std::string_view text);

}  // namespace seqd::seqctl
