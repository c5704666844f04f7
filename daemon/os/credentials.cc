#include "daemon/os/credentials.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "daemon/os/journal/event_line.h"
#include "protocol/text/utf8.h"

namespace seqd {
namespace {

const char* credentials_directory() {
  const char* const directory = std::getenv("CREDENTIALS_DIRECTORY");
  return directory != nullptr && directory[0] == '/' ? directory : nullptr;
}

// What is in the open file, up to one byte more than allowed.
Status read_all(int fd, const std::string& path, std::size_t most, Secret& secret) {
  struct stat facts {};
  if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode))
    return {ErrorCode::CONFIG, path + " is no regular file"};
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

// The file as it is.
Result<Secret> read_file(const std::string& path, const std::string& shown, std::size_t most) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return Status(ErrorCode::CONFIG, shown + " cannot be opened: " + std::strerror(errno));
  Secret secret;
  Status status = read_all(fd, shown, most, secret);
  close(fd);
  if (!status.ok()) return status;
  return secret;
}

// Where systemd has put the credential.
Result<std::string> path_of_credential(const std::string& name) {
  const bool plain = !name.empty() && name != "." && name != ".." && name.size() <= 255 &&
                     name.find('/') == std::string::npos;
  // Not repeated: it may be the secret itself.
  if (!plain)
    return Status(ErrorCode::CONFIG,
                  "found text that is no name of a credential; allowed: a file name, without /");
  const char* const directory = credentials_directory();
  if (directory == nullptr)
    return Status(ErrorCode::CONFIG,
                  "the credential \"" + escape_line(name, 60) +
                      "\" is not there: $CREDENTIALS_DIRECTORY is not set; start seqd by its unit "
                      "with LoadCredential=, or name a file instead");
  return std::string(directory) + "/" + name;
}

}  // namespace

Result<Secret> read_secret_file(const std::string& path) {
  const std::string shown = escape_line(path, 300);
  Result<Secret> secret = read_file(path, shown, kMaxSecret);
  if (!secret.ok()) return secret;
  if (Status status = check_content(shown, secret->value); !status.ok()) return status;
  return secret;
}

Result<Secret> read_secret_text(const std::string& path) {
  const std::string shown = escape_line(path, 300);
  Result<Secret> secret = read_file(path, shown, kMaxSecretText);
  if (secret.ok() && secret->value.size() > kMaxSecretText)
    return Status(ErrorCode::CONFIG,
                  shown + " is longer than " + std::to_string(kMaxSecretText) + " bytes");
  return secret;
}

Result<Secret> read_credential(const std::string& name) {
  const Result<std::string> path = path_of_credential(name);
  if (!path.ok()) return path.status();
  Result<Secret> secret = read_secret_file(*path);
  if (secret.ok()) secret->warning.clear();
  return secret;
}

Result<Secret> read_credential_text(const std::string& name) {
  const Result<std::string> path = path_of_credential(name);
  if (!path.ok()) return path.status();
  Result<Secret> secret = read_secret_text(*path);
  if (secret.ok()) secret->warning.clear();
  return secret;
}

bool have_credentials() {
  return credentials_directory() != nullptr;
}

}  // namespace seqd
