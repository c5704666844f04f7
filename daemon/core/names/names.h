// Names: what the log has of base names for longer than their sequences are kept: the forms of
// their texts, their newest period, and the periods that were forgotten (DefineName); and which
// period is the present one; and what it has of registers. Most names have one sequence, their own,
// and nothing more is known of them: such a name is plain, and has no record here. Instants are
// seconds since 1970. Owned by the SequenceTable; loop thread.
//
// Invariant: the log has every name that has a record, and every plain one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/log/name_entry.h"
#include "daemon/core/log/remainder_log.h"
#include "daemon/core/names/current_periods.h"
#include "daemon/core/names/known_registers.h"
#include "daemon/core/settings/sequence_settings.h"

namespace seqd {

class Names {
 public:
  // The log outlives it.
  explicit Names(RemainderLog& log) : log_(log), registers_(log) {}

  // --- at a start. `own`: a sequence has this very name
  void restore(const DefineName& known, bool own);

  // --- what is known
  // Null: the name is plain, or not in use.
  const DefineName* find(std::string_view base) const;
  // Of a sequence that is not of a period: whether the log has its name, and no more of that.
  bool is_plain(std::string_view name) const;
  // The record of a name that is in use, or is to be; made, and written to the log, where the log
  // has nothing of the name. `own`: a sequence has this very name.
  const DefineName& record_for(std::string_view base, bool own);
  // Its own sequence was made: a record that has no more than the name is not needed.
  void settle(std::string_view name);
  // Its last sequence is gone. Returns the forms of its texts.
  std::vector<std::string> forget(std::string_view base);

  // --- periods; what changes a record is for a name that has one
  CurrentPeriods& periods() { return periods_; }
  const CurrentPeriods& periods() const { return periods_; }
  // A period is in use. One that was advanced before it begins is not, and those before it are.
  void note_begun(std::string_view base, const PeriodSettings& period, std::int64_t now_s);
  // The clock was ahead when later periods than that one were begun.
  void set_back(std::string_view base, std::int64_t begin_s);
  void add_forgotten_period(std::string_view base, PeriodSpan span);
  // Of the name of a period that has no sequence: whether it was used here.
  bool has_forgotten(std::string_view name) const;

  KnownRegisters& registers() { return registers_; }

  // --- texts
  // No text may leave in the form before is_durable().
  void add_form(std::string_view base, const std::string& form);
  // Whether all forms of it are on the medium.
  bool is_durable(std::string_view base) const { return !forms_durable_at_.contains(base); }
  // Whether a text in the form of the settings cannot be that of another ID. SEQ_CHANGED, CONFIG.
  Status check_text(std::string_view name, const SequenceSettings& settings) const;
  // Whether these settings write what was issued in that form of the name. SEQ_CHANGED.
  Status check_repeat(std::string_view name, const SequenceSettings& settings, TextForm form) const;

  void durable(LogPosition position);
  // The records, in the order of their names, then the registers.
  void snapshot(const std::function<void(const LogEntry&)>& entry) const;

 private:
  DefineName& existing_record(std::string_view base);

  RemainderLog& log_;
  CurrentPeriods periods_;
  KnownRegisters registers_;
  std::map<std::string, DefineName, std::less<>> records_;
  std::map<std::string, LogPosition, std::less<>> forms_durable_at_;  // of what is not yet
};

}  // namespace seqd
