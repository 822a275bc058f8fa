#include "estimator/app/web/session.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <string>

namespace plimsoll::test {
namespace {

std::string question_of(const nlohmann::json& request, const nlohmann::json& sweep = {}) {
  nlohmann::json given = nlohmann::json::array();
  for (const auto& [name, value] : request.items()) {
    if (name != "model") given.push_back(name);
  }
  const nlohmann::json question = {{"schema", "plimsoll.estimate"},
                                   {"request", request},
                                   {"request_given", given},
                                   {"sweep", sweep}};
  return question.dump();
}

nlohmann::json asked(const nlohmann::json& request, WebDepth depth = WebDepth::kAtOnce) {
  return nlohmann::json::parse(WebSession().answer(question_of(request), depth));
}

nlohmann::json row_of(const nlohmann::json& request, const nlohmann::json& sweep) {
  return nlohmann::json::parse(WebSession().row(question_of(request, sweep)));
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
  CHECK(code_of(nlohmann::json::parse(WebSession().answer("{", WebDepth::kAtOnce))) == "E301");
}

TEST_CASE("web: a session that has the model says what a new one says") {
  const nlohmann::json llama = {
      {"model", "hf:llama-3.2-1b"}, {"gpu", "l4"}, {"batch", "2"}, {"dim", {{"sequence", "256"}}}};
  WebSession session;
  const auto differences = [&](const nlohmann::json& request) {
    const std::string question = question_of(request);
    const auto read = [&](WebSession& by) {
      return nlohmann::json::parse(by.answer(question, WebDepth::kAtOnce));
    };
    WebSession other;
    return nlohmann::json::diff(read(session), read(other));
  };
  const auto changed = [&](const nlohmann::json& to) {
    nlohmann::json request = llama;
    request.update(to);
    CAPTURE(request.dump());
    CHECK(differences(request).size() == 0);
  };
  changed(nlohmann::json::object());
  changed({{"batch", "3"}});
  changed({{"gpu", "h100-sxm-80gb"}});
  changed({{"dim", {{"sequence", "1"}}}});
  changed({{"dim", {{"sequence", "1000"}}}});
  changed({{"precision", "amp-bf16"}});
  nlohmann::json none = llama;
  none.erase("batch");
  none.erase("dim");
  CHECK(differences(none).size() == 0);
}

TEST_CASE("web: a row has what estimate says of each size, and the largest that fits") {
  const nlohmann::json request = {{"model", "builtin:alexnet"}, {"gpu", "t4"}};
  const auto row = row_of(request, {{"size", "batch"}, {"values", {1, 64, 16384}}});
  REQUIRE(row["schema"] == "plimsoll.row");
  REQUIRE(row["points"].size() == 3);
  for (const auto& point : row["points"]) {
    nlohmann::json at = request;
    at["batch"] = point["size"];
    const auto result = asked(at)["result"];
    CAPTURE(point.dump());
    CHECK(point["verdict"] == result["verdict"]);
    CHECK(point["device_bytes"] == result["memory"]["device_bytes"]);
    CHECK(point["step_ns"] == result["time"]["step_ns"]);
  }
  nlohmann::json at = request;
  at["batch"] = row["largest"]["safe"];
  CHECK(asked(at)["result"]["verdict"] == "fits");
  at["batch"] = row["largest"]["may_fit"][1].get<int64_t>() + 1;
  CHECK(asked(at)["result"]["verdict"] == "does_not_fit");
}

TEST_CASE("web: a row that cannot be says why") {
  const nlohmann::json request = {{"model", "builtin:alexnet"}, {"gpu", "t4"}};
  const auto code_of = [](const nlohmann::json& refusal) {
    CHECK(refusal["schema"] == "plimsoll.refusal");
    return refusal["diagnostics"][0]["code"].get<std::string>();
  };
  CHECK(code_of(row_of(request, nullptr)) == "E311");
  CHECK(code_of(row_of(request, {{"size", "batch"}, {"values", {0}}})) == "E311");
  CHECK(code_of(row_of({{"model", "builtin:none"}, {"gpu", "t4"}},
                       {{"size", "batch"}, {"values", {1}}})) == "E150");
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
