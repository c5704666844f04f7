// Lifetime: lets callbacks end with their owner. An answer of a store cannot be cancelled as a
// timer can: it may arrive when its requester no longer exists. The last member of the owner, so
// that it ends first; one thread.
#pragma once

#include <memory>
#include <utility>

namespace seqd {

class Lifetime {
 public:
  Lifetime() = default;
  Lifetime(const Lifetime&) = delete;
  Lifetime& operator=(const Lifetime&) = delete;

  // Returns a function that runs `call` while this exists, and does nothing afterwards. `call` may
  // refer to the owner.
  template <typename Call>
  auto guard(Call call) const {
    return [alive = std::weak_ptr(alive_), call = std::move(call)](auto&&... arguments) {
      if (!alive.expired()) call(std::forward<decltype(arguments)>(arguments)...);
    };
  }

 private:
  std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace seqd
