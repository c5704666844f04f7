#include "tests/sim/configuration/text_forms.h"

#include "daemon/core/text/id_template.h"

namespace seqd::sim {
namespace {

// No cipher, but a permutation all the same.
class ToyCipher final : public BlockCipher {
 public:
  void encrypt(CipherBlock& block) const override {
    std::uint32_t state = 1;
    for (int round = 0; round < 4; ++round) {
      for (std::uint8_t& byte : block) {
        state = (state ^ byte) * 0x01000193U + 0x9e3779b9U;
        byte = static_cast<std::uint8_t>(state >> 24);
      }
    }
  }
};

std::shared_ptr<const IdFormat> compile(const std::string& format) {
  IdTemplate form = read_template(format).value();
  IdKeys keys;
  if (form.scramble) keys.emplace(form.tells_key ? 1 : 0, std::make_shared<ToyCipher>());
  return std::make_shared<IdFormat>(std::move(form), nullptr, std::move(keys));
}

// Two of different numbers of digits may be alike.
std::string rival_of(std::string format) {
  const std::size_t number = format.find("{number");
  return format.insert(number, "1");
}

}  // namespace

TextForms::TextForms(const std::vector<std::string>& formats) {
  for (const std::string& format : formats) {
    family_.push_back({format, compile(format)});
    rivals_.push_back({rival_of(format), compile(rival_of(format))});
  }
}

const TextForms& TextForms::of(bool periods) {
  static const TextForms plain({"{number}", "A-{number:6}", "B{date:%Y%m%d%H%M%S}-{number}",
                                "C{number:5,base32}", "D{key}-{number:7,scramble}",
                                "E{number:8}{check:damm}"});
  static const TextForms dated({"{date:%Y%m%d%H%M%S}-{number}", "H{date:%Y%m%d%H%M%S}-{number:4}",
                                "I{number:5}/{date:%Y%m%d%H%M%S}"});
  return periods ? dated : plain;
}

void TextForms::set(std::size_t which, SequenceSettings& settings) const {
  settings.text.format = family_.at(which).format;
  settings.text.compiled = family_.at(which).compiled;
}

void TextForms::set_rival(std::size_t which, SequenceSettings& settings) const {
  settings.text.format = rivals_.at(which).format;
  settings.text.compiled = rivals_.at(which).compiled;
}

std::optional<ParsedId> TextForms::read(const std::string& name, std::string_view text) const {
  for (const Form& form : family_) {
    const Result<ParsedId> parsed = form.compiled->read(name, text);
    if (parsed.ok()) return *parsed;
  }
  return std::nullopt;
}

}  // namespace seqd::sim
