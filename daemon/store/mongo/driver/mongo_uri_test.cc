#include "daemon/store/mongo/driver/mongo_uri.h"

#include <type_traits>
#include <utility>

#include "tests/adapters/mongo/mongo_server.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

MongoStoreOptions options_of(const std::string& uri) {
  testing::mongo_driver();
  MongoStoreOptions options;
  options.uri = uri;
  return options;
}

TEST_CASE("MongoUri: defaults set every time-out and a journalled majority", "[mongo]") {
  auto target = read_mongo_uri(options_of("mongodb://one:27017,two:27018/shop"));
  REQUIRE(target.ok());
  REQUIRE(target->database == "shop");
  REQUIRE(target->hosts == "one:27017,two:27018");
  for (const char* name : {MONGOC_URI_SERVERSELECTIONTIMEOUTMS, MONGOC_URI_CONNECTTIMEOUTMS,
                           MONGOC_URI_SOCKETTIMEOUTMS, MONGOC_URI_WAITQUEUETIMEOUTMS}) {
    REQUIRE(mongoc_uri_get_option_as_int32(target->uri.get(), name, 0) == 5000);
  }
  REQUIRE(mongoc_uri_get_option_as_int32(target->uri.get(), MONGOC_URI_MAXPOOLSIZE, 0) == 8);
  REQUIRE(mongoc_uri_get_option_as_bool(target->uri.get(), MONGOC_URI_RETRYWRITES, false));
  REQUIRE(mongoc_write_concern_get_wmajority(target->write_concern.get()));
  REQUIRE(mongoc_write_concern_get_journal(target->write_concern.get()));
  REQUIRE(mongoc_write_concern_get_wtimeout_int64(target->write_concern.get()) == 3750);
}

TEST_CASE("MongoUri: a name of mongodb+srv:// that cannot be one is not said to need encoding",
          "[mongo]") {
  const auto text_of = [](const char* uri) {
    const auto target = read_mongo_uri(options_of(uri));
    REQUIRE(target.status().code() == ErrorCode::CONFIG);
    REQUIRE(target.status().text().find("secret") == std::string::npos);
    return target.status().text();
  };
  const std::string name = text_of("mongodb+srv://user:secret@cluster0/shop");
  REQUIRE(name.find("Invalid service name") != std::string::npos);
  REQUIRE(name.find("percent") == std::string::npos);
  REQUIRE(text_of("mongodb+srv://user:secret@a.b.c:27017/shop").find("Port") != std::string::npos);
  REQUIRE(text_of("mongodb+srv://user:secret@more@c0/shop").find("percent") != std::string::npos);
}

// The driver fills a concern's own memory at the first command that it is appended to; where two
// threads did that at once, the half of it was sent, to the end of the process.
TEST_CASE("MongoUri: what all threads share is constant, and in a command's form", "[mongo]") {
  auto target = read_mongo_uri(options_of("mongodb://one/shop"));
  REQUIRE(target.ok());
  static_assert(std::is_const_v<std::remove_reference_t<decltype(*target->write_concern)>>);
  const Document& field = std::as_const(*target).write_concern_field;
  bson_iter_t found;
  REQUIRE(find_field(field.get(), "writeConcern.w", &found));
  REQUIRE(bson_iter_utf8(&found, nullptr) == std::string("majority"));
  REQUIRE(find_field(field.get(), "writeConcern.wtimeout", &found));
  REQUIRE(bson_iter_as_int64(&found) == 3750);
}

TEST_CASE("MongoUri: a weaker write concern is refused unless it is asked for as unsafe",
          "[mongo]") {
  const std::string weak = GENERATE("w=1", "journal=false", "w=majority&journal=false");
  auto options = options_of("mongodb://one/shop?" + weak);
  auto refused = read_mongo_uri(options);
  REQUIRE(refused.status().code() == ErrorCode::CONFIG);
  REQUIRE(refused.status().text().find("unsafe_write_concern") != std::string::npos);
  options.unsafe_write_concern = true;
  REQUIRE(read_mongo_uri(options).ok());
}

TEST_CASE("MongoUri: w=0 is refused always, for it answers nothing", "[mongo]") {
  auto options = options_of("mongodb://one/shop?w=0");
  options.unsafe_write_concern = GENERATE(false, true);
  REQUIRE(read_mongo_uri(options).status().code() == ErrorCode::CONFIG);
}

TEST_CASE("MongoUri: a stronger write concern of the URI becomes majority with journal",
          "[mongo]") {
  auto target = read_mongo_uri(options_of("mongodb://one/shop?w=3&journal=true"));
  REQUIRE(target.ok());
  REQUIRE(mongoc_write_concern_get_wmajority(target->write_concern.get()));
}

TEST_CASE("MongoUri: values outside their bounds are refused with the bounds", "[mongo]") {
  auto options = options_of("mongodb://one/shop?socketTimeoutMS=0");
  REQUIRE(read_mongo_uri(options).status().text().find("60000") != std::string::npos);
  options = options_of("mongodb://one/shop?serverSelectionTimeoutMS=600000");
  REQUIRE(read_mongo_uri(options).status().code() == ErrorCode::CONFIG);
  for (const int timeout_ms : {-1, 0, 99, 60'001}) {
    options = options_of("mongodb://one/shop");
    options.timeout_ms = timeout_ms;
    REQUIRE(read_mongo_uri(options).status().code() == ErrorCode::CONFIG);
  }
  for (const int concurrency : {-1, 0, 65}) {
    options = options_of("mongodb://one/shop");
    options.concurrency = concurrency;
    REQUIRE(read_mongo_uri(options).status().code() == ErrorCode::CONFIG);
  }
}

TEST_CASE("MongoUri: a database is needed, and the option beats the URI", "[mongo]") {
  REQUIRE(read_mongo_uri(options_of("mongodb://one")).status().text().find("database") !=
          std::string::npos);
  auto options = options_of("mongodb://one/shop");
  options.database = "other";
  REQUIRE(read_mongo_uri(options)->database == "other");
  for (const std::string bad : {"a b", "a.b", "a/b", "a$b"}) {
    options.database = bad;
    REQUIRE(read_mongo_uri(options).status().code() == ErrorCode::CONFIG);
  }
  options.database = std::string(64, 'd');
  REQUIRE(read_mongo_uri(options).status().code() == ErrorCode::CONFIG);
}

TEST_CASE("MongoUri: no error text carries a secret", "[mongo]") {
  const std::string uri = GENERATE(
      "mongodb://user:hunter2@:bad:/shop", "mongodb://user:hun@ter2/x@one/shop?w=1",
      "mongodb://user:hunter2@one/shop?w=1", "mongodb://user:hunter2@one",
      "nonsense://user:hunter2@one/shop", "mongodb://user:hunter2%@one/shop",
      "mongodb://user:hunter2@one/shop?tls=true&tlsCertificateKeyFilePassword=hunter2&w=1",
      "mongodb://:bad:/shop?authMechanismProperties=SERVICE_NAME:x,AWS_SESSION_TOKEN:hunter2&w=3",
      "mongodb://one/shop?authMechanismProperties=AWS_SESSION_TOKEN:hunter2%",
      "mongodb://:bad:/?authMechanismProperties=AWS_SESSION_TOKEN%3Ahunter2&w=3",
      "mongodb://one/shop?tlsCertificateKeyFilePass%77ord=hunter2&w=1", "mongodb://user:hunter2",
      "mongodb://user:hunter2/shop?w=1", "hunter2", "user:hunter2@one",
      "mongodb://one,user:hunter2/shop");
  INFO(uri);
  auto target = read_mongo_uri(options_of(uri));
  REQUIRE(target.status().code() == ErrorCode::CONFIG);
  for (const char* secret : {"hunter2", "ter2", "user"}) {
    if (target.status().text().find("user name") != std::string::npos &&
        std::string(secret) == "user")
      continue;
    INFO(target.status().text());
    REQUIRE(target.status().text().find(secret) == std::string::npos);
  }
}

TEST_CASE("MongoUri: masking hides user, password and the key's passphrase", "[mongo]") {
  REQUIRE(masked_mongo_uri("mongodb://u:p@one/shop?w=majority") ==
          "mongodb://***@one/shop?w=majority");
  REQUIRE(masked_mongo_uri("mongodb://u:p@ss@one/shop") == "mongodb://***@one/shop");
  REQUIRE(masked_mongo_uri("mongodb://one/shop?tlsCertificateKeyFilePassword=p&w=3") ==
          "mongodb://one/shop?tlsCertificateKeyFilePassword=***&w=3");
  REQUIRE(masked_mongo_uri("mongodb://one/?x=AWS_SESSION_TOKEN:p,A:b&w=3&tls") ==
          "mongodb://one/?x=***&w=3&tls=");
  REQUIRE(masked_mongo_uri("mongodb://one/?pass%77ord=p&w=3") == "mongodb://one/?***&w=3");
  REQUIRE(masked_mongo_uri("mongodb://one/shop") == "mongodb://one/shop");
  REQUIRE(masked_mongo_uri("mongodb://u:p") == "mongodb://***");
  REQUIRE(masked_mongo_uri("u:p@one") == "***");
  REQUIRE(masked_mongo_uri("").empty());
}

TEST_CASE("MongoUri: bytes that no URI holds are refused", "[mongo]") {
  REQUIRE(read_mongo_uri(options_of("")).status().code() == ErrorCode::CONFIG);
  REQUIRE(read_mongo_uri(options_of(std::string("mongodb://one/\0shop", 19))).status().code() ==
          ErrorCode::CONFIG);
  REQUIRE(read_mongo_uri(options_of("mongodb://")).status().code() == ErrorCode::CONFIG);
  REQUIRE(read_mongo_uri(options_of("http://one/shop")).status().code() == ErrorCode::CONFIG);
}

TEST_CASE("MongoUri: an error of driver or server loses every secret of the URI", "[mongo]") {
  const auto target = read_mongo_uri(
      options_of("mongodb://AKIA:se%2Fcret@one/shop?authMechanism=MONGODB-AWS&authSource=$external&"
                 "authMechanismProperties=AWS_SESSION_TOKEN:to%2Bken&tls=true&"
                 "tlsCertificateKeyFilePassword=phrase%21"));
  REQUIRE(target.ok());
  const auto hidden = [&](const char* text) { return hide_secrets(text, target->uri.get()); };
  for (const char* secret :
       {"se/cret", "se%2Fcret", "to+ken", "to%2Bken", "phrase!", "phrase%21"}) {
    INFO(secret);
    CHECK(hidden(secret) == "***");
    CHECK(hidden((std::string("a ") + secret + " b").c_str()) == "a *** b");
  }
  CHECK(hidden("w=majority is not reached") == "w=majority is not reached");
  const auto with_at =
      read_mongo_uri(options_of("mongodb://u:se%2Fcret@one/shop?authMechanismProperties="
                                "AWS_SESSION_TOKEN:to%2Bken&appName=me@x"));
  REQUIRE(with_at.ok());
  for (const char* secret : {"se/cret", "se%2Fcret", "to+ken", "to%2Bken"}) {
    INFO(secret);
    CHECK(hide_secrets(secret, with_at->uri.get()) == "***");
  }
}

}  // namespace
}  // namespace seqd
