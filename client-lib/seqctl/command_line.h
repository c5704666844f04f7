// The arguments of seqctl, checked. Pure: no I/O, no globals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace seqd::seqctl {

enum class Command : std::uint8_t {
  next,
  range,
  peek,
  list,
  status,
  ping,
  reload,
  wait,
  gaps,
  explain,
  audit,
  advance,
  drain,
  decommission,
  purge,
  parse,
  insert,
  assign,
  confirm,
  cancel,
  records,
  settle,
  close,
  health,
  stat,
  latency,
  top,
  doctor,
  clients,
  rights,
  watch,
  config_dump
};
// It continues until it is interrupted, and reports a request without a reply.
constexpr bool takes_samples(Command command) {
  return command == Command::stat || command == Command::latency || command == Command::top ||
         command == Command::watch;
}

enum class Format : std::uint8_t { text, json };

struct Arguments {
  Command command = Command::ping;
  std::string name;  // of the sequence
  bool all = false;  // of drain and advance: every sequence, and no name
  bool yes = false;  // of advance, drain, decommission, purge and close: do it
  bool keep_history = false;
  bool remove = false;      // of drain: the daemon forgets the sequence
  std::string store;        // of advance with `all`: whose sequences
  bool resume = false;      // of the same: they continue
  bool everywhere = false;  // of advance: what is available is withdrawn, too
  std::int64_t count = 1;   // of next and range
  bool as_text = false;     // of next
  std::string unique;       // of insert: the field; empty: none
  // Of parse; of explain, unless it is `id`; of insert: the document, empty: on standard input; of
  // assign, confirm and cancel: the key; of settle: the file, "-": standard input.
  std::string text;
  std::string reason;         // of cancel
  std::string state;          // of register: only such; empty: all
  bool csv = false;           // of register
  bool message_pack = false;  // of insert: the document is MessagePack
  std::int64_t gaps = 100;    // at most so many
  // Of explain; of advance, none: above all that was leased; of confirm and cancel: the number.
  std::optional<std::int64_t> id;
  std::int64_t after = 0;          // of gaps: the number of one
  bool ready = false;              // of health; also where neither is given
  bool live = false;               // of health
  std::vector<std::string> names;  // of watch and rights
  // Of the commands that take samples: stat, latency, top and watch.
  std::int64_t interval_ms = 0;  // 0: the default of the command; never after parse_command_line()
  std::int64_t samples = 0;      // 0: unlimited, or the default of the command
  std::int64_t rows = 0;         // of top: at most so many; the same
  std::string state_dir;         // of doctor; empty: to be found
  std::string witness_dir;
  std::string socket;  // empty: $SEQD_SOCKET, then /run/seqd.sock
  std::int64_t timeout_ms = 5'000;
  bool timeout_is_given = false;
  Format format = Format::text;
};

struct Parsed {
  // Otherwise `text` is to be printed (to stderr, when `exit_code` is not 0) and that is all.
  bool runs = false;
  Arguments arguments;
  std::string text;
  int exit_code = 0;
};

Parsed parse_command_line(int argc, const char* const* argv, const char* version);

}  // namespace seqd::seqctl
