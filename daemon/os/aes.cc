#include "daemon/os/aes.h"

#include <nettle/aes.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <tuple>

namespace seqd {
namespace {

struct Aes128 {
  using Context = aes128_ctx;
  static constexpr auto kSetKey = aes128_set_encrypt_key;
  static constexpr auto kEncrypt = aes128_encrypt;
};

struct Aes256 {
  using Context = aes256_ctx;
  static constexpr auto kSetKey = aes256_set_encrypt_key;
  static constexpr auto kEncrypt = aes256_encrypt;
};

template <typename Kind>
class Aes final : public BlockCipher {
 public:
  explicit Aes(const std::uint8_t* key) { Kind::kSetKey(&context_, key); }
  ~Aes() override { explicit_bzero(&context_, sizeof context_); }
  Aes(const Aes&) = delete;
  Aes& operator=(const Aes&) = delete;

  void encrypt(CipherBlock& block) const override {
    static_assert(std::tuple_size_v<CipherBlock> == AES_BLOCK_SIZE);
    Kind::kEncrypt(&context_, block.size(), block.data(), block.data());
  }

 private:
  typename Kind::Context context_;
};

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

Result<std::shared_ptr<const BlockCipher>> make_aes(std::string_view key) {
  std::array<std::uint8_t, AES256_KEY_SIZE> bytes{};
  bool good = key.size() == 2 * AES128_KEY_SIZE || key.size() == 2 * AES256_KEY_SIZE;
  for (std::size_t at = 0; good && at < key.size(); ++at) {
    const int value = hex_value(key[at]);
    good = value >= 0;
    bytes[at / 2] = static_cast<std::uint8_t>(bytes[at / 2] << 4 | (value & 15));
  }
  std::shared_ptr<const BlockCipher> cipher;
  if (good && key.size() == 2 * AES128_KEY_SIZE) {
    cipher = std::make_shared<Aes<Aes128>>(bytes.data());
  } else if (good) {
    cipher = std::make_shared<Aes<Aes256>>(bytes.data());
  }
  explicit_bzero(bytes.data(), bytes.size());
  if (cipher != nullptr) return cipher;
  return Status(ErrorCode::CONFIG,
                "holds no key; allowed: one line of 32 or 64 hexadecimal digits, as from `openssl "
                "rand -hex 32`");
}

}  // namespace seqd
