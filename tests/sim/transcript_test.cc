#include "tests/sim/transcript.h"

#include <catch2/catch.hpp>
#include <functional>
#include <vector>

namespace seqd::sim {
namespace {

Token token_of(std::uint8_t bits) {
  Token token;
  token.fill(bits);
  return token;
}

std::uint64_t digest_of(const std::function<void(Transcript& transcript)>& write) {
  Transcript transcript(Transcript::Use::digest);
  write(transcript);
  return transcript.digest();
}

// One token in an entry, in an event, in a reply and in a request.
std::uint64_t digest_of_tokens(const Token& entry, const Token& event, const Token& reply,
                               const Token& request) {
  return digest_of([&](Transcript& transcript) {
    transcript.appended(1, LeaseIntended{1, entry, 10, 0});
    transcript.raised(1, {EventKind::lease_granted, "", {{"LEASE", to_hex(event)}}});
    std::vector<std::uint8_t> bytes = {0x94, 0x01, 0xc4, 16};
    bytes.insert(bytes.end(), reply.begin(), reply.end());
    transcript.replied(1, 7, bytes);
    transcript.asked(1, "store", "lease", request, std::int64_t{10});
  });
}

TEST_CASE("TokensOfATranscriptAreTheNumbersOfTheirFirstAppearance", "[sim]") {
  const Token a = token_of(0xaa);
  const Token b = token_of(0xbb);
  const Token c = token_of(0x11);
  const Token d = token_of(0x22);
  CHECK(digest_of_tokens(a, a, a, a) == digest_of_tokens(c, c, c, c));
  CHECK(digest_of_tokens(a, b, a, b) == digest_of_tokens(d, c, d, c));
  CHECK(digest_of_tokens(a, b, b, b) != digest_of_tokens(a, a, b, b));
  CHECK(digest_of_tokens(a, a, b, b) != digest_of_tokens(a, a, a, b));
  CHECK(digest_of_tokens(a, a, a, b) != digest_of_tokens(a, a, a, a));
}

TEST_CASE("AnythingElseOfATranscriptIsInItsDigest", "[sim]") {
  const auto entry = [](std::int64_t count, std::int64_t daemon) {
    return digest_of([&](Transcript& transcript) {
      transcript.appended(daemon, LeaseIntended{1, token_of(1), count, 0});
    });
  };
  CHECK(entry(10, 1) == entry(10, 1));
  CHECK(entry(10, 1) != entry(11, 1));
  CHECK(entry(10, 1) != entry(10, 2));
  const auto event = [](const char* text, const char* value) {
    return digest_of([&](Transcript& transcript) {
      transcript.raised(1, {EventKind::lease_granted, text, {{"SEQUENCE", value}}});
    });
  };
  CHECK(event("", "orders") != event("", "users"));
  CHECK(event("one wording", "orders") == event("another", "orders"));
  const auto records = [](bool two) {
    return digest_of([&](Transcript& transcript) {
      transcript.appended(1, Reserved{1, 10});
      if (two) transcript.committed(1);
      transcript.appended(1, Reserved{1, 20});
      transcript.committed(1);
    });
  };
  CHECK(records(true) != records(false));
}

TEST_CASE("ATranscriptThatNobodyReadsIsEmpty", "[sim]") {
  Transcript transcript(Transcript::Use::none);
  const std::uint64_t before = transcript.digest();
  transcript.appended(1, Reserved{1, 10});
  transcript.raised(1, {EventKind::lease_granted, "", {}});
  CHECK(transcript.digest() == before);
}

}  // namespace
}  // namespace seqd::sim
