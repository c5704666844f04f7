#include "daemon/state/log_format.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

constexpr std::size_t kinds = std::variant_size_v<LogEntry>;
static_assert(kinds == 26, "a new kind needs fields() below and a line in LOG-FORMAT.md");

// The fields of every kind in their order on disk, once for both directions. `Visitor` has
// number(), end(), token(), text() and choice(); end() is a range's end, stored as the distance
// from `begin`.
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<DefineScope>) {
  v.number(e.scope);
  v.text(e.store);
  v.token(e.instance);
  v.number(e.epoch);
  v.choice(e.state, ScopeState::owned);
  v.token(e.nonce);
}
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<DefineSequence>) {
  v.number(e.sequence);
  v.number(e.scope);
  v.text(e.name);
  v.text(e.binding);
  v.number(e.high_water);
}
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<LeaseIntended>) {
  v.number(e.sequence);
  v.token(e.lease);
  v.number(e.count);
  v.number(e.wall_ms);
}
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<LeaseGranted>) {
  v.number(e.sequence);
  v.token(e.lease);
  v.number(e.begin);
  v.end(e.begin, e.end);
  v.number(e.wall_ms);
}
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<LeaseClosed>) {
  v.number(e.sequence);
  v.token(e.lease);
  v.choice(e.how, LeaseEnd::untraceable);
  v.number(e.wall_ms);
}
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<Reserved>) {
  v.number(e.sequence);
  v.number(e.end);
}
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<Issued>) {
  v.number(e.sequence);
  v.number(e.begin);
  v.end(e.begin, e.end);
  v.number(e.client);
  v.number(e.request);
  v.choice(e.kind, IssueKind::text);
  if (e.kind != IssueKind::text) return;
  v.number(e.wall_s);
  v.number(e.form);
}
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<DefineClient>) {
  v.number(e.client);
  v.token(e.identity);
}
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<Acknowledged>) {
  v.number(e.client);
  v.number(e.below);
}
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<ForgetClient>) {
  v.number(e.client);
}
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<GapMade>) {
  v.number(e.sequence);
  v.number(e.begin);
  v.end(e.begin, e.end);
  v.choice(e.cause, kLastGapCause);
  v.number(e.wall_ms);
}
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<AvailableRange>) {
  v.number(e.sequence);
  v.token(e.lease);
  v.number(e.begin);
  v.end(e.begin, e.end);
  v.end(e.begin, e.reserved_end);
}
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<RetainedIssue>) {
  fields(v, e.issue, std::in_place_type<Issued>);
}
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<SequenceTotals>) {
  v.number(e.sequence);
  v.number(e.leased);
  v.number(e.issued);
  v.number(e.returned);
  v.number(e.gaps);
  v.number(e.unknown);
}
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<NextNumbers>) {
  v.number(e.sequence);
  v.number(e.scope);
  v.number(e.client);
}

template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<ReturnOpened>) {
  v.number(e.sequence);
  v.token(e.token);
  v.number(e.begin);
  v.end(e.begin, e.end);
  v.choice(e.reuse, Reuse::parked);
  v.number(e.wall_ms);
}
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<ReturnClosed>) {
  v.number(e.sequence);
  v.token(e.token);
  v.choice(e.how, ReturnEnd::kept);
  v.choice(e.cause, kLastGapCause);
  v.number(e.wall_ms);
}
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<UsedBelow>) {
  v.number(e.sequence);
  v.number(e.end);
}
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<ForgetSequence>) {
  v.number(e.sequence);
}
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<StoreBound>) {
  v.number(e.scope);
  v.token(e.identity);
  v.text(e.place);
}

template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<StoreHeartbeat>) {
  v.number(e.scope);
  v.token(e.instance);
  v.number(e.beat);
  v.choice(e.age, StoreAge::replaced);
}

template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<DefineName>) {
  v.text(e.name);
  v.number(e.newest_s);
  v.list(e.forgotten, DefineName::kMostForgotten, [](V& each, auto& span) {
    each.number(span.begin_s);
    each.end(span.begin_s, span.end_s);
    each.number(span.high_water);
  });
  v.list(e.forms, DefineName::kMostForms, [](V& each, auto& form) { each.text(form); });
}

template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<ClientUser>) {
  v.number(e.client);
  v.number(e.user);
}

template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<BlockGranted>) {
  v.number(e.sequence);
  v.number(e.client);
  v.number(e.slot);
  v.number(e.request);
  v.number(e.begin);
  v.end(e.begin, e.end);
}
template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<BlockEnded>) {
  v.number(e.sequence);
  v.number(e.client);
  v.number(e.slot);
  v.number(e.begin);
  v.end(e.begin, e.taken_end);
}

template <typename V>
void fields(V& v, auto& e, std::in_place_type_t<RegisterReached>) {
  v.number(e.scope);
  v.text(e.name);
  v.list(e.periods, RegisterReached::kMostPeriods, [](V& each, auto& reached) {
    each.text(reached.period);
    each.number(reached.number);
  });
}

// Collects in a small array, so that the vector grows once an entry.
class Writer {
 public:
  explicit Writer(std::vector<std::uint8_t>& out) : out_(out) {}

  void byte(std::uint8_t byte) { *end_++ = byte; }
  // A negative number is stored as its 64 bits: long, but nothing is lost.
  template <typename T>
  void number(T number) {
    end_ = encode_number(end_, static_cast<std::uint64_t>(number));
  }
  void end(std::int64_t begin, std::int64_t end) {
    number(static_cast<std::uint64_t>(end) - static_cast<std::uint64_t>(begin));
  }
  template <typename E>
  void choice(E value, E last) {
    ASSERT(value <= last);
    byte(static_cast<std::uint8_t>(value));
  }
  void token(const Token& token) { end_ = std::copy(token.begin(), token.end(), end_); }
  void text(const std::string& text) {
    ASSERT(text.size() <= max_string);
    number(text.size());
    flush();
    out_.insert(out_.end(), text.begin(), text.end());
  }
  template <typename List, typename Each>
  void list(const List& list, std::size_t most, const Each& each) {
    ASSERT(list.size() <= most);
    number(list.size());
    for (const auto& one : list) {
      flush();
      each(*this, one);
    }
  }
  void flush() {
    ASSERT(end_ <= bytes_.data() + bytes_.size());
    out_.insert(out_.end(), bytes_.data(), end_);
    end_ = bytes_.data();
  }

 private:
  std::vector<std::uint8_t>& out_;
  std::array<std::uint8_t, 96> bytes_;  // above the longest entry without its texts
  std::uint8_t* end_ = bytes_.data();
};

// Takes the fields from the front of a span; the first mistake stops it.
class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : left_(bytes) {}

  const char* mistake() const { return mistake_; }
  std::span<const std::uint8_t> left() const { return left_; }

  bool raw(std::uint64_t& number) {
    std::uint64_t sum = 0;
    for (unsigned at = 0; at < 10 && at < left_.size(); ++at) {
      const std::uint64_t bits = left_[at] & 0x7f;
      if (at == 9 && bits > 1) return false;
      sum |= bits << (7 * at);
      if (left_[at] < 0x80) {
        left_ = left_.subspan(at + 1);
        number = sum;
        return true;
      }
    }
    return false;
  }
  template <typename T>
  void number(T& number) {
    std::uint64_t value = 0;
    if (mistake_ != nullptr) return;
    if (!raw(value)) return fail("a number is cut off or longer than 64 bits");
    if constexpr (sizeof(T) < 8) {
      if (value > std::numeric_limits<T>::max()) return fail("a number is too large");
    }
    number = static_cast<T>(value);
  }
  void end(std::int64_t begin, std::int64_t& end) {
    std::uint64_t length = 0;
    number(length);
    end = static_cast<std::int64_t>(static_cast<std::uint64_t>(begin) + length);
  }
  template <typename E>
  void choice(E& value, E last) {
    std::uint8_t byte = 0;
    if (!take(&byte, 1)) return;
    if (byte > static_cast<std::uint8_t>(last)) return fail("a choice has an unknown value");
    value = static_cast<E>(byte);
  }
  void token(Token& token) { take(token.data(), token.size()); }
  void text(std::string& text) {
    std::uint64_t length = 0;
    number(length);
    if (mistake_ != nullptr) return;
    if (length > max_string || length > left_.size()) return fail("a text is cut off or too long");
    text.assign(left_.begin(), left_.begin() + static_cast<std::ptrdiff_t>(length));
    left_ = left_.subspan(static_cast<std::size_t>(length));
  }
  template <typename List, typename Each>
  void list(List& list, std::size_t most, const Each& each) {
    std::uint64_t length = 0;
    number(length);
    if (mistake_ != nullptr) return;
    if (length > most) return fail("a list is too long");
    list.resize(static_cast<std::size_t>(length));
    for (auto& one : list) each(*this, one);
  }
  bool take(std::uint8_t* into, std::size_t count) {
    if (mistake_ != nullptr) return false;
    if (left_.size() < count) {
      fail("an entry is cut off");
      return false;
    }
    std::copy_n(left_.begin(), count, into);
    left_ = left_.subspan(count);
    return true;
  }

 private:
  void fail(const char* what) {
    if (mistake_ == nullptr) mistake_ = what;
  }

  std::span<const std::uint8_t> left_;
  const char* mistake_ = nullptr;
};

template <std::size_t Kind = 0>
LogEntry read_kind(std::size_t kind, Reader& reader) {
  if constexpr (Kind + 1 < kinds) {
    if (kind != Kind) return read_kind<Kind + 1>(kind, reader);
  }
  using Entry = std::variant_alternative_t<Kind, LogEntry>;
  Entry entry;
  fields(reader, entry, std::in_place_type<Entry>);
  return entry;
}

}  // namespace

void encode_entry(std::vector<std::uint8_t>& out, const LogEntry& entry) {
  Writer writer(out);
  writer.byte(static_cast<std::uint8_t>(entry.index()));
  std::visit(
      [&writer](const auto& one) {
        fields(writer, one, std::in_place_type<std::remove_cvref_t<decltype(one)>>);
      },
      entry);
  writer.flush();
}

bool EntryReader::read_number(std::uint64_t& number) {
  Reader reader(left_);
  if (!reader.raw(number)) return false;
  left_ = reader.left();
  return true;
}

Result<LogEntry> EntryReader::next() {
  Reader reader(left_);
  std::uint8_t kind = 0;
  if (!reader.take(&kind, 1)) return {ErrorCode::STATE_CORRUPT, "an entry is missing"};
  if (kind >= kinds) {
    return {ErrorCode::STATE_CORRUPT, "an entry of the unknown kind " + std::to_string(kind) +
                                          "; was the log written by a newer seqd?"};
  }
  LogEntry entry = read_kind(kind, reader);
  if (reader.mistake() != nullptr) {
    return {ErrorCode::STATE_CORRUPT,
            std::string(reader.mistake()) + " (entry of kind " + std::to_string(kind) + ")"};
  }
  left_ = reader.left();
  return entry;
}

}  // namespace seqd
