// Registering: the commands of a register: assign, confirm, cancel, register, settle and close.
// Owned by a command; one thread.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "client-lib/seqctl/asking.h"
#include "client-lib/seqctl/command_line.h"
#include "client-lib/seqctl/output.h"
#include "client-lib/seqd.h"

namespace seqd::seqctl {

class Registering {
 public:
  // All of them outlive this.
  Registering(const Arguments& arguments, seqd_client* client, Output& out, Output& errors)
      : arguments_(arguments), client_(client), out_(out), errors_(errors) {}

  // Each: the exit code.
  int assign();
  int confirm();
  int cancel();
  int records();  // page by page, so that a long register is printed as it comes
  int settle();   // a line for each key of a file that could not be settled
  int close();    // without --yes: what is not confirmed

 private:
  nlohmann::json options(bool has_number) const;
  int call(const char* method, const nlohmann::json& params, nlohmann::json& record);
  int reported(const Answered& answered);
  int print_records(const std::string& state, std::int64_t& count);
  bool settle_line(const std::string& line, std::size_t number);

  const Arguments& arguments_;
  seqd_client* client_;
  Output& out_;
  Output& errors_;
};

}  // namespace seqd::seqctl
