// Every source and the order of them, on scripted parts.
#include <algorithm>

#include "daemon/store/dynamo/credentials/aws_chain.h"
#include "daemon/store/dynamo/credentials/aws_documents.h"
#include "daemon/store/dynamo/credentials/aws_shared_files.h"
#include "tests/adapters/dynamo/aws_world.h"

#include <catch2/catch.hpp>

namespace seqd {
namespace {

using testing::AwsWorld;
using testing::metadata_document;
using Kind = AwsAnswer::Kind;

constexpr char kRole[] = "arn:aws:iam::123456789012:role/ids";
constexpr char kSts[] = "POST https://sts.eu-central-1.amazonaws.com/";
constexpr char kStsAnswer[] =
    R"({"AssumeRoleWithWebIdentityResponse": {"AssumeRoleWithWebIdentityResult": {"Credentials":
       {"AccessKeyId": "ASIASTS", "SecretAccessKey": "hunter2", "SessionToken": "t",
        "Expiration": 1893456000}}}})";
constexpr char kInstance[] = "http://169.254.169.254";
constexpr char kPath[] = "/latest/meta-data/iam/security-credentials/";

// Asks all of them; no text may hold a secret.
AwsAnswer ask(AwsWorld& world, const std::string& profile = "") {
  const auto chain = default_aws_chain(world.parts(), profile, "eu-central-1");
  AwsAnswer answer = world.ask(*chain);
  INFO(answer.why << answer.grant.origin);
  REQUIRE((answer.why + answer.grant.origin).find("hunter2") == std::string::npos);
  return answer;
}

std::string key_of(AwsWorld& world, const std::string& profile = "") {
  const AwsAnswer answer = ask(world, profile);
  INFO(answer.why);
  REQUIRE(answer.kind == Kind::found);
  REQUIRE_FALSE(answer.grant.origin.empty());
  return answer.grant.credentials.access_key_id;
}

// `word` stands in what is wrong, and nobody behind the source was asked.
void fails(AwsWorld& world, const std::string& word, const std::string& profile = "") {
  const AwsAnswer answer = ask(world, profile);
  INFO(answer.why);
  REQUIRE(answer.kind == Kind::failed);
  REQUIRE(answer.why.find(word) != std::string::npos);
}

void put_instance(AwsWorld& world, const std::string& endpoint = kInstance) {
  world.say("PUT " + endpoint + "/latest/api/token", 200, "v2-token");
  world.say("GET " + endpoint + kPath, 200, "ids\nsecond");
  world.say("GET " + endpoint + kPath + "ids", 200, metadata_document("ASIAIMDS"));
}

TEST_CASE("AwsSources: without any, each source says why it gave nothing", "[aws]") {
  AwsWorld world;
  world.environment["HOME"] = "/h";
  const AwsAnswer answer = ask(world);
  for (const char* const word :
       {"environment: AWS_ACCESS_KEY_ID is not set", "web identity: AWS_WEB_IDENTITY_TOKEN_FILE",
        "shared files: there is no profile \"default\"", "/h/.aws/credentials cannot be opened",
        "/h/.aws/config", "container: AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "instance metadata: http://169.254.169.254 returns no token: nobody listens there"}) {
    INFO(word << " in: " << answer.why);
    REQUIRE(answer.why.find(word) != std::string::npos);
  }
  world.environment = {{"AWS_EC2_METADATA_DISABLED", "TRUE"}};
  const AwsAnswer disabled = ask(world);
  REQUIRE(disabled.kind == Kind::absent);
  REQUIRE(disabled.why.find("HOME and AWS_SHARED_CREDENTIALS_FILE are not set") !=
          std::string::npos);
  REQUIRE(disabled.why.find("AWS_EC2_METADATA_DISABLED is set") != std::string::npos);
}

TEST_CASE("AwsSources: the order is that of Amazon's own libraries", "[aws]") {
  AwsWorld world;
  put_instance(world);
  REQUIRE(key_of(world) == "ASIAIMDS");
  world.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://localhost:9/role";
  world.say("GET http://localhost:9/role", 200, metadata_document("ASIAECS"));
  REQUIRE(key_of(world) == "ASIAECS");
  world.environment["HOME"] = "/h";
  world.files["/h/.aws/credentials"] =
      "[default]\naws_access_key_id = AKIDFILE\naws_secret_access_key = hunter2\n";
  REQUIRE(key_of(world) == "AKIDFILE");
  world.environment["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/token";
  world.environment["AWS_ROLE_ARN"] = kRole;
  world.files["/token"] = "hunter2.jwt\n";
  world.say(kSts, 200, kStsAnswer);
  REQUIRE(key_of(world) == "ASIASTS");
  world.environment["AWS_ACCESS_KEY_ID"] = "AKIDENV";
  world.environment["AWS_SECRET_ACCESS_KEY"] = "hunter2";
  REQUIRE(key_of(world) == "AKIDENV");
  world.files["/h/.aws/credentials"] +=
      "[ids]\naws_access_key_id = AKIDIDS\naws_secret_access_key = hunter2\n";
  REQUIRE(key_of(world, "ids") == "AKIDIDS");  // named by the configuration: before all of them
}

TEST_CASE("AwsSources: one that is configured and fails ends the search", "[aws]") {
  AwsWorld world;
  put_instance(world);
  SECTION("environment") {
    world.environment["AWS_ACCESS_KEY_ID"] = "AKID";
    fails(world, "AWS_SECRET_ACCESS_KEY is not");
    world.environment["AWS_SECRET_ACCESS_KEY"] = "hunter2 x";
    fails(world, "malformed");
  }
  SECTION("web identity") {
    world.environment["AWS_WEB_IDENTITY_TOKEN_FILE"] = "/token";
    fails(world, "AWS_ROLE_ARN is not");
  }
  SECTION("container") {
    world.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://localhost:9/";
    fails(world, "nobody listens there");
  }
  REQUIRE(world.requests.size() <= 1);
}

TEST_CASE("AwsSources: a web identity is exchanged for a role by STS of the region", "[aws]") {
  AwsWorld world;
  world.environment = {{"AWS_WEB_IDENTITY_TOKEN_FILE", "/token"}, {"AWS_ROLE_ARN", kRole}};
  world.files["/token"] = "hunter2.jwt\n";
  SECTION("and the role's credentials expire") {
    world.environment["AWS_ROLE_SESSION_NAME"] = "host@1";
    world.say(kSts, 200, kStsAnswer);
    const AwsAnswer answer = ask(world);
    REQUIRE(answer.grant.credentials == AwsCredentials{"ASIASTS", "hunter2", "t"});
    REQUIRE(answer.grant.expires_ms == 1'893'456'000'000);
    const HttpRequest& asked = world.requests.at(0);
    REQUIRE(asked.body ==
            "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleArn=arn%3Aaws%3Aiam%3A%3A"
            "123456789012%3Arole%2Fids&RoleSessionName=host%401&WebIdentityToken=hunter2.jwt");
    REQUIRE(std::count(asked.headers.begin(), asked.headers.end(), "Accept: application/json") ==
            1);
    REQUIRE(asked.timeout_ms > 0);
  }
  SECTION("at an endpoint of the environment") {
    world.environment["AWS_ENDPOINT_URL_STS"] = "http://127.0.0.1:99";
    world.say("POST http://127.0.0.1:99/", 200, kStsAnswer);
    REQUIRE(key_of(world) == "ASIASTS");
    world.environment["AWS_ENDPOINT_URL_STS"] = "http://sts.example.com";
    fails(world, "AWS_ENDPOINT_URL_STS: http is allowed for");
    REQUIRE(world.requests.size() == 1);
  }
  SECTION("and a refusal is told") {
    world.say(kSts, 403, R"({"Error": {"Code": "AccessDenied", "Message": "Not authorized"}})");
    fails(world, "status 403, AccessDenied: Not authorized");
    world.say(kSts, 200, "<AssumeRoleWithWebIdentityResponse>hunter2");
    fails(world, "not a JSON object");
    world.say(kSts, 307, "");
    fails(world, "status 307");
    world.say(kSts, 200, std::string(100'000, 'x'));
    fails(world, "longer than");
  }
  SECTION("and what cannot be sent is not") {
    world.files["/token"] = "hunter2\nhunter2";
    fails(world, "/token holds no token");
    world.files["/token"] = std::string(30'000, 'x');
    fails(world, "/token holds no token");
    world.files.clear();
    fails(world, "/token cannot be opened");
    world.environment["AWS_ROLE_SESSION_NAME"] = "a b";
    fails(world, "name of the session");
    world.environment["AWS_ROLE_ARN"] = "ids";
    fails(world, "arn:aws:iam::ACCOUNT:role/NAME");
    REQUIRE(world.requests.empty());
  }
}

// A host with both files, and nothing else.
struct Files : AwsWorld {
  Files() {
    environment = {{"AWS_SHARED_CREDENTIALS_FILE", "~/keys"},
                   {"AWS_CONFIG_FILE", "/config"},
                   {"HOME", "/h"},
                   {"AWS_EC2_METADATA_DISABLED", "true"}};
    files = {{"/h/keys", ""}, {"/config", ""}};
  }
};

TEST_CASE("AwsSources: keys come from the profile, and all of them from one file", "[aws]") {
  Files world;
  world.files["/config"] =
      "[profile ids]\naws_access_key_id = AKIDCONFIG\naws_secret_access_key = hunter2\n"
      "aws_session_token = of-config\n";
  world.environment["AWS_PROFILE"] = "ids";
  AwsAnswer answer = ask(world);
  REQUIRE(answer.grant.credentials == AwsCredentials{"AKIDCONFIG", "hunter2", "of-config"});
  REQUIRE_FALSE(answer.grant.expires_ms.has_value());
  world.files["/h/keys"] = "[ids]\naws_access_key_id = AKIDKEYS\naws_secret_access_key = hunter2\n";
  answer = ask(world);
  REQUIRE(answer.grant.credentials == AwsCredentials{"AKIDKEYS", "hunter2", ""});
  REQUIRE(answer.grant.origin == "profile \"ids\"");
  world.files["/h/keys"] = "[ids]\naws_access_key_id = AKIDKEYS\n";
  fails(world, "malformed");
}

TEST_CASE("AwsSources: a profile that was named has to be there", "[aws]") {
  Files world;
  REQUIRE(ask(world).kind == Kind::absent);  // nobody named "default"
  fails(world, "there is no profile \"ids\"", "ids");
  world.environment["AWS_PROFILE"] = "ids";
  fails(world, "there is no profile \"ids\"");
  world.files["/config"] = "[profile ids]\nregion = x\n";
  REQUIRE(ask(world).why.find("profile \"ids\" of the shared files has no credentials") !=
          std::string::npos);
  world.files.erase("/config");
  fails(world, "AWS_CONFIG_FILE: /config cannot be opened");
  world.files.erase("/h/keys");
  fails(world, "AWS_SHARED_CREDENTIALS_FILE: /h/keys cannot be opened");
}

TEST_CASE("AwsSources: what is not supported is named, with what to do instead", "[aws]") {
  Files world;
  const auto refuses = [&](const std::string& properties, const std::string& word) {
    world.files["/config"] = "[default]\n" + properties;
    fails(world, word);
    fails(world, "aws_credentials_file");
  };
  refuses("role_arn = " + std::string(kRole) + "\nsource_profile = x\n", "source_profile");
  refuses("role_arn = " + std::string(kRole) + "\ncredential_source = Environment\n",
          "credential_source");
  refuses("sso_session = x\nsso_account_id = 1\n", "sso_session");
  refuses("sso_start_url = x\n", "sso_start_url");
  refuses("login_session = x\n", "login_session");
  refuses("credential_process = /bin/x\n", "credential_process");
}

TEST_CASE("AwsSources: a profile may have a role for a web identity", "[aws]") {
  Files world;
  world.files["/config"] = "[default]\nrole_arn = " + std::string(kRole) +
                           "\nweb_identity_token_file = /token\nrole_session_name = ids\n";
  world.files["/token"] = "jwt";
  world.say(kSts, 200, kStsAnswer);
  const AwsAnswer answer = ask(world);
  REQUIRE(answer.grant.credentials.access_key_id == "ASIASTS");
  REQUIRE(answer.grant.origin.find("profile \"default\"") != std::string::npos);
  REQUIRE(world.requests.at(0).body.find("RoleSessionName=ids") != std::string::npos);
}

TEST_CASE("AwsSources: a container is asked where its environment says", "[aws]") {
  AwsWorld world;
  const std::string relative = "/v2/credentials/hunter2";
  SECTION("at the address of ECS") {
    world.environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = relative;
    world.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://localhost/other";
    world.say("GET http://169.254.170.2" + relative, 200, metadata_document("ASIAECS"));
    const AwsAnswer answer = ask(world);
    REQUIRE(answer.grant.credentials == AwsCredentials{"ASIAECS", "hunter2", "token"});
    REQUIRE(world.requests.at(0).headers.size() == 1);  // nothing to show
    world.environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] = "@example.com/";
    fails(world, "does not begin with /");
  }
  SECTION("with what it has to show") {
    const std::string url = "http://169.254.170.23/v1/credentials";
    world.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = url;
    world.say("GET " + url, 200, metadata_document("ASIAEKS"));
    world.environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "of-the-environment";
    REQUIRE(key_of(world) == "ASIAEKS");
    REQUIRE(world.requests.at(0).headers.back() == "Authorization: of-the-environment");
    world.environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] = "/token";
    world.files["/token"] = "of-the-file\n";
    REQUIRE(key_of(world) == "ASIAEKS");
    REQUIRE(world.requests.at(1).headers.back() == "Authorization: of-the-file");
    world.files["/token"] = "hunter2\r\nX: y";
    fails(world, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE holds not one word");
    world.files.clear();
    fails(world, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: /token cannot be opened");
    world.environment.erase("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    world.environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"] = "hunter2\nX: y";
    fails(world, "AWS_CONTAINER_AUTHORIZATION_TOKEN is not one word");
    REQUIRE(world.requests.size() == 2);
  }
  SECTION("and not at another host in the clear") {
    world.environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://example.com/";
    fails(world, "use https");
    REQUIRE(world.requests.empty());
  }
}

TEST_CASE("AwsSources: an instance is asked with a token only", "[aws]") {
  AwsWorld world;
  put_instance(world);
  SECTION("which is asked for first") {
    REQUIRE(ask(world).grant.expires_ms == 1'893'456'000'000);
    REQUIRE(world.requests.size() == 3);
    REQUIRE(world.requests[0].method == "PUT");
    REQUIRE(world.requests[0].headers[0] == "X-aws-ec2-metadata-token-ttl-seconds: 21600");
    for (int at = 1; at < 3; ++at) {
      REQUIRE(world.requests.at(static_cast<std::size_t>(at)).headers ==
              std::vector<std::string>{"X-aws-ec2-metadata-token: v2-token"});
    }
  }
  SECTION("at another endpoint") {
    world.environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "http://127.0.0.1:99/";
    put_instance(world, "http://127.0.0.1:99");
    REQUIRE(key_of(world) == "ASIAIMDS");
    REQUIRE(world.requests[0].url == "http://127.0.0.1:99/latest/api/token");
    world.environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "http://example.com";
    fails(world, "AWS_EC2_METADATA_SERVICE_ENDPOINT: http is allowed");
    world.environment = {{"AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE", "IPv6"}};
    fails(world, "http://[fd00:ec2::254] returns no token");
  }
  SECTION("and what it says is looked at") {
    const std::string token = "PUT http://169.254.169.254/latest/api/token";
    const std::string roles = std::string("GET ") + kInstance + kPath;
    world.say(roles + "ids", 200, R"({"Code": "AssumeRoleUnauthorizedAccess"})");
    fails(world, "AssumeRoleUnauthorizedAccess");
    for (const char* const role : {"", "../../user-data", "a b", "a?b"}) {
      world.say(roles, 200, role);
      fails(world, "not the name of a role");
    }
    world.say(roles, 404, "");
    fails(world, "attach an instance profile");
    world.say(roles, 401, "");
    fails(world, "status 401");
    world.say(token, 200, "a\r\nX: y");
    fails(world, "not one word");
    world.say(token, 403, "hunter2");
    fails(world, "status 403");
    world.say(token, 302, "hunter2");
    fails(world, "status 302");
  }
}

}  // namespace
}  // namespace seqd
