#include "daemon/store/dynamo/credentials/aws_address.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

TEST_CASE("AwsAddress: in the clear secrets go to this host and its hypervisor only", "[aws]") {
  for (const char* const good :
       {"http://localhost", "http://localhost:8080/x", "http://127.0.0.1:80/a?b=c&d",
        "http://127.255.0.9/", "http://[::1]:9/x", "http://169.254.170.2/v2/credentials/1-2",
        "http://169.254.170.23/v1/credentials", "http://[fd00:ec2::23]/v1/credentials",
        "http://169.254.169.254", "http://[fd00:ec2::254]", "https://example.com",
        "https://example.com:8443/x", "https://sts.eu-central-1.amazonaws.com/"}) {
    INFO(good << ": " << check_aws_address(good).text());
    REQUIRE(check_aws_address(good).ok());
  }
  for (const char* const bad :
       {"http://example.com/", "http://10.0.0.1/", "http://169.254.170.3/", "http://127.1/",
        "http://127.0.0.1.example.com/", "http://0x7f.0.0.1/", "http://127.0.0.256/",
        "http://localhost.example.com/", "http://[::2]/", "http://[::ffff:10.0.0.1]/",
        "http://192.168.127.0/", "http://1270.0.0.1/"}) {
    INFO(bad);
    REQUIRE(check_aws_address(bad).text().find("use https") != std::string::npos);
  }
}

TEST_CASE("AwsAddress: what two programs could read in two ways is refused", "[aws]") {
  for (const char* const bad : {"",
                                "http://",
                                "http:///x",
                                "ftp://localhost/",
                                "file:///etc/passwd",
                                "localhost/x",
                                "http://user@localhost/",
                                "http://localhost@example.com/",
                                "http://example.com@localhost/",
                                "http://localhost:/",
                                "http://localhost:99x/",
                                "http://localhost:123456/",
                                "http://localhost\\@example.com/",
                                "http://localhost/a b",
                                "http://localhost/a\r\nX: y",
                                "http://localhost?x",
                                "http://localhost#x",
                                "http://local host/",
                                "http://[::1/x",
                                "http://[::1]x/",
                                "http://[]/",
                                "http://localhost/\\x",
                                "http://localhost/#x",
                                "http://l\303\266calhost/",
                                "HTTP://localhost/"}) {
    INFO(bad);
    REQUIRE_FALSE(check_aws_address(bad).ok());
  }
  REQUIRE_FALSE(check_aws_address("https://" + std::string(300, 'a')).ok());
  REQUIRE_FALSE(check_aws_address("https://a/" + std::string(3'000, 'a')).ok());
}

TEST_CASE("AwsAddress: forms, regions and domains", "[aws]") {
  REQUIRE(form_encoded("aZ09-_.~") == "aZ09-_.~");
  REQUIRE(form_encoded("a b&c=d+\xff") == "a%20b%26c%3Dd%2B%FF");
  REQUIRE(is_aws_region("eu-central-1"));
  for (const char* const bad : {"", "EU", "eu central", "x/../y", "eu.central"})
    REQUIRE_FALSE(is_aws_region(bad));
  REQUIRE(aws_domain_of("eu-central-1") == "amazonaws.com");
  REQUIRE(aws_domain_of("cn-north-1") == "amazonaws.com.cn");
}

}  // namespace
}  // namespace seqd
