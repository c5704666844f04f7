#include "daemon/store/dynamo/wire/dynamo_wire.h"

#include <charconv>
#include <nlohmann/json.hpp>

namespace seqd {
namespace {

using Json = nlohmann::json;

// What is not UTF-8 was refused before; nothing is thrown here.
std::string written(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json to_json(const DynamoScalar& value) {
  const char* const type = value.kind == DynamoScalar::Kind::number ? "N" : "S";
  return Json::object({{type, value.text}});
}

Json to_json(const DynamoValue& value) {
  if (!value.elements.empty()) return Json::object({{value.text, value.elements}});
  if (!value.is_map) return to_json(static_cast<const DynamoScalar&>(value));
  Json members = Json::object();
  for (const auto& [name, member] : value.members) members[name] = to_json(member);
  return Json::object({{"M", std::move(members)}});
}

Json key_of(const DynamoKey& key) {
  Json value = Json::object();
  value["S"] = key.key;
  Json out = Json::object();
  out[key.key_field] = std::move(value);
  return out;
}

// {"N": "5"}; none: no attribute is written so.
std::optional<DynamoScalar> to_scalar(const Json& json) {
  if (!json.is_object() || json.size() != 1) return std::nullopt;
  const auto only = json.begin();
  if (only.key() == "N" || only.key() == "S") {
    if (!only->is_string()) return std::nullopt;
    return DynamoScalar{only.key() == "N" ? DynamoScalar::Kind::number : DynamoScalar::Kind::text,
                        only->get<std::string>()};
  }
  return DynamoScalar{DynamoScalar::Kind::other, only.key()};
}

// False: it is none of texts or numbers.
bool read_set(const Json& json, DynamoValue& value) {
  if (!json.is_array()) return false;
  for (const Json& element : json) {
    if (!element.is_string()) return false;
    value.elements.insert(element.get<std::string>());
  }
  return true;
}

std::optional<DynamoItem> to_item(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  DynamoItem item;
  for (const auto& [name, attribute] : json.items()) {
    const auto scalar = to_scalar(attribute);
    if (!scalar) return std::nullopt;
    DynamoValue value(*scalar);
    const bool is_set = value.text == "SS" || value.text == "NS";
    if (value.kind == DynamoScalar::Kind::other && is_set && !read_set(attribute.front(), value))
      return std::nullopt;
    if (value.text == "M" && value.kind == DynamoScalar::Kind::other) {
      value.is_map = true;
      const Json& members = attribute["M"];
      if (!members.is_object()) return std::nullopt;
      for (const auto& [member, inner] : members.items()) {
        const auto found = to_scalar(inner);
        if (!found) return std::nullopt;
        value.members.emplace(member, *found);
      }
    }
    item.emplace(name, std::move(value));
  }
  return item;
}

std::string text_of(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
}

// Replicas that are written by consensus are no danger (multi-Region strong consistency).
std::string other_regions(const Json& table) {
  if (!table.is_object() || text_of(table, "MultiRegionConsistency") == "STRONG") return {};
  const auto replicas = table.find("Replicas");
  if (replicas == table.end() || !replicas->is_array()) return {};
  std::string regions;
  for (const Json& replica : *replicas) {
    const std::string region = replica.is_object() ? text_of(replica, "RegionName") : "";
    regions.append(regions.empty() ? "" : ", ").append(region.empty() ? "?" : region);
  }
  return regions;
}

// Items that are not there are empty answers.
std::optional<std::vector<std::optional<DynamoItem>>> to_items(const Json& json) {
  if (!json.is_array()) return std::nullopt;
  std::vector<std::optional<DynamoItem>> items;
  for (const Json& answer : json) {
    if (!answer.is_object()) return std::nullopt;
    const auto found = answer.find("Item");
    if (found == answer.end()) {
      items.emplace_back();
      continue;
    }
    items.push_back(to_item(*found));
    if (!items.back()) return std::nullopt;
  }
  return items;
}

std::vector<DynamoReason> to_reasons(const Json& json) {
  std::vector<DynamoReason> reasons;
  for (const Json& reason : json) {
    if (!reason.is_object()) return {};
    reasons.push_back({text_of(reason, "Code"), text_of(reason, "Message")});
  }
  return reasons;
}

void add(std::string& list, const char* between, const std::string& item) {
  if (!list.empty()) list += between;
  list += item;
}

}  // namespace

DynamoValue dynamo_number(std::int64_t number) {
  return DynamoValue({DynamoScalar::Kind::number, std::to_string(number)});
}

DynamoValue dynamo_text(std::string text) {
  return DynamoValue({DynamoScalar::Kind::text, std::move(text)});
}

DynamoValue dynamo_map(std::map<std::string, DynamoScalar> members) {
  DynamoValue value({DynamoScalar::Kind::other, "M"});
  value.members = std::move(members);
  value.is_map = true;
  return value;
}

DynamoValue dynamo_texts(std::set<std::string> texts) {
  DynamoValue value({DynamoScalar::Kind::other, "SS"});
  value.elements = std::move(texts);
  return value;
}

DynamoValue dynamo_numbers(const std::set<std::int64_t>& numbers) {
  DynamoValue value({DynamoScalar::Kind::other, "NS"});
  for (const std::int64_t number : numbers) value.elements.insert(std::to_string(number));
  return value;
}

std::optional<std::int64_t> dynamo_integer(const DynamoScalar& value) {
  if (value.kind != DynamoScalar::Kind::number) return std::nullopt;
  std::int64_t number = 0;
  const char* const end = value.text.data() + value.text.size();
  const auto [stopped, error] = std::from_chars(value.text.data(), end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

std::string read_body(const DynamoKey& key) {
  return written({{"TableName", key.table}, {"Key", key_of(key)}, {"ConsistentRead", true}});
}

std::string read_together_body(const DynamoKeys& keys) {
  Json items = Json::array();
  for (const std::string& key : keys.keys) {
    const Json item = {{"TableName", keys.table}, {"Key", key_of({"", keys.key_field, key})}};
    items.push_back(Json::object({{"Get", item}}));
  }
  return written(Json::object({{"TransactItems", std::move(items)}}));
}

std::string transaction_body(const std::vector<DynamoUpdate>& updates, const std::string& token) {
  std::string items;
  for (const DynamoUpdate& update : updates) add(items, ",", "{\"Update\":" + update.part() + "}");
  return "{\"ClientRequestToken\":" + written(Json(token)) + ",\"TransactItems\":[" + items + "]}";
}

std::string describe_body(const std::string& table) {
  return written({{"TableName", table}});
}

bool is_of_global_table(const DynamoItem& item) {
  const auto found = item.lower_bound("aws:rep:");
  return found != item.end() && found->first.starts_with("aws:rep:");
}

std::string DynamoUpdate::name(const std::string& name) {
  std::size_t at = 0;
  while (at < names_.size() && names_[at] != name) ++at;
  if (at == names_.size()) names_.push_back(name);
  return "#n" + std::to_string(at);
}

std::string DynamoUpdate::value(const DynamoValue& value) {
  values_.push_back(value);
  return ":v" + std::to_string(values_.size() - 1);
}

DynamoUpdate& DynamoUpdate::set(const std::string& name, const DynamoValue& value) {
  add(set_, ", ", this->name(name) + " = " + this->value(value));
  return *this;
}

DynamoUpdate& DynamoUpdate::set_sum(const std::string& name, const std::string& from,
                                    std::int64_t more) {
  add(set_, ", ", this->name(name) + " = " + this->name(from) + " + " + value(dynamo_number(more)));
  return *this;
}

DynamoUpdate& DynamoUpdate::set_first(const std::string& name, const DynamoValue& value) {
  const std::string attribute = this->name(name);
  add(set_, ", ", attribute + " = if_not_exists(" + attribute + ", " + this->value(value) + ")");
  return *this;
}

DynamoUpdate& DynamoUpdate::put_in(const std::string& name, const DynamoValue& elements) {
  add(put_in_, ", ", this->name(name) + " " + value(elements));
  return *this;
}

DynamoUpdate& DynamoUpdate::take_out(const std::string& name, const DynamoValue& elements) {
  add(take_out_, ", ", this->name(name) + " " + value(elements));
  return *this;
}

DynamoUpdate& DynamoUpdate::remove(const std::string& name) {
  add(remove_, ", ", this->name(name));
  return *this;
}

DynamoUpdate& DynamoUpdate::require(const std::string& condition) {
  add(condition_, " AND ", condition);
  return *this;
}

DynamoUpdate& DynamoUpdate::require_equal(const std::string& name, const DynamoValue& value) {
  return require(this->name(name) + " = " + this->value(value));
}

DynamoUpdate& DynamoUpdate::require_between(const std::string& name, std::int64_t low,
                                            std::int64_t high) {
  const std::string lowest = value(dynamo_number(low));
  return require("(" + this->name(name) + " BETWEEN " + lowest + " AND " +
                 value(dynamo_number(high)) + ")");
}

DynamoUpdate& DynamoUpdate::require_missing(const std::string& name) {
  return require("attribute_not_exists(" + this->name(name) + ")");
}

DynamoUpdate& DynamoUpdate::require_there(const std::string& name) {
  return require("attribute_exists(" + this->name(name) + ")");
}

DynamoUpdate& DynamoUpdate::require_equal_or_missing(const std::string& name,
                                                     const DynamoValue& value) {
  const std::string attribute = this->name(name);
  return require("(attribute_not_exists(" + attribute + ") OR " + attribute + " = " +
                 this->value(value) + ")");
}

DynamoUpdate& DynamoUpdate::require_at_most_or_missing(const std::string& name, std::int64_t high) {
  const std::string attribute = this->name(name);
  return require("(attribute_not_exists(" + attribute + ") OR " + attribute +
                 " <= " + value(dynamo_number(high)) + ")");
}

DynamoUpdate& DynamoUpdate::require_member(const std::string& name, const std::string& member,
                                           const DynamoValue& value) {
  const std::string outer = this->name(name);
  return require(outer + "." + this->name(member) + " = " + this->value(value));
}

DynamoUpdate& DynamoUpdate::require_not_in(const std::string& name, const DynamoValue& element) {
  return require("NOT contains(" + this->name(name) + ", " + value(element) + ")");
}

std::string DynamoUpdate::written(bool with_answer) const {
  Json names = Json::object();
  for (std::size_t at = 0; at < names_.size(); ++at) names["#n" + std::to_string(at)] = names_[at];
  Json values = Json::object();
  for (std::size_t at = 0; at < values_.size(); ++at)
    values[":v" + std::to_string(at)] = to_json(values_[at]);
  std::string change;
  if (!set_.empty()) add(change, " ", "SET " + set_);
  if (!remove_.empty()) add(change, " ", "REMOVE " + remove_);
  if (!put_in_.empty()) add(change, " ", "ADD " + put_in_);
  if (!take_out_.empty()) add(change, " ", "DELETE " + take_out_);
  Json json = Json::object();
  json["TableName"] = key_.table;
  json["Key"] = key_of(key_);
  json["UpdateExpression"] = change;
  if (with_answer) json["ReturnValues"] = "UPDATED_NEW";
  json["ExpressionAttributeNames"] = std::move(names);
  if (!values_.empty()) json["ExpressionAttributeValues"] = std::move(values);
  if (!condition_.empty()) json["ConditionExpression"] = condition_;
  return seqd::written(json);
}

Result<DynamoBody> read_dynamo_body(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return Status(ErrorCode::STORE_REFUSED, "the answer is not a JSON object");
  DynamoBody body;
  // "com.amazonaws.dynamodb.v20120810#ThrottlingException"; a colon may follow, with more.
  body.error_type = text_of(json, "__type");
  body.error_type.erase(0, body.error_type.rfind('#') + 1);
  body.error_type.erase(std::min(body.error_type.find(':'), body.error_type.size()));
  body.message = text_of(json, json.contains("message") ? "message" : "Message");
  for (const char* const name : {"Item", "Attributes"}) {
    const auto found = json.find(name);
    if (found == json.end()) continue;
    body.item = to_item(*found);
    if (!body.item)
      return Status(ErrorCode::STORE_REFUSED, "the answer holds an attribute without a type");
  }
  if (const auto answers = json.find("Responses"); answers != json.end()) {
    body.items = to_items(*answers);
    if (!body.items)
      return Status(ErrorCode::STORE_REFUSED, "the answer holds what is no list of items");
  }
  if (const auto reasons = json.find("CancellationReasons");
      reasons != json.end() && reasons->is_array())
    body.reasons = to_reasons(*reasons);
  if (const auto table = json.find("Table"); table != json.end())
    body.other_regions = other_regions(*table);
  return body;
}

}  // namespace seqd
