// KnownNames: the sequences of names that were asked for lately, found with one line of memory
// where the tree of all names takes many. A cache: what is not in it may be in use all the same.
//
// Callers choose the names. Names that share a bucket replace each other, and are then found in the
// tree. Bounded: kMostBuckets of four places each. `Named` has a name(). Owned by Sequences; loop
// thread.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace seqd {

template <typename Named>
class KnownNames {
 public:
  static constexpr std::size_t kMostBuckets = std::size_t{1} << 14;  // 1 MiB

  // Null: it is not in here.
  Named* find(std::string_view name) const {
    if (buckets_.empty()) return nullptr;
    const std::uint64_t hash = hash_of(name);
    for (const Place& place : bucket(hash)) {
      if (place.hash != hash || place.named == nullptr) continue;
      prefetch(*place.named);
      if (place.named->name() == name) return place.named;
    }
    return nullptr;
  }
  // `names`: how many there are. It lives until drop().
  void keep(Named& named, std::size_t names) {
    std::size_t wanted = std::max(buckets_.size(), kFirstBuckets);
    while (wanted * kPlaces < names * 2 && wanted < kMostBuckets) wanted *= 2;
    // Emptied where it grows: what is asked for again is put in again.
    if (wanted != buckets_.size()) buckets_ = std::vector<Bucket>(wanted);
    const std::uint64_t hash = hash_of(named.name());
    Bucket& places = buckets_[hash & (buckets_.size() - 1)];
    auto place = std::find_if(places.begin(), places.end(),
                              [](const Place& one) { return one.named == nullptr; });
    // Which of them goes is decided by bits that did not choose the bucket.
    if (place == places.end()) place = places.begin() + (hash >> 62);
    *place = {hash, &named};
  }
  void drop(const Named& named) {
    if (buckets_.empty()) return;
    for (Place& place : buckets_[hash_of(named.name()) & (buckets_.size() - 1)]) {
      if (place.named == &named) place = Place();
    }
  }

 private:
  struct Place {
    std::uint64_t hash = 0;
    Named* named = nullptr;
  };
  static constexpr std::size_t kPlaces = 4;
  static constexpr std::size_t kFirstBuckets = 16;
  using Bucket = std::array<Place, kPlaces>;
  __extension__ using Product = unsigned __int128;

  static std::uint64_t hash_of(std::string_view name) {
    constexpr std::uint64_t kFactor = 0x9e37'79b9'7f4a'7c15;  // 2^64 divided by the golden ratio
    std::uint64_t hash = name.size();
    // Both halves of the product: its lower one does not bring the last letters, which names that
    // are counted differ by, down to the bits that choose the bucket.
    const auto mix = [&hash](std::uint64_t word) {
      const Product product = Product{hash ^ word} * kFactor;
      hash = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
    };
    std::uint64_t word = 0;
    const char* const begin = name.data();
    if (name.size() < sizeof(word)) {
      for (const char c : name) word = word << 8 | static_cast<unsigned char>(c);
      mix(word);
    } else {
      for (std::size_t at = 0; at < name.size() - sizeof(word); at += sizeof(word)) {
        std::memcpy(&word, begin + at, sizeof(word));
        mix(word);
      }
      // The last ones, some of them for the second time.
      std::memcpy(&word, begin + name.size() - sizeof(word), sizeof(word));
      mix(word);
    }
    return hash;
  }
  // Nearly always it is the one, and most of it is needed: its lines come together, not one by one.
  static void prefetch(const Named& named) {
    constexpr std::size_t kLine = 64;
    const char* const begin = reinterpret_cast<const char*>(&named);
    for (std::size_t at = 0; at < sizeof(Named); at += kLine) __builtin_prefetch(begin + at);
  }
  const Bucket& bucket(std::uint64_t hash) const { return buckets_[hash & (buckets_.size() - 1)]; }

  std::vector<Bucket> buckets_;  // none, or a power of two
};

}  // namespace seqd
