// ConditionalUpdate: the hook that puts an ID into a record about to be saved, on Amazon DynamoDB:
// it reads the item `{NextKey: NAME, NextId: N}`, writes N + 1 on condition that N is unchanged,
// and starts over where it is not. It uses the number after; or, as the prose has it, returns the
// old one. Owned by main; any thread.
#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "tests/seeds/old_code.h"

namespace seqd::seeds {

class ConditionalUpdate : public OldCode {
 public:
  struct Service {
    std::string endpoint;  // "http://127.0.0.1:8000"
    std::string table;
    std::string access_key;
  };
  ConditionalUpdate(const Service& service, std::string name, bool returns_old, IssueLog& log);
  ~ConditionalUpdate() override;
  ConditionalUpdate(const ConditionalUpdate&) = delete;
  ConditionalUpdate& operator=(const ConditionalUpdate&) = delete;
  std::optional<std::int64_t> next() override;

 private:
  struct Answer {
    long status = 0;  // of HTTP; 0: there was none
    std::string body;
  };
  struct Destroy {
    void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
  };
  Answer call(const char* operation, const nlohmann::json& body);
  std::optional<std::int64_t> read();
  Answer write(std::int64_t current);

  const Service service_;
  const std::string name_;
  const bool returns_old_;
  IssueLog& log_;
  std::mutex mutex_;  // guards the connection
  const std::unique_ptr<CURL, Destroy> connection_;
};

}  // namespace seqd::seeds
