#include "estimator/app/web/answer.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace plimsoll::test {
namespace {

nlohmann::json asked(const nlohmann::json& request, WebDepth depth = WebDepth::kAtOnce) {
  nlohmann::json given = nlohmann::json::array();
  for (const auto& [name, value] : request.items()) {
    if (name != "model") given.push_back(name);
  }
  const nlohmann::json question = {
      {"schema", "plimsoll.estimate"}, {"request", request}, {"request_given", given}};
  return nlohmann::json::parse(web_answer(question.dump(), depth));
}

}  // namespace

TEST_CASE("web: a question is a request, texts or numbers, and its answer holds it") {
  const auto answer = asked({{"model", "builtin:alexnet"}, {"gpu", "t4"}, {"batch", "32"}});
  CHECK(answer["schema"] == "plimsoll.estimate");
  CHECK(answer["request"]["batch"] == 32);
  CHECK(answer["request_given"] == nlohmann::json({"batch", "gpu"}));
  CHECK(answer["result"]["verdict"] == "fits");
  CHECK(answer["result"]["memory"]["curve"].size() > 10);
  const auto number = asked({{"model", "builtin:alexnet"}, {"gpu", "t4"}, {"batch", 32}});
  CHECK(number == answer);
}

TEST_CASE("web: what would help is asked for, and only where the step does not fit") {
  const nlohmann::json request = {{"model", "builtin:alexnet"}, {"gpu", "t4"}, {"batch", 16384}};
  CHECK(asked(request)["result"]["remedies"].empty());
  CHECK_FALSE(asked(request, WebDepth::kWithRemedies)["result"]["remedies"].empty());
  nlohmann::json small = request;
  small["batch"] = 32;
  CHECK(asked(small, WebDepth::kWithRemedies)["result"]["remedies"].empty());
}

TEST_CASE("web: what has no answer says why, with a code") {
  const auto code_of = [](const nlohmann::json& refusal) {
    CHECK(refusal["schema"] == "plimsoll.refusal");
    return refusal["diagnostics"][0]["code"].get<std::string>();
  };
  CHECK(code_of(asked({{"model", "builtin:alexnet"}, {"gpu", "t5"}})) == "E140");
  CHECK(code_of(asked({{"model", "builtin:alexnett"}, {"gpu", "t4"}})) == "E150");
  CHECK(code_of(asked({{"model", "builtin:alexnet"}, {"gpu", "t4"}, {"batch", 0}})) == "E103");
  CHECK(code_of(asked({{"model", "builtin:alexnet"}})) == "E109");
  CHECK(code_of(asked({{"gpu", "t4"}})) == "E108");
  CHECK(code_of(nlohmann::json::parse(web_answer("{", WebDepth::kAtOnce))) == "E301");
}

TEST_CASE("web: choices name models, GPUs and the words of settings") {
  const auto choices = nlohmann::json::parse(web_choices());
  const auto has = [](const nlohmann::json& list, const char* key, const char* value) {
    for (const auto& one : list) {
      if (one[key] == value) return true;
    }
    return false;
  };
  CHECK(has(choices["models"], "name", "builtin:resnet50"));
  CHECK(has(choices["models"], "name", "hf:meta-llama/Llama-3.1-8B"));
  CHECK(has(choices["gpus"], "id", "h100-sxm-80gb"));
  CHECK(has(choices["settings"], "name", "lora_rank"));
  for (const auto& row : choices["settings"]) {
    if (row["name"] == "finetune") CHECK(row["words"] == nlohmann::json({"full", "lora", "qlora"}));
  }
}

}  // namespace plimsoll::test
