#include "daemon/rpc/sequence_names.h"

#include <cstdint>
#include <optional>
#include <string>

#include "protocol/text/names.h"

namespace seqd {
namespace {

Status refusal(const std::optional<protocol::NameProblem>& problem) {
  return problem ? Status(problem->code, std::string(problem->text)) : Status();
}

}  // namespace

Status check_name(const MethodLimits& limits, std::string_view name) {
  return refusal(protocol::check_sequence_name(name, limits.name));
}

Status check_name_with_period(const MethodLimits& limits, std::string_view name) {
  return refusal(protocol::check_name_with_period(name, limits.name));
}

Status check_leases(const MethodContext& context, std::string_view name) {
  if (context.inserts != nullptr && context.inserts->find(name) != nullptr)
    return leases_nothing(name, SequenceMode::insert);
  if (context.registers != nullptr && context.registers->has(base_of(name)))
    return leases_nothing(name, SequenceMode::registers);
  return {};
}

Result<std::vector<std::string_view>> read_names(const MethodLimits& limits,
                                                 const protocol::Message& message, std::size_t most,
                                                 const Status& usage) {
  if (message.param_count > most) return usage;
  protocol::ValueReader params = message.params;
  std::vector<std::string_view> names;
  for (std::uint32_t at = 0; at < message.param_count; ++at) {
    const std::optional<std::string_view> name = params.read_text();
    if (!name) return usage;
    if (Status status = check_name_with_period(limits, *name); !status.ok()) return status;
    names.push_back(*name);
  }
  return names;
}

}  // namespace seqd
