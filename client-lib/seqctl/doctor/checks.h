// The checks of `seqctl doctor`. Every check needs a few system calls, or a program that is killed
// after two seconds; no check changes anything. They run as the present user: what it may not see
// is `unknown`. One thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "client-lib/seqctl/asking.h"
#include "client-lib/seqctl/doctor/finding.h"
#include "client-lib/seqd.h"

namespace seqd::seqctl {

// The socket: whether it is one, which users may connect, and whether another user could replace
// it.
void check_socket(const std::string& path, Findings& findings);

// The checks of an answer of status, and of sequences that cannot issue. Pure.
void check_status(const nlohmann::json& status, const char* own_version, Findings& findings);
// Asks the daemon, behind check_socket(); the answer of status, null when there is none.
nlohmann::json check_daemon(seqd_client* client, Findings& findings);

// The state directory: rights, kind of file system and room. `path`: where it is, or thought to be.
void check_state_dir(const std::string& path, Findings& findings);
// The witness directory of a daemon with that state directory.
void check_witness_dir(const std::string& path, const std::string& state_dir, Findings& findings);
// Where the process `pid` has its state: of the files that it has open. Empty: this user may not
// see it, or it is no seqd.
std::string state_dir_of(std::int64_t pid);
// The same of its witness: of the files that it has mapped.
std::string witness_dir_of(std::int64_t pid);

void check_clock(Findings& findings);

// The network namespace of a process. Empty: this user may not see it.
std::string network_of(std::int64_t pid);

// The unit, where systemd runs. `pid`: the daemon that answers, 0 if none does.
void check_unit(std::int64_t pid, Findings& findings);
// Of what `systemctl show` and `systemd-analyze security` print. Pure.
void check_unit_properties(const std::string& shown, Findings& findings);
// Of a daemon that the unit started, whether its network is what the unit gives it now. The
// networks are those of network_of(). Pure.
void check_network(const std::string& shown, const std::string& host_network,
                   const std::string& daemon_network, Findings& findings);
void check_exposure(const std::string& analyzed, const std::string& shown, Findings& findings);

}  // namespace seqd::seqctl
