#include "daemon/main/store_warnings.h"

#include <algorithm>
#include <array>

#include "daemon/os/files/posix_files.h"

namespace seqd {
namespace {

struct Service {
  std::string_view domain;
  std::string_view name;
  std::string_view warning;
};

constexpr std::string_view kCosmos =
    "with several write regions two regions lease the same IDs, so configure one, and "
    "retryWrites=false in the URI";
constexpr std::string_view kDocumentDb =
    "it has no retryable writes, so set retryWrites=false in the URI; after an unplanned failover "
    "of "
    "a global cluster raise the counters, as after a restore";
constexpr std::string_view kUntried =
    "seqd was not tested with it, and relies on findAndModify as one step, on majority writes and "
    "on "
    "linearizable reads";

constexpr std::array<Service, 6> kServices = {{
    {"cosmos.azure.com", "Azure Cosmos DB", kCosmos},
    {"documents.azure.com", "Azure Cosmos DB", kCosmos},
    {"docdb.amazonaws.com", "Amazon DocumentDB", kDocumentDb},
    {"docdb-elastic.amazonaws.com", "Amazon DocumentDB", kDocumentDb},
    {"oraclecloudapps.com", "the Oracle Database API for MongoDB", kUntried},
    {"firestore.goog", "Firestore", kUntried},
}};

bool is_in(std::string_view host, std::string_view domain) {
  if (!host.ends_with(domain)) return false;
  host.remove_suffix(domain.size());
  return host.empty() || host.ends_with('.');
}

// Its hosts, in small letters, without ports.
std::string hosts_of(std::string_view uri) {
  const std::size_t scheme = uri.find("://");
  if (scheme == std::string_view::npos) return {};
  uri.remove_prefix(scheme + 3);
  // Before the options, which may hold an "@", too: Azure ends its own with appName=@ACCOUNT@.
  uri = uri.substr(0, uri.find_first_of("/?"));
  std::string hosts(uri.substr(uri.rfind('@') + 1));  // all of it, where there is no user
  std::transform(hosts.begin(), hosts.end(), hosts.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return hosts;
}

std::string warning_of_file(const std::string& path) {
  const Result<FileSystemKind> kind = file_system_for(path);
  if (!kind.ok() || *kind != FileSystemKind::unknown) return {};
  return "the file " + path +
         " is on a FUSE file system: make sure that it is on a disk of this host "
         "and that no other host uses it, or the same IDs are leased twice";
}

}  // namespace

std::string warning_of_uri(std::string_view uri) {
  const std::string hosts = hosts_of(uri);
  std::string_view rest = hosts;
  while (!rest.empty()) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(std::min(one.size() + 1, rest.size()));
    std::string_view host = one.substr(0, one.find(':'));
    if (host.ends_with('.')) host.remove_suffix(1);
    for (const Service& service : kServices) {
      if (is_in(host, service.domain))
        return std::string(host) + " is " + std::string(service.name) +
               ", which is not MongoDB: " + std::string(service.warning) +
               " (STORES.md, \"Services that imitate a store\")";
    }
  }
  return {};
}

std::string warning_of_store(const StoreSettings& store) {
  switch (store.type) {
    case StoreType::sqlite:
      return warning_of_file(store.path);
    case StoreType::mongodb:
      return warning_of_uri(store.uri);
    case StoreType::dynamodb:
      break;
  }
  return store.unsafe_global_table
             ? "unsafe_global_table is set: all hosts must use region " + store.region +
                   ", and after a failover to another one the counters must be raised, as after a "
                   "restore"
             : "";
}

}  // namespace seqd
