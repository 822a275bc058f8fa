#include "estimator/app/report/spelling.h"

#include <doctest/doctest.h>

#include "estimator/app/report/json.h"
#include "estimator/app/report/text.h"
#include "graph/base/setting.h"

using namespace plimsoll;

TEST_CASE("a setting is spelled as who asked writes it") {
  struct Row {
    std::string setting, flag, keyword, pair;
  };
  const Row rows[] = {
      {setting("gpu"), "--gpu", "gpu=", "\"gpu\""},
      {setting("conv-algo"), "--conv-algo", "conv_algo=", "\"conv-algo\""},
      {setting("from"), "--from", "from_=", "\"from\""},
      {setting("batch", "32"), "--batch 32", "batch=32", "{\"batch\", \"32\"}"},
      {setting("gpus", "N"), "--gpus N", "gpus=N", "{\"gpus\", \"N\"}"},
      {setting("conv-algo", "FFT"), "--conv-algo FFT", "conv_algo=\"FFT\"",
       "{\"conv-algo\", \"FFT\"}"},
      {setting_entry("dim", "seq"), "--dim seq", "dim[\"seq\"]", "{\"dim\", \"seq\"}"},
      {setting_entry("dim", "a b", "N"), "--dim 'a b'=N", "dim={\"a b\": N}",
       "{\"dim\", \"a b=N\"}"},
      {setting_entry("branch", "If_0", "then"), "--branch If_0=then", "branch={\"If_0\": \"then\"}",
       "{\"branch\", \"If_0=then\"}"},
  };
  for (const Row& row : rows) {
    CHECK(spelled(row.setting) == row.flag);
    CHECK(spelled(row.setting, Spelling::kKeyword) == row.keyword);
    CHECK(spelled(row.setting, Spelling::kPair) == row.pair);
  }
}

TEST_CASE("diagnostics show flags unless they were spelled before") {
  const Diagnostic said =
      warning("W516", setting("epochs") + " has no effect", {}, "add: " + setting("samples", "N"));
  CHECK(to_text(said) == "warning: --epochs has no effect [W516]\n  help: add: --samples N\n");
  CHECK(to_json(said).find("\"add: --samples N\"") != std::string::npos);
  CHECK(to_text(spelled(said, Spelling::kKeyword)) ==
        "warning: epochs= has no effect [W516]\n  help: add: samples=N\n");
}
