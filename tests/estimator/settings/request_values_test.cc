// What an answer says was asked is asked again as the same, row by row; what is no such answer is
// refused at its place.
#include <doctest/doctest.h>

#include "estimator/app/report/answer_notes.h"
#include "estimator/app/report/json.h"
#include "estimator/settings/request_values.h"
#include "graph/json/reader.h"
#include "tests/estimator/settings/examples.h"
#include "tests/support/requests.h"

using namespace plimsoll;

namespace {

// A document that says what was asked, and nothing else.
std::string document_of(const Request& request) {
  AnswerNotes notes{.request = request};
  return described_text([&](Fields& f) {
    f.object([&] {
      describe_head(f, "plimsoll.estimate");
      describe_notes(f, notes);
    });
  });
}

Result<GivenSettings> read_again(const std::string& text) {
  const auto document = read_json(text, "answer.json");
  if (!document) return tl::make_unexpected(document.error());
  return settings_of_answer(*document, "answer.json");
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  const size_t at = text.find(what);
  REQUIRE(at != text.npos);
  return text.replace(at, what.size(), by);
}

GivenSettings alone(const SettingRow& row, const std::string& text) {
  GivenSettings settings;
  settings.model = "builtin:mlp";
  settings.add(row, text);
  return settings;
}

}  // namespace

TEST_CASE("every setting: an answer that says it is asked again as the same request") {
  for (const SettingRow& row : settings()) {
    for (const std::string& text : test::texts_for(row)) {
      CAPTURE(row.name);
      CAPTURE(text);
      const auto request = to_request(alone(row, text));
      REQUIRE(request);
      const auto again = read_again(document_of(*request));
      REQUIRE(again);
      const auto same = to_request(*again);
      REQUIRE(same);
      CHECK(*same == *request);
    }
  }
}

TEST_CASE("every setting: an answer that is asked again is the same answer") {
  size_t answered = 0;
  for (const SettingRow& row : settings()) {
    const auto texts = test::texts_for(row);
    if (texts.empty() || row.name == "hwdb") continue;
    CAPTURE(row.name);
    GivenSettings given = alone(row, texts.front());
    if (row.name != "gpu") given.add(*find_setting("gpu"), "tesla-t4");
    const auto& examples = test::setting_examples();
    const auto example = std::ranges::find(examples, row.name, &test::SettingExample::setting);
    if (example != examples.end() && !example->beside.empty())
      given.add(*find_setting(example->beside), std::string(example->beside_text));
    const auto request = to_request(given);
    REQUIRE(request);
    const auto answer = estimate(*request, test::hwdb());
    if (!answer) continue;  // the model has no such part
    const auto again = read_again(to_json(*answer));
    REQUIRE(again);
    const auto same = to_request(*again);
    REQUIRE(same);
    CHECK(to_json(*estimate(*same, test::hwdb())) == to_json(*answer));
    ++answered;
  }
  CHECK(answered > 40);
}

TEST_CASE("an answer says of freeze and train which came last") {
  GivenSettings given = alone(*find_setting("freeze"), "*");
  given.add(*find_setting("train"), "head.*");
  given.add(*find_setting("freeze"), "head.bias");
  const auto request = to_request(given);
  REQUIRE(request);
  const std::string text = document_of(*request);
  CHECK(text.find("\"training_rules\"") != text.npos);
  CHECK(*to_request(*read_again(text)) == *request);
  // The two lists say it where the order is theirs.
  const auto plain = to_request(alone(*find_setting("freeze"), "*"));
  CHECK(document_of(*plain).find("training_rules") == std::string::npos);
}

TEST_CASE("a default that has changed since is asked for, and nobody is said to have given it") {
  const std::string text = document_of(*to_request(alone(*find_setting("batch"), "8")));
  const std::string old = replaced(text, "\"precision\": \"fp32\"", "\"precision\": \"tf32\"");
  const auto request = to_request(*read_again(old));
  REQUIRE(request);
  CHECK(request->recipe.precision->name == "tf32");
  CHECK(request->given == std::set<std::string, std::less<>>{"batch"});
}

TEST_CASE("what is no answer is refused, and what it asks for and is not, at its place") {
  const std::string text = document_of(*to_request(alone(*find_setting("batch"), "8")));
  const auto fault = [](const std::string& of) {
    const auto read = read_again(of);
    REQUIRE(!read);
    return read.error().front();
  };
  CHECK(fault("{}").code == "E330");
  CHECK(fault("[1]").code == "E330");
  CHECK(fault(replaced(text, "plimsoll.estimate", "plimsoll.sweep")).code == "E330");
  CHECK(fault(R"({"schema": "plimsoll.estimate"})").code == "E306");
  const std::string listed = replaced(text, "\"request_given\"", "\"given\"");
  CHECK(fault(listed).code == "E306");
  CHECK(fault(replaced(text, "\"request_given\": [", "\"request_given\": [3,")).code == "E311");
  const Diagnostic unknown = fault(replaced(text, "\"precision\"", "\"precison\""));
  CHECK(unknown.code == "E304");
  CHECK(unknown.message == "'precison' is not a setting; did you mean precision?");
  CHECK(unknown.place.file == "answer.json");
  CHECK(unknown.place.line > 5);
  const Diagnostic value = fault(replaced(text, "\"batch\": 8", "\"batch\": -8"));
  CHECK(value.code == "E103");
  CHECK(value.place.line > 5);
  CHECK(fault(replaced(text, "\"model\": \"builtin:mlp\"", "\"model\": 3")).code == "E311");
  CHECK(fault(replaced(text, "\"freeze\": []", "\"training_rules\": [\"melt *\"]")).code == "E311");
  CHECK(fault(replaced(text, "\"dim\": {}", "\"dim\": 3")).code == "E103");
}
