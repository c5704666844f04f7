// Taking: IDs and texts that `next` and `range` request from the daemon. What it has replied is
// printed, also after an interruption or an error; then nothing more is requested. Owned by a
// command; one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "client-lib/seqctl/awaiting.h"
#include "client-lib/seqctl/command_line.h"
#include "client-lib/seqctl/id_stream.h"
#include "client-lib/seqctl/output.h"
#include "client-lib/seqd.h"

namespace seqd::seqctl {

class Taking {
 public:
  // All of them outlive this.
  Taking(const Arguments& arguments, seqd_client* client, Output& out, Output& errors)
      : arguments_(arguments), client_(client), out_(out), errors_(errors), awaiting_(client) {}

  // Each: the exit code.
  int next();
  int next_text();
  int range();

 private:
  bool goes_on() const;
  int submit(std::int64_t count);
  // One more answer, and its code; false: none comes.
  bool take(seqd_reply& reply, int& code);
  std::int64_t ids_at_once(int& code);
  int take_texts(std::size_t count, std::vector<std::string>& texts);
  int finished(int code);

  const Arguments& arguments_;
  seqd_client* client_;
  Output& out_;
  Output& errors_;
  Awaiting awaiting_;
  std::string error_;  // of the first request that failed
};

}  // namespace seqd::seqctl
