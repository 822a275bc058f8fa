// Whether a document is what a JSON Schema says.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

namespace plimsoll::test {

// The innermost fault, or empty.
inline std::string schema_fault(const nlohmann::json& schema_text, const nlohmann::json& document) {
  valijson::Schema schema;
  valijson::SchemaParser parser;
  parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(schema_text), schema);
  valijson::Validator validator;
  valijson::ValidationResults results;
  if (validator.validate(schema, valijson::adapters::NlohmannJsonAdapter(document), &results))
    return "";
  valijson::ValidationResults::Error error;
  std::string text = "invalid";
  while (results.popError(error)) {
    text.clear();
    for (const std::string& part : error.context) text += part;
    text += ": " + error.description;
  }
  return text;
}

}  // namespace plimsoll::test
