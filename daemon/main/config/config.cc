#include "daemon/main/config/config.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "daemon/main/config/config_document.h"
#include "daemon/main/config/config_problems.h"
#include "daemon/main/config/config_relations.h"
#include "daemon/main/config/config_stores.h"
#include "daemon/main/config/config_tables.h"
#include "daemon/main/config/config_users.h"
#include "daemon/main/config/options/options.h"
#include "daemon/main/config/sequences/config_patterns.h"
#include "daemon/main/config/sequences/config_sequences.h"
#include "daemon/os/journal/event_line.h"

namespace seqd {
namespace {

struct FileContent {
  std::string text;
  bool others_may_read = false;
};

Status cannot_read(const std::string& path, const std::string& why) {
  return {ErrorCode::CONFIG, escape_line(path, 300) + ": " + why};
}

// Nothing when the file does not exist and need not.
Result<std::optional<FileContent>> read_file(const std::string& path, bool must_exist) {
  // Not blocking: opening a pipe would otherwise wait for its writer.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0 && errno == ENOENT && !must_exist) return std::optional<FileContent>();
  if (fd < 0) return cannot_read(path, std::string("cannot be opened: ") + std::strerror(errno));
  struct stat facts {};
  FileContent content;
  std::string fault;
  if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
    fault = "is not a regular file";
  } else {
    content.others_may_read = (facts.st_mode & S_IROTH) != 0;
    content.text.resize(kMaxConfigurationSize + 1);
    std::size_t size = 0;
    while (size < content.text.size()) {
      const ssize_t got = read(fd, content.text.data() + size, content.text.size() - size);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fault = std::string("cannot be read: ") + std::strerror(errno);
      if (got <= 0) break;
      size += static_cast<std::size_t>(got);
    }
    content.text.resize(size);
  }
  close(fd);
  if (!fault.empty()) return cannot_read(path, fault);
  return std::optional<FileContent>(std::move(content));
}

// The entry if it is a table; reports it if it is something else.
const DocumentEntry* table_entry(const DocumentTable& root, std::string_view key,
                                 Problems& problems) {
  for (const DocumentEntry& entry : root.entries) {
    if (entry.key != key) continue;
    if (entry.kind == DocumentEntry::Kind::table) return &entry;
    problems.add(
        entry.line, key,
        "found " + std::string(entry.what) + "; allowed: a table [" + std::string(key) + "]");
  }
  return nullptr;
}

void override_path(const std::optional<std::string>& given, std::string_view key,
                   DaemonSettings& daemon, WrittenKeys& written, Problems& problems) {
  if (!given) return;
  for (const Option<DaemonSettings>& option : options<DaemonSettings>()) {
    if (option.key != key) continue;
    const Result<OptionValue> value = parse_option(option, std::string_view(*given));
    written[std::string(key)] = kCommandLine;
    if (value.ok()) {
      option.write(daemon, *value);
    } else {
      std::string name = "--" + std::string(key);
      std::replace(name.begin(), name.end(), '_', '-');
      problems.add(kCommandLine, name, value.status().text());
    }
  }
}

void read_root(const DocumentTable& root, const ConfigurationRequest& request,
               Configuration& configuration, Problems& problems) {
  const std::vector<std::string_view> known = {"daemon", "limits", "store", "sequence_defaults",
                                               "sequence"};
  for (const DocumentEntry& entry : root.entries)
    if (std::find(known.begin(), known.end(), entry.key) == known.end())
      report_unknown(entry, "", known, problems);

  WrittenKeys daemon_written;
  configuration.daemon = default_settings<DaemonSettings>();
  if (const auto* table = table_entry(root, "daemon", problems))
    read_table(table->table, "daemon", configuration.daemon, daemon_written, problems);
  override_path(request.socket, "socket", configuration.daemon, daemon_written, problems);
  override_path(request.state_dir, "state_dir", configuration.daemon, daemon_written, problems);
  override_path(request.witness_dir, "witness_dir", configuration.daemon, daemon_written, problems);
  relate_daemon(configuration.daemon, daemon_written, problems);
  UserLists(problems).make("daemon", "admins", daemon_written, configuration.daemon.admins);
  if (configuration.daemon.admins.compiled.everyone)
    configuration.warnings.emplace_back("daemon.admins: every user who can connect may administer");

  WrittenKeys limits_written;
  configuration.limits = default_settings<Limits>();
  if (const auto* table = table_entry(root, "limits", problems))
    read_table(table->table, "limits", configuration.limits, limits_written, problems);
  relate_log_size(configuration.limits, configuration.daemon, limits_written, daemon_written,
                  problems);

  read_stores(table_entry(root, "store", problems), daemon_written, request, configuration,
              problems);
  read_sequences(table_entry(root, "sequence_defaults", problems),
                 table_entry(root, "sequence", problems), request, configuration, problems);
  configuration.daemon_written = std::move(daemon_written);
  configuration.limits_written = std::move(limits_written);
}

}  // namespace

const SequenceSettings* Configuration::find(const std::string& name) const {
  if (const auto kept = kept_.find(name); kept != kept_.end()) return &kept->second;
  if (const auto recent = recent_.find(name); recent != recent_.end()) return &recent->second;
  if (auto node = less_recent_.extract(name)) {
    make_room();
    return &recent_.insert(std::move(node)).position->second;
  }
  if (!period_of(name).empty()) return find_period(name);
  const SequenceTableSettings* table = find_table(name);
  if (table == nullptr || table->needs_restart) return nullptr;
  SequenceSettings& settings = remember(name, table->settings);
  settings.named = sequences.contains(name);
  if (settings.binding.key.empty() && settings.periods.rule == nullptr) settings.binding.key = name;
  return &settings;
}

const SequenceSettings* Configuration::find_period(const std::string& name) const {
  const std::string base(base_of(name));
  const SequenceSettings* settings = find(base);
  if (settings == nullptr || settings->periods.rule == nullptr) return nullptr;
  std::optional<Period> period = settings->periods.rule->named(period_of(name));
  if (!period) return nullptr;
  SequenceSettings of_period = *settings;
  of_period.binding.key = period_key(settings->binding.key, base, *period);
  of_period.periods.current = std::move(period);
  return &remember(name, of_period);
}

SequenceSettings& Configuration::remember(const std::string& name,
                                          const SequenceSettings& settings) const {
  make_room();
  return recent_.emplace(name, settings).first->second;
}

void Configuration::make_room() const {
  if (recent_.size() < kRecent) return;
  less_recent_ = std::exchange(recent_, {});
}

std::shared_ptr<const IdFormat> Configuration::find_format(std::string_view name) const {
  if (const auto kept = kept_.find(std::string(name)); kept != kept_.end())
    return kept->second.text.compiled;
  const SequenceTableSettings* table = find_table(std::string(name));
  return table == nullptr || table->needs_restart ? nullptr : table->settings.text.compiled;
}

// Also where the table waits for a restart: what is in use goes on being served meanwhile.
const AccessSettings* Configuration::find_access(std::string_view name) const {
  const SequenceTableSettings* table = find_table(std::string(name));
  return table == nullptr ? nullptr : &table->settings.access;
}

std::vector<NamedSequence> Configuration::named_sequences() const {
  std::vector<NamedSequence> out;
  for (const auto& [name, table] : sequences) {
    if (!is_pattern(name)) out.push_back({name, &table.settings});
  }
  return out;
}

const Configuration::Table* Configuration::find_written(const std::string& name) const {
  if (const auto exact = sequences.find(name); exact != sequences.end()) return &*exact;
  const std::string* const pattern = patterns.find(name);
  return pattern == nullptr ? nullptr : &*sequences.find(*pattern);
}

const SequenceTableSettings* Configuration::find_table(const std::string& name) const {
  if (const Table* const written = find_written(name); written != nullptr) return &written->second;
  return daemon.allow_unlisted ? &sequence_defaults : nullptr;
}

Configuration::NamedTable Configuration::find_named_table(const std::string& name) const {
  if (const Table* const written = find_written(name); written != nullptr)
    return {written->first, &written->second};
  return {{}, daemon.allow_unlisted ? &sequence_defaults : nullptr};
}

const SequenceSettings* Configuration::find_kept(const std::string& name) const {
  const auto kept = kept_.find(name);
  return kept == kept_.end() ? nullptr : &kept->second;
}

Result<Configuration> parse_configuration(const std::string& text, const std::string& file,
                                          const ConfigurationRequest& request) {
  const Result<DocumentTable> document = parse_document(text, file);
  if (!document.ok()) return document.status();
  Configuration configuration;
  Problems problems(file);
  configuration.file = file;
  read_root(*document, request, configuration, problems);
  if (!problems.empty()) return problems.status();
  configuration.warnings.insert(configuration.warnings.end(), problems.warnings().begin(),
                                problems.warnings().end());
  return configuration;
}

Result<Configuration> load_configuration(const ConfigurationRequest& request) {
  const std::string path = request.file.value_or(kDefaultFile);
  const Result<std::optional<FileContent>> content = read_file(path, request.file.has_value());
  if (!content.ok()) return content.status();
  const bool present = content->has_value();
  Result<Configuration> configuration =
      parse_configuration(present ? (*content)->text : "", escape_line(path, 300), request);
  if (!configuration.ok()) return configuration;
  if (!present) configuration->file.clear();
  for (const auto& [name, store] : configuration->stores) {
    const bool inline_password = store.uri_file.empty() && store.uri.find('@') != std::string::npos;
    if (inline_password && (*content)->others_may_read)
      configuration->warnings.push_back("store." + name + ".uri: every user can read " +
                                        configuration->file + ", which holds its password");
  }
  return configuration;
}

}  // namespace seqd
