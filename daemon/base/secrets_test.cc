#include "daemon/base/secrets.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("AnAddressIsMaskedWhateverItsForm", "[secrets]") {
  CHECK(masked_address("mongodb://h/") == "mongodb://h/");
  CHECK(masked_address("mongodb://h1:27017,[::1]:27018,h3/db?a=b") ==
        "mongodb://h1:27017,[::1]:27018,h3/db");
  CHECK(masked_address("mongodb://%2Ftmp%2Fmongodb.sock/db") ==
        "mongodb://%2Ftmp%2Fmongodb.sock/db");
  CHECK(masked_address("mongodb+srv://u:p@ss@h") == "mongodb+srv://***@h");
  CHECK(masked_address("mongodb://u:p/w?x@h/db?a=b") == "mongodb://***@h/db");
  CHECK(masked_address("mongodb://h/?user=a@secret") == "mongodb://***@secret");
  // The host was forgotten, so a part of the password may stand in its place.
  CHECK(masked_address("mongodb://admin:hunter2") == "mongodb://***");
  CHECK(masked_address("mongodb://admin:hun/ter2?w=1") == "mongodb://***");
  CHECK(masked_address("mongodb://h1:27017,admin:hunter2/db") == "mongodb://***");
  for (const char* none : {"", "hunter2", "u:p@h", "mongodb:/u:p@h"})
    CHECK(masked_address(none) == "***");
}

TEST_CASE("KnownSecretsAreHiddenWhereverTheyStand", "[secrets]") {
  CHECK(hide("a hunter2 and hunter2b", {"hunter2", "hunter2b"}) == "a *** and ***");
  CHECK(hide("nothing", {"", "x"}) == "nothing");
  CHECK(hide("aaa", {"a"}) == "*********");
  CHECK(hide("***", {"*"}).size() == 9);
}

TEST_CASE("WhatLooksSecretInTheTextOfAnotherProgramIsHidden", "[secrets]") {
  const std::string key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
  const std::string jwt = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQifQ.c2ln";
  for (const char* const text : {
           R"({"AccessKeyId": "AKIA", "SecretAccessKey": "hunter2", "x": 1})",
           "export AWS_SECRET_ACCESS_KEY='hunter2' in vain",
           "aws_session_token = hunter2",
           "PASSWORD:hunter2;",
           "Authorization: Bearer hunter2",
           "authorization: hunter2",
           "GET https://user:hunter2@proxy:3128/x failed",
           "cannot reach \"http://hunter2@proxy\"",
       }) {
    INFO(text);
    const std::string hidden = hide_what_looks_secret(text);
    CHECK(hidden.find("hunter2") == std::string::npos);
    CHECK(hidden.find(kHidden) != std::string::npos);
  }
  CHECK(hide_what_looks_secret("key " + key + " is old") == "key *** is old");
  CHECK(hide_what_looks_secret("(" + jwt + ")") == "(***)");
}

TEST_CASE("WordsOfAnErrorStayReadable", "[secrets]") {
  for (const char* text :
       {"Error loading SSO Token: Token for my-sso does not exist",
        "/usr/local/lib/python3/site-packages/botocore/credentials: no such file or directory",
        "the token has expired; run aws sso login", "https://sts.amazonaws.com/ timed out", "", "=",
        ":", "password", "token:", "secret=\"", "://", "@://@"}) {
    INFO(text);
    const std::string hidden = hide_what_looks_secret(text);
    if (std::string_view(text).find("Token: Token") == std::string_view::npos)
      CHECK(hidden == text);
    else
      CHECK(hidden == "Error loading SSO Token: *** for my-sso does not exist");
  }
}

TEST_CASE("PercentCodesAreDecodedAndOthersStay", "[secrets]") {
  CHECK(percent_decoded("a%40b%3a%2F") == "a@b:/");
  CHECK(percent_decoded("100%, %4, %zz, %") == "100%, %4, %zz, %");
}

}  // namespace
}  // namespace seqd
