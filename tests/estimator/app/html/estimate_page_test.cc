#include "estimator/app/html/estimate_page.h"

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "estimator/app/html/page.h"
#include "estimator/app/report/json.h"
#include "estimator/app/report/text.h"
#include "graph/base/base64.h"
#include "graph/base/hash.h"
#include "tests/support/requests.h"

using namespace plimsoll;

namespace {

Estimate pictured(const std::string& model, const std::string& device, int64_t batch) {
  Request asked = test::request(model, device, batch);
  asked.detail = true;
  asked.minimum = true;
  return test::answer(asked);
}

const Estimate& resnet() {
  static const Estimate kEstimate = pictured("builtin:resnet50", "rtx-4090", 128);
  return kEstimate;
}

const Result<LargestBatch>& largest() {
  static const auto kLargest = largest_batch(test::request("builtin:resnet50", "rtx-4090", 128),
                                             test::hwdb(), {.multiple = 8, .rounds = 40});
  return kLargest;
}

std::string page_of(const Estimate& e, const std::string& command = "plimsoll estimate x") {
  return estimate_page(e, largest(), command);
}

std::string between(const std::string& text, const std::string& from, const std::string& to) {
  const size_t begin = text.find(from);
  REQUIRE(begin != std::string::npos);
  const size_t end = text.find(to, begin + from.size());
  REQUIRE(end != std::string::npos);
  return text.substr(begin + from.size(), end - begin - from.size());
}

std::string json_of(const std::string& page) {
  return between(page, "<script type=\"application/json\" id=\"plimsoll-result\">", "</script>");
}

// Of elements, not of texts: what a browser would load.
bool refers_outside(const std::string& page) {
  static const std::regex kOutside(R"re(<[a-z][^>]*\s(src|href|action|data)\s*=)re");
  static const std::regex kLoads(R"re(<(link|iframe|img|object|embed|base)\b)re");
  return std::regex_search(page, kOutside) || std::regex_search(page, kLoads) ||
         page.find("@import") != page.npos || page.find("url(") != page.npos ||
         page.find("http") != page.find("http-equiv");
}

}  // namespace

TEST_CASE("estimate page: sections in the order of questions") {
  const std::string page = page_of(resnet());
  size_t last = page.find("<header class=\"answer\">");
  REQUIRE(last != page.npos);
  for (const std::string id : {"memory", "peak", "batch", "time", "roofline", "layers", "notes"}) {
    CAPTURE(id);
    const size_t at = page.find("<section id=\"" + id + "\">");
    REQUIRE(at != page.npos);
    CHECK(at > last);
    last = at;
  }
}

TEST_CASE("estimate page: the JSON inside is the result") {
  const std::string page = page_of(resnet());
  const auto inside = nlohmann::json::parse(json_of(page));
  CHECK(inside == nlohmann::json::parse(to_json(resnet(), {.batches = &*largest()})));
  CHECK(inside["result"]["batches"]["safe"] == largest()->answer.safe);
  CHECK(inside["result"]["memory"]["curve"].size() > 100);
  for (const auto& moment : inside["result"]["memory"]["curve"]) {
    int64_t sum = inside["result"]["memory"]["context_bytes"];
    for (const auto& bytes : moment["by_role"]) sum += bytes.get<int64_t>();
    CHECK(moment["bytes"] == sum);
  }
  CHECK(inside["result"]["memory"]["peak"]["tensors"].size() == 15);
}

TEST_CASE("estimate page: tables hold the figures without any script") {
  const Estimate& e = resnet();
  const std::string page = page_of(e);
  const std::string body = between(page, "<main>", "</main>");
  CHECK(body.find(human_bytes(e.memory.device_bytes)) != body.npos);
  CHECK(body.find(std::to_string(e.memory.device_bytes)) != body.npos);
  CHECK(body.find(human_time(e.time.step_ns)) != body.npos);
  for (const LayerEstimate& l : e.layers) CHECK(body.find(l.node) != body.npos);
  for (const MemoryMoment& m : e.memory_curve)
    CHECK(body.find("data-v=\"" + std::to_string(m.launch) + "\"") != body.npos);
  for (const std::string& basis : e.basis) CHECK(body.find(basis.substr(0, 30)) != body.npos);
}

TEST_CASE("estimate page: one small file that loads nothing, and runs only its own scripts") {
  for (const std::string model : {"builtin:resnet50", "builtin:gpt2-large", "builtin:densenet201",
                                  "builtin:efficientnet_v2_l"}) {
    CAPTURE(model);
    const std::string page = page_of(pictured(model, "a100", 8));
    CHECK(page.size() < 1'500'000);
    CHECK_FALSE(refers_outside(page));
    const std::string policy = between(page, "Content-Security-Policy\" content=\"", "\"");
    CHECK(policy.starts_with("default-src 'none'; script-src 'sha256-"));
    CHECK(policy.find("unsafe-eval") == policy.npos);
    const std::string allowed = between(policy, "script-src", ";");
    CHECK(allowed.find("unsafe-inline") == allowed.npos);
    // Each script that runs is one that the policy names.
    size_t scripts = 0;
    for (size_t at = page.find("<script>"); at != page.npos; at = page.find("<script>", at + 1)) {
      const std::string text = between(page.substr(at), "<script>", "</script>");
      Sha256 hash;
      hash.update(std::as_bytes(std::span(text)));
      CHECK(allowed.find("'sha256-" + base64(hash.digest()) + "'") != allowed.npos);
      ++scripts;
    }
    CHECK(scripts == 9);  // tables.js, and seven of charts
  }
  CHECK(refers_outside("<p>http://x"));  // the check can fail
  CHECK(refers_outside("<img src=\"x\">"));
}

TEST_CASE("estimate page: names are text, whatever they are") {
  Estimate e = resnet();
  const std::string hostile = "</script><script>x()</script><!--\xE2\x80\xAE\x1b[2J\"'&";
  e.input.model = hostile;
  e.device_name = hostile;
  e.memory.peak_node = hostile;
  for (LayerEstimate& l : e.layers) l.node = l.op = l.output_shape = hostile;
  for (ModuleEstimate& m : e.modules) m.path = hostile;
  for (MemoryMoment& m : e.memory_curve) m.node = hostile;
  for (PeakTensor& t : e.peak_tensors) t.made_by = t.freed_by = hostile;
  for (KernelShare& k : e.time.kernels) k.kernel = k.algorithm = k.bound_by = hostile;
  e.time.provenance = e.time.sample_unit = hostile;
  e.basis = e.recognised = {hostile};
  e.diagnostics = {{.code = "W999", .message = hostile, .place = {}, .help = hostile}};
  const std::string page = page_of(e, hostile);
  CHECK(page.find("<script>x()") == page.npos);
  CHECK(page.find("<!--") == page.npos);
  CHECK(page.find("\xE2\x80\xAE") == page.npos);
  CHECK(page.find('\x1b') == page.npos);
  CHECK(nlohmann::json::parse(json_of(page))["input"]["model"] == hostile);
}

TEST_CASE("estimate page: every colour of a role is the same in tables and charts") {
  const std::string page = page_of(resnet());
  const std::regex in_charts(R"re(\["(\w+)", "[\w ]+", "(#[0-9a-f]{6})"\])re");
  std::set<std::string> roles;
  for (std::sregex_iterator at(page.begin(), page.end(), in_charts), end; at != end; ++at) {
    CHECK(page.find("." + (*at)[1].str() + " { --role: " + (*at)[2].str() + "; }") != page.npos);
    roles.insert((*at)[1]);
  }
  CHECK(roles.size() == 11);
}

TEST_CASE("estimate page: where no batch can be searched it says why") {
  const std::string page = estimate_page(
      resnet(), tl::make_unexpected(error("E999", "because <i>").value()), "plimsoll");
  CHECK(page.find("because &lt;i&gt;") != page.npos);
  CHECK(page.find("data-chart=\"batch_memory\"") == page.npos);
}

TEST_CASE("estimate page: without Vega it says so") {
  const std::string page = page_of(resnet());
  CHECK((page.find("draws no charts") == page.npos) == has_charts());
  CHECK((page.find("id=\"vega\"") != page.npos) == has_charts());
}
