#include "daemon/os/aes.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <array>
#include <string>

#include "daemon/base/assertion.h"

namespace seqd {
namespace {

constexpr std::size_t kLongestKey = 32;

struct FreeContext {
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;

class Aes final : public BlockCipher {
 public:
  explicit Aes(Context context) : context_(std::move(context)) { ASSERT(context_ != nullptr); }

  void encrypt(CipherBlock& block) const override {
    int size = 0;
    const int done = EVP_EncryptUpdate(context_.get(), block.data(), &size, block.data(),
                                       static_cast<int>(block.size()));
    // A whole block of a context that was made for blocks: only memory that was overwritten fails.
    ASSERT(done == 1 && size == static_cast<int>(block.size()));
  }

 private:
  const Context context_;
};

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

}  // namespace

Result<std::shared_ptr<const BlockCipher>> make_aes(std::string_view key) {
  std::array<unsigned char, kLongestKey> bytes{};
  bool good = key.size() == 32 || key.size() == 64;
  for (std::size_t at = 0; good && at < key.size(); ++at) {
    const int value = hex_value(key[at]);
    good = value >= 0;
    bytes[at / 2] = static_cast<unsigned char>(bytes[at / 2] << 4 | (value & 15));
  }
  if (!good)
    return Status(ErrorCode::CONFIG,
                  "is no key; allowed: one line of 32 or 64 hexadecimal digits, as from `openssl "
                  "rand -hex 32`");
  Context context(EVP_CIPHER_CTX_new());
  const EVP_CIPHER* const cipher = key.size() == 32 ? EVP_aes_128_ecb() : EVP_aes_256_ecb();
  const bool made =
      context != nullptr &&
      EVP_EncryptInit_ex(context.get(), cipher, nullptr, bytes.data(), nullptr) == 1 &&
      EVP_CIPHER_CTX_set_padding(context.get(), 0) == 1;
  OPENSSL_cleanse(bytes.data(), bytes.size());
  if (!made) return Status(ErrorCode::CONFIG, "cannot be used: OpenSSL refuses AES");
  return std::shared_ptr<const BlockCipher>(std::make_shared<Aes>(std::move(context)));
}

}  // namespace seqd
