#include "daemon/main/config/config_stores.h"

#include <algorithm>
#include <array>

#include "daemon/base/secrets.h"
#include "daemon/main/config/config_dynamo.h"
#include "daemon/main/config/config_tables.h"
#include "daemon/os/credentials.h"
#include "daemon/os/journal/event_line.h"

namespace seqd {
namespace {

// In the order of StoreType.
constexpr std::array kStoreTypes = {"sqlite", "mongodb", "dynamodb"};

class StoreTypes {
 public:
  template <typename... Types>
  explicit constexpr StoreTypes(Types... types) : bits_((bit(types) | ...)) {}
  constexpr bool has(StoreType type) const { return (bits_ & bit(type)) != 0; }

 private:
  static constexpr unsigned bit(StoreType type) { return 1U << static_cast<unsigned>(type); }
  unsigned bits_;
};

constexpr StoreTypes kSqlite(StoreType::sqlite);
constexpr StoreTypes kMongodb(StoreType::mongodb);
constexpr StoreTypes kDynamodb(StoreType::dynamodb);
constexpr StoreTypes kNetwork(StoreType::mongodb, StoreType::dynamodb);

// Which types of stores an option is for; all, where it does not stand here.
struct OptionTypes {
  std::string_view key;
  StoreTypes types;
};

constexpr std::array kOptionTypes = {
    OptionTypes{"path", kSqlite},
    OptionTypes{"uri", kMongodb},
    OptionTypes{"uri_file", kMongodb},
    OptionTypes{"database", kMongodb},
    OptionTypes{"unsafe_write_concern", kMongodb},
    OptionTypes{"concurrency", kNetwork},
    OptionTypes{"lease_mode", kNetwork},
    OptionTypes{"region", kDynamodb},
    OptionTypes{"endpoint", kDynamodb},
    OptionTypes{"tls_ca_file", kDynamodb},
    OptionTypes{"instances_table", kDynamodb},
    OptionTypes{"instances_key", kDynamodb},
    OptionTypes{"unsafe_global_table", kDynamodb},
    OptionTypes{"aws_credentials_file", kDynamodb},
    OptionTypes{"aws_profile", kDynamodb},
};

// What is written and means nothing to a store of this type.
void check_fits(const std::string& name, StoreType type, const WrittenKeys& written,
                Problems& problems) {
  for (const OptionTypes& option : kOptionTypes) {
    const auto found = written.find(option.key);
    if (found == written.end() || fits_store_type(option.key, type)) continue;
    std::string types;
    for (std::size_t at = 0; at < kStoreTypes.size(); ++at)
      if (option.types.has(static_cast<StoreType>(at)))
        types.append(types.empty() ? "\"" : " or \"").append(kStoreTypes[at]).append("\"");
    problems.add(found->second, name + "." + std::string(option.key),
                 "is for stores of type " + types);
  }
}

bool good_store_name(std::string_view name) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  return !name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), good);
}

// User and password end at the last @ in front of the options.
bool has_unencoded_user(std::string_view uri) {
  std::string_view user = uri.substr(uri.find("://") + 3);
  user = user.substr(0, user.find('?'));
  const std::size_t end = user.rfind('@');
  if (end == std::string_view::npos) return false;
  user = user.substr(0, end);
  return user.find_first_of("@/") != std::string_view::npos ||
         std::count(user.begin(), user.end(), ':') > 1;
}

// Empty when it is good.
std::string_view fault_of_uri(const std::string& uri) {
  if (!uri.starts_with("mongodb://") && !uri.starts_with("mongodb+srv://"))
    return "the URI does not begin with mongodb:// or mongodb+srv://";
  if (uri.find_first_of(" \t") != std::string::npos) return "the URI holds a space";
  if (has_unencoded_user(uri))
    return "user name and password must be percent-encoded: @ is %40, : is %3A, / is %2F, % is %25";
  return {};
}

// Everything about one mongodb store.
class MongoStore {
 public:
  MongoStore(const std::string& name, const DocumentEntry& entry, StoreSettings& store,
             const WrittenKeys& written, Problems& problems)
      : name_(name), entry_(entry), store_(store), written_(written), problems_(problems) {}

  void read(const ConfigurationRequest& request, Configuration& configuration) {
    if (written_.contains("uri") && written_.contains("uri_file")) {
      problems_.add(std::max(line("uri"), line("uri_file")), name_,
                    "found uri (" + where_written(written_, "uri") + ") and uri_file (" +
                        where_written(written_, "uri_file") + "); allowed: one of them");
      return;
    }
    if (written_.contains("uri")) {
      check_uri("uri");
      if (store_.uri.find('@') != std::string::npos)
        configuration.warnings.push_back(name_ +
                                         ".uri: a password in the configuration; better uri_file");
      return;
    }
    // A wrong one was reported already.
    if (written_.contains("uri_file") && store_.uri_file.empty()) return;
    if (store_.uri_file.empty()) store_.uri_file = kDefaultCredential;
    if (!request.need_credentials && is_credential_of_unit(store_.uri_file)) {
      configuration.warnings.push_back(
          name_ + ".uri_file: not checked: there is no $CREDENTIALS_DIRECTORY here");
      return;
    }
    Result<Secret> secret = read_secret(store_.uri_file);
    if (!secret.ok()) {
      problems_.add(line("uri_file"), name_ + ".uri_file", secret.status().text());
      return;
    }
    store_.uri = secret->value;
    if (!secret->warning.empty())
      configuration.warnings.push_back(name_ + ".uri_file: " + secret->warning);
    check_uri("uri_file");
  }

 private:
  int line(std::string_view key) const { return line_of(written_, key, entry_.line); }

  void check_uri(std::string_view key) {
    const std::string_view fault = fault_of_uri(store_.uri);
    // An empty one was reported already.
    if (fault.empty() || store_.uri.empty()) return;
    problems_.add(line(key), name_ + "." + std::string(key),
                  std::string(fault) + "; allowed: mongodb://HOST[:PORT][,...][/?OPTIONS]");
  }

  const std::string& name_;
  const DocumentEntry& entry_;
  StoreSettings& store_;
  const WrittenKeys& written_;
  Problems& problems_;
};

// Two connections to one file would break the store's own rule of having one.
void check_paths(const Configuration& configuration, const std::map<std::string, int>& lines,
                 Problems& problems) {
  std::map<std::string, std::string> owners;
  for (const auto& [name, store] : configuration.stores) {
    if (store.type != StoreType::sqlite) continue;
    const auto [owner, fresh] = owners.emplace(store.path, name);
    if (!fresh)
      problems.add(lines.at(name), "store." + name + ".path",
                   "\"" + store.path + "\" is the file of store." + owner->second +
                       " too; allowed: a file of its own for every store");
  }
}

void choose_default(const WrittenKeys& written, Configuration& configuration, Problems& problems) {
  std::string& chosen = configuration.daemon.default_store;
  const auto& stores = configuration.stores;
  if (chosen.empty() && stores.contains("default")) chosen = "default";
  if (chosen.empty() && stores.size() == 1) chosen = stores.begin()->first;
  if (stores.contains(chosen)) return;
  std::string names;
  for (const auto& [name, store] : stores) names.append(names.empty() ? "" : ", ").append(name);
  const auto line = written.find("default_store");
  problems.add(line == written.end() ? 1 : line->second, "daemon.default_store",
               (chosen.empty() ? "not given, and no store is called \"default\""
                               : "there is no [store." + chosen + "]") +
                   "; allowed: one of " + names);
}

}  // namespace

void read_stores(const DocumentEntry* table, const WrittenKeys& daemon_written,
                 const ConfigurationRequest& request, Configuration& configuration,
                 Problems& problems) {
  std::map<std::string, int> lines;
  if (table != nullptr) {
    for (const DocumentEntry& entry : table->table.entries) {
      const std::string name = "store." + escape_line(entry.key, 80);
      if (entry.kind != DocumentEntry::Kind::table) {
        problems.add(entry.line, name,
                     "found " + std::string(entry.what) + "; allowed: a table [store.NAME]");
        continue;
      }
      if (!good_store_name(entry.key)) {
        problems.add(entry.line, name,
                     "allowed in the name of a store: 1 to 64 of A-Z a-z 0-9 _ -");
        continue;
      }
      StoreSettings store = default_settings<StoreSettings>();
      WrittenKeys written;
      read_table(entry.table, name, store, written, problems);
      check_fits(name, store.type, written, problems);
      if (store.type == StoreType::mongodb) {
        MongoStore(name, entry, store, written, problems).read(request, configuration);
      } else if (store.type == StoreType::dynamodb) {
        read_dynamo_store(name, entry.line, store, written, request, configuration, problems);
      } else if (store.path.empty()) {
        store.path = configuration.daemon.state_dir + "/sequences.db";
      }
      lines.emplace(entry.key, entry.line);
      configuration.stores.emplace(entry.key, std::move(store));
      configuration.stores_written.emplace(entry.key, std::move(written));
    }
    if (configuration.stores.size() > kMaxStores)
      problems.add(table->line, "store",
                   "found " + std::to_string(configuration.stores.size()) +
                       " stores; allowed: " + std::to_string(kMaxStores));
  }
  if (configuration.stores.empty()) {
    StoreSettings store = default_settings<StoreSettings>();
    store.path = configuration.daemon.state_dir + "/sequences.db";
    configuration.stores.emplace("default", std::move(store));
  }
  check_paths(configuration, lines, problems);
  choose_default(daemon_written, configuration, problems);
}

const char* store_type_name(StoreType type) {
  return kStoreTypes[static_cast<std::size_t>(type)];
}

bool fits_store_type(std::string_view key, StoreType type) {
  const auto found = std::find_if(kOptionTypes.begin(), kOptionTypes.end(),
                                  [&](const OptionTypes& option) { return option.key == key; });
  return found == kOptionTypes.end() || found->types.has(type);
}

std::string mask_uri(const std::string& uri) {
  std::string out = masked_address(uri);
  // In what may be a password a question mark is one of its letters.
  if (uri.find('?', uri.rfind('@') + 1) != std::string::npos && !out.ends_with(kHidden))
    out.append("?").append(kHidden);
  return out;
}

}  // namespace seqd
