// Module: a part of seqd in a shared object of its own, because it needs libraries that most
// daemons do without: NAME.so, in modules/ beside the program (as built) or in ../lib/seqd (as
// installed). No option or variable names another place, and a module that another user may have
// put there is refused: file and directory belong to root, to the owner of the program, or to the
// daemon's user, and others may not write to them. It belongs to one build of the program. Main
// thread.
#pragma once

#include <string>
#include <vector>

#include "daemon/base/status.h"

namespace seqd {

class Module {
 public:
  // `name`: as in the configuration, "mongodb"; the package is seqd-NAME. `directories`: where it
  // may lie, the first has precedence.
  Module(std::string name, std::vector<std::string> directories);
  explicit Module(std::string name);

  // The path of the file. CONFIG when there is none, or it cannot be read, or may be another
  // user's; the text says what to do. Loads nothing.
  Result<std::string> find() const;
  // Loads it, once and for good, with all that it needs, and returns its function seqd_NAME_module.
  // CONFIG as above, or when it is of another build, or a library is lacking.
  Result<void*> load() const;
  // For people: where it is, or why it cannot be used; one line.
  std::string description() const;

 private:
  std::string reinstall() const;
  Status failure(const std::string& what) const;
  Status failure(const std::string& what, const std::string& instead) const;

  const std::string name_;
  const std::vector<std::string> directories_;
};

}  // namespace seqd
