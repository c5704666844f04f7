// TextForms: the formats that a sequence may have in one world. Those of one family never write one
// text for two numbers, so any host may change from one to another at any time; and each has a
// rival, of which the daemon has to refuse every text where it knows the other. Constant; one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/core/settings/sequence_settings.h"
#include "daemon/core/text/id_format.h"

namespace seqd::sim {

class TextForms {
 public:
  // Those of a sequence with periods tell the second, too.
  static const TextForms& of(bool periods);

  std::size_t size() const { return family_.size(); }
  void set(std::size_t which, SequenceSettings& settings) const;
  void set_rival(std::size_t which, SequenceSettings& settings) const;

  // What a text of the sequence `name` says, in whichever form of the family it is; nothing: none.
  std::optional<ParsedId> read(const std::string& name, std::string_view text) const;

 private:
  struct Form {
    std::string format;
    std::shared_ptr<const IdFormat> compiled;
  };
  explicit TextForms(const std::vector<std::string>& formats);

  std::vector<Form> family_;
  std::vector<Form> rivals_;
};

}  // namespace seqd::sim
