#include "daemon/rpc/rights.h"

#include <string>

namespace seqd {
namespace {

std::string user_text(const Peer& peer) {
  return "user " + std::to_string(peer.uid);
}

bool is_owner(const Control& control, const Peer& peer) {
  return peer.uid == 0 || peer.uid == control.user();
}

constexpr const char* kRoot = "the user is root";
constexpr const char* kDaemonsUser = "the daemon runs as this user";

const char* owner_text(const Peer& peer) {
  return peer.uid == 0 ? kRoot : kDaemonsUser;
}

}  // namespace

Status check_administers(const Control& control, const Peer& peer, std::string_view method) {
  if (is_owner(control, peer) || control.admins().contains(peer)) return {};
  return {ErrorCode::DENIED, std::string(method) + " is for administrators, and " +
                                 user_text(peer) + " is not one. Administrators are root, user " +
                                 std::to_string(control.user()) +
                                 " (which the daemon runs as), and the users and \"@groups\" in "
                                 "the option daemon.admins of seqd.toml"};
}

Status check_may_take(const MethodContext& context, const Peer& peer, std::string_view name) {
  return check_may_take(context, peer, name, context.table.access_of(name));
}

Status check_may_take(const MethodContext& context, const Peer& peer, std::string_view name,
                      const AccessSettings* access) {
  // Of a name that is not configured nothing is issued.
  if (access == nullptr) return {};
  const bool denied = access->deny.compiled.contains(peer);
  if (!denied && (access->allow.compiled.contains(peer) || is_owner(context.control, peer)))
    return {};
  return {ErrorCode::DENIED,
          user_text(peer) + " may not take IDs of \"" + std::string(name) + "\": the option " +
              (denied ? "\"deny\" of the sequence in seqd.toml lists this user or one of its groups"
                      : "\"allow\" of the sequence in seqd.toml lists neither this user nor one of "
                        "its groups; an administrator can add it there")};
}

bool may_know(const MethodContext& context, const Peer& peer, std::string_view name,
              const AccessSettings* access) {
  return access == nullptr || access->lets_everyone() ||
         check_may_take(context, peer, name, access).ok() ||
         check_administers(context.control, peer, "").ok();
}

Status check_may_know(const MethodContext& context, const Peer& peer, std::string_view name,
                      std::string_view method) {
  const SequenceId id = context.table.find(name);
  const bool is_configured =
      id == 0 || context.table.at(id).stop_cause() != StopCause::unconfigured;
  const bool knows = is_configured ? may_know(context, peer, name, context.table.access_of(name))
                                   : check_administers(context.control, peer, "").ok();
  if (knows) return {};
  return {ErrorCode::DENIED, std::string(method) + " of \"" + std::string(name) +
                                 "\" is for users who may take its IDs (the options \"allow\" and "
                                 "\"deny\" of the sequence), and for administrators"};
}

void raise_administered(const MethodContext& context, const Session& session,
                        std::string_view method, std::string_view field, std::string_view what) {
  if (context.events == nullptr) return;
  const std::string uid = std::to_string(session.peer.uid);
  const std::string pid = std::to_string(session.peer.pid);
  std::string text(method);
  if (!what.empty()) text += " of \"" + std::string(what) + "\"";
  Event event{EventKind::administered,
              text + ", requested by user " + uid + ", process " + pid,
              {{"METHOD", std::string(method)}, {"CLIENT_UID", uid}, {"CLIENT_PID", pid}}};
  if (!field.empty()) event.fields.emplace_back(field, what);
  context.events->raise(event);
}

Permission may_administer(const Control& control, const Peer& peer) {
  const Status status = check_administers(control, peer, "administering");
  if (!status.ok()) return {false, status.text()};
  if (is_owner(control, peer)) return {true, owner_text(peer)};
  return {true, "the option daemon.admins lists this user or one of its groups"};
}

Permission may_take(const MethodContext& context, const Peer& peer, std::string_view name) {
  const AccessSettings* access = context.table.access_of(name);
  if (access == nullptr) return {false, "there is no such sequence"};
  const Status status = check_may_take(context, peer, name, access);
  if (!status.ok()) return {false, status.text()};
  if (base_of(name) != name && !context.table.is_present_period(name))
    return {false, "IDs are taken by the name \"" + std::string(base_of(name)) +
                       "\", and of its present period alone"};
  if (access->allow.compiled.everyone) return {true, "everyone who can connect may"};
  if (access->allow.compiled.contains(peer))
    return {true, "the option \"allow\" of the sequence lists this user or one of its groups"};
  return {true, owner_text(peer)};
}

Status check_slot(const MethodContext& context, const Peer& peer) {
  auto& by_user = context.drains_of_all.by_user;
  std::erase_if(by_user, [](const auto& one) { return one.second.expired(); });
  const bool owner = is_owner(context.control, peer);
  const std::size_t most = owner ? DrainsOfAll::kMost : DrainsOfAll::kMost - 1;
  if (!by_user.contains(peer.uid) && by_user.size() < most) return {};
  return {ErrorCode::BUSY, "a request for every sequence is in progress; try again later"};
}

}  // namespace seqd
