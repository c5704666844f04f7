#include "daemon/os/credentials.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "daemon/os/journal/event_line.h"
#include "protocol/text/utf8.h"

namespace seqd {
namespace {

// Those that seqd.service passes.
constexpr std::array<std::string_view, 3> kOfUnit = {"mongodb-uri", "aws-credentials",
                                                     "scramble-key"};

const char* credentials_directory() {
  const char* const directory = std::getenv("CREDENTIALS_DIRECTORY");
  return directory != nullptr && directory[0] == '/' ? directory : nullptr;
}

// What is in the open file, up to one byte more than allowed.
Status read_all(int fd, const std::string& path, std::size_t most, Secret& secret) {
  struct stat facts {};
  if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode))
    return {ErrorCode::CONFIG, path + " is not a regular file"};
  if ((facts.st_mode & S_IROTH) != 0)
    secret.warning = "every user can read " + path + "; protect it with chmod o-r";
  std::string content(most + 2, '\0');
  std::size_t size = 0;
  while (size < content.size()) {
    const ssize_t got = read(fd, content.data() + size, content.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return {ErrorCode::CONFIG, path + " cannot be read: " + std::strerror(errno)};
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  secret.value.assign(content, 0, size);
  return {};
}

Status check_content(const std::string& path, std::string& value) {
  while (value.ends_with('\n') || value.ends_with('\r')) value.pop_back();
  if (value.size() > kMaxSecret)
    return {ErrorCode::CONFIG, path + " is longer than " + std::to_string(kMaxSecret) + " bytes"};
  if (value.empty()) return {ErrorCode::CONFIG, path + " is empty; allowed: one line"};
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; };
  const bool clean = std::none_of(value.begin(), value.end(), control) && protocol::is_utf8(value);
  if (!clean) return {ErrorCode::CONFIG, path + " holds more than one line of text"};
  return {};
}

struct Place {
  std::string path;
  std::string shown;
  bool is_credential = false;
};

Result<Place> find_place(const std::string& place) {
  if (place.starts_with('/')) return Place{place, escape_line(place, 300), false};
  if (!is_place_of_secret(place))
    return Status(ErrorCode::CONFIG,
                  "found text that is neither a path nor the name of a credential");
  // Another name is not repeated: it may be the secret itself.
  const bool of_unit =
      std::find(kOfUnit.begin(), kOfUnit.end(), std::string_view(place)) != kOfUnit.end();
  const std::string shown = of_unit ? "the credential \"" + place + "\"" : "the credential";
  const char* const directory = credentials_directory();
  if (directory == nullptr)
    return Status(ErrorCode::CONFIG,
                  shown +
                      " is not there: $CREDENTIALS_DIRECTORY is not set; start seqd by its "
                      "unit with LoadCredential=, or name a file instead");
  return Place{std::string(directory) + "/" + place, shown, true};
}

// The file as it is. systemd protects its credentials.
Result<Secret> read_file(const Place& place, std::size_t most) {
  const int fd = open(place.path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return Status(ErrorCode::CONFIG, place.shown + " cannot be opened: " + std::strerror(errno));
  Secret secret;
  Status status = read_all(fd, place.shown, most, secret);
  close(fd);
  if (!status.ok()) return status;
  if (place.is_credential) secret.warning.clear();
  return secret;
}

}  // namespace

bool is_place_of_secret(std::string_view text) {
  if (text.starts_with('/')) return true;
  const auto is_hex = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  };
  const auto is_plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
           c == '_' || c == '-';
  };
  if (text.empty() || text.size() > 255 || text.starts_with('.')) return false;
  // A key of a scramble in place of its name would stand in a dump of the configuration.
  const bool is_key = text.size() >= 32 && std::all_of(text.begin(), text.end(), is_hex);
  return !is_key && std::all_of(text.begin(), text.end(), is_plain);
}

Result<Secret> read_secret(const std::string& place) {
  const Result<Place> found = find_place(place);
  if (!found.ok()) return found.status();
  Result<Secret> secret = read_file(*found, kMaxSecret);
  if (!secret.ok()) return secret;
  if (Status status = check_content(found->shown, secret->value); !status.ok()) return status;
  return secret;
}

Result<Secret> read_secret_text(const std::string& place) {
  const Result<Place> found = find_place(place);
  if (!found.ok()) return found.status();
  Result<Secret> secret = read_file(*found, kMaxSecretText);
  if (secret.ok() && secret->value.size() > kMaxSecretText)
    return Status(ErrorCode::CONFIG,
                  found->shown + " is longer than " + std::to_string(kMaxSecretText) + " bytes");
  return secret;
}

bool is_credential_of_unit(const std::string& place) {
  return !place.starts_with('/') && credentials_directory() == nullptr;
}

}  // namespace seqd
