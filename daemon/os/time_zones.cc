#include "daemon/os/time_zones.h"

// As Debian builds the library: with the system's zone files, and nothing fetched from anywhere.
#define USE_OS_TZDB 1
#include <date/tz.h>

#include <exception>

#include "daemon/os/event_line.h"

namespace seqd {
namespace {

class Zone final : public TimeZone {
 public:
  explicit Zone(const date::time_zone& zone) : zone_(zone) {}

  UtcOffset offset_at(std::int64_t utc_s) const override {
    const date::sys_info info = zone_.get_info(date::sys_seconds(std::chrono::seconds(utc_s)));
    return {info.begin.time_since_epoch().count(), info.end.time_since_epoch().count(),
            info.offset.count()};
  }

 private:
  const date::time_zone& zone_;  // of the library's list, which is never taken away
};

}  // namespace

Result<std::shared_ptr<const TimeZone>> find_time_zone(const std::string& name) {
  if (name == "UTC") return std::shared_ptr<const TimeZone>();
  // The library throws when there is no such zone, and when a file of it is no zone file.
  try {
    auto zone = std::make_shared<Zone>(*date::locate_zone(name));
    static_cast<void>(zone->offset_at(0));  // reads the file, which it does on the first question
    return std::shared_ptr<const TimeZone>(std::move(zone));
  } catch (const std::exception&) {
    return Status(ErrorCode::CONFIG,
                  "found \"" + escape_line(name, 60) +
                      "\"; allowed: UTC, or the name of a zone in /usr/share/zoneinfo, as "
                      "\"Europe/Berlin\" (package tzdata)");
  }
}

}  // namespace seqd
