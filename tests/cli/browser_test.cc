// Pages in a browser: they draw, complain of nothing, ask for nothing outside, and hostile names
// stay text. Needs Chromium, or is reported as not run.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/resource.h>

#include "tests/support/browser.h"
#include "tests/support/onnx_writer.h"
#include "tests/support/run_plimsoll.h"
#include "tests/support/tables_only.h"

using namespace plimsoll::test;

namespace {

// Whether the plimsoll that is tested was built without Vega.
bool without_charts() {
  if (without_browser()) return true;
  const Scratch scratch;
  const std::string page = scratch.path("page.html");
  REQUIRE(run_plimsoll({"estimate", "builtin:alexnet", "--gpu", "l4", "--html", page}).status == 0);
  if (says(detail::text_of(page), "id=\"vega\"")) return false;
  not_run("plimsoll was built without Vega, which could not be fetched");
  return true;
}

int count_of(const std::string& text, const std::string& what) {
  int count = 0;
  for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// Of a page with places for so many charts, of which none is drawn without Vega.
void check_page(const Seen& seen, int charts, bool draws = true) {
  CHECK(says(seen.dom, "data-drawn=\"true\""));
  CHECK(seen.console == "");
  CHECK(count_of(seen.dom, "data-chart=") == charts);
  CHECK(says(seen.dom, "id=\"vega\"") == draws);
  CHECK(count_of(seen.dom, "<svg") == (draws ? charts : 0));
  CHECK(seen.requests == std::vector<std::string>());
}

}  // namespace

TEST_CASE("browser: an estimate's page draws all its charts and asks for nothing") {
  if (without_charts()) return;
  const Scratch scratch;
  const std::string page = scratch.path("page.html");
  REQUIRE(run_plimsoll({"estimate", "builtin:resnet50", "--gpu", "rtx-4090", "--batch", "64",
                        "--html", page})
              .status == 0);
  const Seen seen = browse(scratch, page);
  check_page(seen, 8);
  CHECK(says(seen.dom, "class=\"fold\""));  // tables.js ran
  CHECK(says(seen.dom, "aria-sort=\"none\""));
  CHECK(says(seen.dom, "peak of tensors 5."));  // the mark at the peak, in the picture's text
  CHECK(says(seen.dom, "usable on the GPU 24.0 GiB"));
}

TEST_CASE("browser: what does not fit begins with what would help, against the card's memory") {
  if (without_charts()) return;
  const Scratch scratch;
  const std::string page = scratch.path("page.html");
  REQUIRE(run_plimsoll({"estimate", "builtin:alexnet", "--gpu", "tesla-t4", "--batch", "16384",
                        "--html", page})
              .status == 1);
  const Seen seen = browse(scratch, page);
  check_page(seen, 9);
  CHECK(seen.dom.find("What would help") < seen.dom.find("Memory over one step"));
  CHECK(says(seen.dom, "as asked"));
  CHECK(says(seen.dom, "usable on the GPU 14."));
}

TEST_CASE("browser: pages of the other verbs draw theirs") {
  if (without_charts()) return;
  const Scratch scratch;
  const std::string page = scratch.path("page.html"), root = PLIMSOLL_SOURCE_DIR;
  struct {
    std::vector<std::string> arguments;
    int charts;
    std::string says;
  } const pages[] = {
      {{"estimate", "builtin:gpt2", "--gpu", "l4", "--gpus", "4", "--pp", "2", "--micro-batches",
        "8", "--batch", "16", "--dim", "sequence=128"},
       10,
       "stage 2"},
      {{"max-batch", "builtin:alexnet", "--gpu", "tesla-t4", "--multiple", "64"}, 3, "may fit"},
      {{"compare", "builtin:alexnet", "--gpu", "tesla-t4", "--gpu", "l4", "--mem", "2GiB"},
       3,
       "l4"},
      {{"compare", "builtin:alexnet", "--gpu", "l4", "--mem", "1GiB"}, 3, "DOES NOT FIT"},
      {{"advise", "builtin:gpt2", "--gpu", "l4", "--gpus", "2"}, 3, "milliseconds per update"},
      {{"advise", "builtin:alexnet", "--gpu", "tesla-t4", "--batch", "16384"}, 1, "as asked"},
      {{"sweep", root + "/examples/sweep.yaml"}, 2, "on its GPU"},
      {{"validate", root + "/examples/measured-runs.csv"}, 4, "total_ms"},
  };
  for (const auto& p : pages) {
    CAPTURE(p.arguments.front());
    std::vector<std::string> arguments = p.arguments;
    arguments.insert(arguments.end(), {"--html", page, "--force"});
    REQUIRE(run_plimsoll(arguments).status <= 1);
    const Seen seen = browse(scratch, page);
    check_page(seen, p.charts);
    CHECK(says(seen.dom, p.says));
  }
}

TEST_CASE("browser: a watched run's page draws, also of one that was killed") {
  const char* monitor = std::getenv("PLIMSOLL_MONITOR");
  if (!monitor) return not_run("PLIMSOLL_MONITOR is not set; './dev test' sets it");
  if (without_charts()) return;
  const Scratch scratch;
  const std::string page = scratch.path("page.html");
  const std::string recording = scratch.write(
      "gpu.jsonl",
      R"({"sample":0,"gpus":[{"name":"</script><img src=x>","total_bytes":16000000000,"used_bytes":3221225472,"utilisation":0.5,"power_watts":60}]})");
  const Ran ran = run_plimsoll({"--model", "builtin:resnet50", "--batch", "16", "--gpu", "tesla-t4",
                                "--replay", recording, "--interval", "10ms", "--html", page,
                                "--quiet", "--", PLIMSOLL_KNOWN_MEMORY, "20", "200", "killed"},
                               {.program = monitor,
                                .environment = {"PATH=/usr/bin:/bin"},
                                .address_space = rlim_t{1} << 31});
  CHECK(ran.status == 128 + SIGKILL);
  const Seen seen = browse(scratch, page);
  check_page(seen, 4);  // memory of the card and of the host, loads, watts
  CHECK(says(seen.dom, "killed by signal 9 after"));
  CHECK(says(seen.dom, "predicted 1."));  // the band's line, in the picture's text
  CHECK(says(seen.dom, "growing"));
  CHECK_FALSE(says(seen.dom, "<img"));
}

TEST_CASE("browser: names that would be markup or script are text") {
  if (without_charts()) return;
  const std::string name = "</script><script>document.title='taken'</script><img src=x>\x1b[2J";
  GraphParts parts;
  parts.inputs = {value(name + "x", {"batch", 3, 8, 8})};
  parts.outputs = {value(name + "y", {})};
  parts.initializers = {tensor(name + "w", 1, {4, 3, 3, 3})};
  parts.nodes = {node("Conv", {name + "x", name + "w"}, {name + "a"}, {}, name),
                 node("Relu", {name + "a"}, {name + "y"}, {}, name)};
  const Scratch scratch;
  const std::string file = scratch.write("m.onnx", model(graph(parts, name)).bytes());
  const std::string page = scratch.path("page.html");
  const Ran ran = run_plimsoll(
      {"estimate", file, "--gpu", "l4", "--batch", "2", "--loss", "sum", "--html", page});
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  const Seen seen = browse(scratch, page);
  check_page(seen, 8);
  CHECK_FALSE(says(seen.dom, "<title>taken"));
  CHECK_FALSE(says(seen.dom, "<img"));
  CHECK(says(seen.dom, "&lt;img src=x&gt;"));
}

TEST_CASE("browser: a page without Vega folds and sorts, and complains of nothing") {
  if (without_browser()) return;
  const Scratch scratch;
  const std::string page = scratch.path("page.html");
  REQUIRE(run_tables_only(
              {"estimate", "builtin:alexnet", "--gpu", "l4", "--batch", "32", "--html", page})
              .status == 0);
  const Seen seen = browse(scratch, page);
  check_page(seen, 8, false);
  CHECK(says(seen.dom, "class=\"fold\""));
}

// What the checks above would see.
TEST_CASE("browser: a page that complains and asks is seen to") {
  if (without_browser()) return;
  const Scratch scratch;
  const Seen seen = browse(scratch, scratch.write("bad.html",
                                                  "<title>x</title><img src='http://127.0.0.1:9/a'>"
                                                  "<script>console.error('oh')</script>"));
  CHECK(says(seen.console, "oh"));
  CHECK(std::ranges::any_of(seen.requests,
                            [](const std::string& url) { return says(url, "127.0.0.1:9"); }));
}
