// Any bytes as a document that a client wants inserted: no crash, no read beyond them, and either a
// document that libbson takes and that is within the server's limit, or an error that says
// something.
//
// link: protocol protocol/* daemon/base daemon/base/* daemon/core daemon/core/*
// link: daemon/store/mongo/driver/bson_conversion.cc daemon/store/mongo/driver/mongo_values.cc
// libs: -lfmt -lbson-1.0
// seeds: tests/fuzz/bson_seeds.py
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "daemon/store/mongo/driver/bson_conversion.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const seqd::Result<seqd::Document> document = seqd::bson_of_map(bytes);
  if (!document.ok()) {
    if (document.status().text().empty()) std::abort();
    return 0;
  }
  if (!bson_validate(document->get(), BSON_VALIDATE_UTF8_ALLOW_NULL, nullptr)) std::abort();
  if (document->get()->len > seqd::kMostBsonBytes) std::abort();
  if (bson_has_field(document->get(), "_id")) std::abort();
  return 0;
}
