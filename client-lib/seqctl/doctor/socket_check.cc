#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "client-lib/seqctl/doctor/checks.h"
#include "client-lib/seqctl/user_names.h"

namespace seqd::seqctl {
namespace {

using Level = Finding::Level;

std::string facts_text(const struct stat& facts) {
  std::array<char, 8> mode{};
  std::snprintf(mode.data(), mode.size(), "%04o", facts.st_mode & 07777U);
  return user_name(facts.st_uid) + ":" + group_name(facts.st_gid) + " " + mode.data();
}

// A user that may write to the directory could replace the socket.
void check_folder(const std::string& path, Findings& findings) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "."
                             : slash == 0               ? "/"
                                                        : path.substr(0, slash);
  struct stat facts {};
  if (::stat(folder.c_str(), &facts) != 0) return;
  const bool everyone = (facts.st_mode & S_IWOTH) != 0 && (facts.st_mode & S_ISVTX) == 0;
  if (!everyone) return;
  findings.push_back(
      {Level::bad, "socket",
       folder + " is " + facts_text(facts) + ": every user can put another socket in its place",
       "chmod o-w " + folder + ", or set another `socket` in seqd.toml"});
}

// Membership of the group root grants more than connecting, so it is not recommended.
std::string remedy_to_connect(const struct stat& facts) {
  if (facts.st_gid == 0 || (facts.st_mode & S_IWGRP) == 0)
    return "give the socket a group of its own, with mode 0660: SocketGroup= of seqd.socket, or "
           "the group that the daemon runs as";
  return "usermod -aG " + group_name(facts.st_gid) + " " + user_name(::geteuid()) +
         ", and log in again";
}

void not_found(const std::string& path, int error, Findings& findings) {
  const std::string remedy =
      error == EACCES
          ? "use a user who may search the directories above it, as root"
          : "systemctl enable --now seqd.socket; or name the socket with --socket or SEQD_SOCKET";
  findings.push_back({Level::bad, "socket", path + ": " + std::strerror(error), remedy});
}

}  // namespace

void check_socket(const std::string& path, Findings& findings) {
  struct stat facts {};
  if (::stat(path.c_str(), &facts) != 0) return not_found(path, errno, findings);
  const std::string what = path + " is " + facts_text(facts);
  if (!S_ISSOCK(facts.st_mode)) {
    findings.push_back({Level::bad, "socket", what + ", and no socket",
                        "remove it, and start seqd or seqd.socket again"});
    return;
  }
  if (::access(path.c_str(), W_OK) != 0) {
    findings.push_back({Level::bad, "socket",
                        what + ": user " + user_name(::geteuid()) + " may not connect",
                        remedy_to_connect(facts)});
    return;
  }
  const bool everyone = (facts.st_mode & S_IWOTH) != 0;
  findings.push_back(
      {everyone ? Level::warn : Level::ok, "socket",
       what + (everyone ? ": every user of the host may connect" : ": you may connect"),
       everyone ? "0660, unless that is meant (`socket_mode` of seqd.toml, SocketMode= of the unit)"
                : ""});
  check_folder(path, findings);
}

}  // namespace seqd::seqctl
