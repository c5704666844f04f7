#include "daemon/main/config/options/options_text.h"

#include <array>

#include "daemon/main/config/options/options.h"

namespace seqd {
namespace {

constexpr std::array kErrors = {
#define X(code, fault, retry, meaning) ErrorCode::code,
#include "protocol/errors.def"
#undef X
};

std::string name_of(const OptionInfo& option) {
  return std::string(option_table_name(option.table)).append(".").append(option.key);
}

// The default as it would stand in the file; empty when there is none.
template <typename Settings>
std::string default_text(const Option<Settings>& option) {
  static const Settings defaults = default_settings<Settings>();
  if (option.fallback.empty() && option.type != OptionType::users) return {};
  return format_option(option, option.read(defaults));
}

template <typename Visit>
void each_table(const Visit& visit) {
  visit(options<DaemonSettings>());
  visit(options<Limits>());
  visit(options<StoreSettings>());
  visit(options<SequenceSettings>());
}

// The description as a sentence of its own.
std::string sentence(std::string_view description) {
  std::string out(description);
  if (out[0] >= 'a' && out[0] <= 'z' && out.find(": ") > 10)
    out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out.append(".");
}

std::string_view reload_text(OptionReload reload) {
  return reload == OptionReload::live ? "A reload applies it." : "It needs a restart.";
}

// Escapes the characters of TOML text that have a meaning in scdoc.
std::string scdoc_escape(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '_' || c == '*' || c == '\\' || c == '#') out.push_back('\\');
    out.push_back(c);
  }
  return out;
}

// Breaks text into lines of at most `width`, each behind `prefix`.
std::string wrapped(std::string_view text, std::string_view prefix, std::size_t width) {
  std::string out;
  std::string line(prefix);
  bool fresh = true;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    if (!fresh && line.size() + 1 + word.size() > width) {
      out.append(line).append("\n");
      line = prefix;
      fresh = true;
    }
    if (!fresh) line.push_back(' ');
    line.append(word);
    fresh = false;
    text = space == std::string_view::npos ? std::string_view() : text.substr(space + 1);
  }
  return out.append(line).append("\n");
}

std::string_view table_introduction(OptionTable table) {
  switch (table) {
    case OptionTable::daemon:
      return "The daemon itself.";
    case OptionTable::limits:
      return "A limit on everything that a client can make grow. Exceeding one is an error with a "
             "name.";
    case OptionTable::store:
      return "A store: a database with counters. Each has a table, as [store.central]. Without any "
             "there is one store, \"default\", of type sqlite.";
    case OptionTable::sequence:
      return "A sequence, by name or by pattern (* any text, ? one character). Its own table takes "
             "precedence over patterns, a longer pattern over a shorter one; one table applies, on "
             "top of [sequence_defaults], which holds the same options for all sequences.";
  }
  return {};
}

// The header of a table in the sample: one that can be used as it is.
std::string_view sample_header(OptionTable table) {
  switch (table) {
    case OptionTable::daemon:
      return "[daemon]";
    case OptionTable::limits:
      return "[limits]";
    case OptionTable::store:
      return "#[store.default]";
    case OptionTable::sequence:
      return "[sequence_defaults]";
  }
  return {};
}

// One entry of seqd.toml(5).
template <typename Settings>
std::string scdoc_entry(const Option<Settings>& option) {
  const std::string fallback = default_text(option);
  std::string out = "*" + scdoc_escape(option.key) + "*\n\t";
  out.append(scdoc_escape(sentence(option.description)));
  out.append(" Allowed: ").append(scdoc_escape(allowed_values(option))).append(".");
  if (!fallback.empty()) out.append(" Default: ").append(scdoc_escape(fallback)).append(".");
  return out.append(" ").append(reload_text(option.reload)).append("\n\n");
}

// Appends the options of that use, by their tables. The first heading of a table has its
// introduction.
void append_scdoc(std::string& out, OptionUse use) {
  each_table([&out, use](const auto& table) {
    std::string entries;
    for (const auto& option : table) {
      if (option.use == use) entries.append(scdoc_entry(option));
    }
    if (entries.empty()) return;
    const OptionTable which = table.front().table;
    out.append("## [" + std::string(option_table_name(which)) + "]\n\n");
    const std::string introduction = scdoc_escape(table_introduction(which)) + "\n\n";
    if (out.find(introduction) == std::string::npos) out.append(introduction);
    out.append(entries);
  });
}

}  // namespace

std::string options_help(OptionSet which) {
  std::string out;
  each_table([&out, which](const auto& table) {
    for (const auto& option : table) {
      if (which == OptionSet::basic && option.use != OptionUse::basic) continue;
      const std::string fallback = default_text(option);
      out.append("  ").append(name_of(option)).append("\n");
      out.append("      ").append(allowed_values(option));
      out.append(fallback.empty() ? "\n" : " [" + fallback + "]\n");
      out.append(wrapped(option.description, "      ", 100));
    }
  });
  return out;
}

std::string options_scdoc() {
  std::string out = "The basic options; ADVANCED OPTIONS has the others.\n\n";
  append_scdoc(out, OptionUse::basic);
  out.append("# ADVANCED OPTIONS\n\nThe defaults of these options suit almost all hosts.\n\n");
  append_scdoc(out, OptionUse::advanced);
  return out;
}

std::string options_sample() {
  std::string out =
      "# seqd.toml: the configuration of seqd, with every option at its default. See "
      "seqd.toml(5).\n# `seqd --check --config FILE` checks it; `systemctl reload seqd` applies "
      "the options that need no restart.\n# This file is made from the table of options (`make "
      "sample`).\n";
  each_table([&out](const auto& table) {
    const OptionTable which = table.front().table;
    out.append("\n").append(wrapped(table_introduction(which), "# ", 100));
    out.append(sample_header(which)).append("\n");
    for (const auto& option : table) {
      const std::string fallback = default_text(option);
      out.append("\n").append(wrapped(sentence(option.description), "# ", 100));
      out.append(wrapped(
          "Allowed: " + allowed_values(option) + ". " + std::string(reload_text(option.reload)),
          "# ", 100));
      out.append("#").append(option.key).append(" = ");
      out.append(fallback.empty() ? "\"\"" : fallback).append("\n");
    }
  });
  return out.append(
      "\n# A sequence whose counter other programs use too:\n"
      "#[sequence.\"orders\"]\n"
      "#collection = \"counters\"\n"
      "#counter_field = \"seq\"\n"
      "#meaning = \"last\"\n"
      "\n# All sequences of a kind:\n"
      "#[sequence.\"tenant-*\"]\n"
      "#lease_max = 1000\n");
}

std::string errors_scdoc() {
  std::string out;
  for (const ErrorCode code : kErrors) {
    const ErrorInfo& error = error_info(code);
    out.append("*").append(scdoc_escape(error.name)).append("*\n\t");
    out.append(scdoc_escape(error.meaning)).append(". ");
    out.append(error.fault == Fault::caller ? "Caused by the caller."
                                            : "Not caused by the caller.");
    out.append(error.retry == Retry::again ? " The same request may succeed later.\n\n" : "\n\n");
  }
  return out;
}

}  // namespace seqd
