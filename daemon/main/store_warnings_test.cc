#include "daemon/main/store_warnings.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("ServicesThatAreNotMongoDBAreKnownByTheirDomain", "[config]") {
  for (const char* uri :
       {"mongodb://u:p@shop.mongo.cosmos.azure.com:10255/?ssl=true&replicaSet=globaldb",
        "mongodb+srv://u:p@shop.mongocluster.cosmos.azure.com/", "mongodb://SHOP.Cosmos.Azure.COM",
        "mongodb://a:1,shop.cluster-1.eu-central-1.docdb.amazonaws.com:27017/shop",
        "mongodb://u:p@shop.eu-central-1.docdb-elastic.amazonaws.com.:27017",
        "mongodb://u:p@x@shop.documents.azure.com",
        "mongodb://u:p@shop.mongo.cosmos.azure.com:10255/?ssl=true&appName=@shop@",
        "mongodb://u:p@shop.mongo.cosmos.azure.com?appName=@shop@",
        "mongodb://u:p@x.oraclecloudapps.com:27017/u",
        "mongodb://1b2c.nam5.firestore.goog:443/shop?tls=true"}) {
    INFO(uri);
    const std::string warning = warning_of_uri(uri);
    CHECK(warning.find("not MongoDB") != std::string::npos);
    CHECK(warning.find("u:p") == std::string::npos);
  }
}

TEST_CASE("OtherHostsAreNotWarnedOf", "[config]") {
  for (const char* uri :
       {"", "mongodb://", "mongodb://localhost/shop", "mongodb+srv://shop.ab1cd.mongodb.net/shop",
        "mongodb://notcosmos.azure.com.example/", "mongodb://xdocdb.amazonaws.com",
        "mongodb://user:docdb.amazonaws.com@db1/", "mongodb://db1/?appName=cosmos.azure.com",
        "mongodb://db1/?appName=@cosmos.azure.com", "cosmos.azure.com"}) {
    INFO(uri);
    CHECK(warning_of_uri(uri).empty());
  }
}

TEST_CASE("OptionThatAllowsGlobalTablesIsWarnedOf", "[config]") {
  StoreSettings store;
  store.type = StoreType::dynamodb;
  store.region = "eu-central-1";
  CHECK(warning_of_store(store).empty());
  store.unsafe_global_table = true;
  CHECK(warning_of_store(store).find("eu-central-1") != std::string::npos);
}

}  // namespace
}  // namespace seqd
