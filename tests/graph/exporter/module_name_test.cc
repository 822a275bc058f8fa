#include "graph/exporter/module_name.h"

#include <doctest/doctest.h>

using namespace plimsoll::onnx;

TEST_CASE("scopes of a node's name give its module") {
  CHECK(module_from_node_name("/layer1/layer1.0/conv1/Conv") == "layer1.0.conv1");
  CHECK(module_from_node_name("/conv1/Conv") == "conv1");
  CHECK(module_from_node_name("/layer1/layer1.0/downsample/downsample.0/Conv") ==
        "layer1.0.downsample.0");
  CHECK(module_from_node_name("/model/encoder/block.0/layer.0/layer_norm/Cast") ==
        "model.encoder.block.0.layer.0.layer_norm");
  CHECK(module_from_node_name("/Add") == "");
  CHECK(module_from_node_name("Conv_17") == "");
  CHECK(module_from_node_name("model/conv1/Conv2D") == "model.conv1");
  CHECK(module_from_node_name("") == "");
}

TEST_CASE("the list of scopes PyTorch writes gives the module") {
  CHECK(module_from_scopes("['', 'layer1', 'layer1.0', 'layer1.0.relu', 'relu_1']") ==
        "layer1.0.relu");
  CHECK(module_from_scopes("['', 'flatten']") == "");
  CHECK(module_from_scopes("['_empty_nn_module_stack_from_metadata_hook', 'sym_size']") == "");
  CHECK(module_from_scopes("[\"\", \"a\", \"b\"]") == "a");
  CHECK(module_from_scopes("") == "");
  CHECK(module_from_scopes("['unclosed") == "");
}

TEST_CASE("a signature of torch.export tells buffers from parameters") {
  using Names = std::set<std::string, std::less<>>;
  const ModuleSignature told = module_signature(
      "\n# inputs\np_scale: PARAMETER target='scale'\n"
      "b_table: BUFFER target='pos_embed.table' persistent=True\n"
      "b_np: BUFFER target='np' persistent=False\nx: USER_INPUT\n");
  CHECK(told.buffers == Names{"np", "pos_embed.table"});
  CHECK(told.parameters == Names{"scale"});
  CHECK(module_signature("").buffers.empty());
  CHECK(module_signature("b: BUFFER target='unclosed").buffers.empty());
}

TEST_CASE("a number is a parameter where a signature lists it, or a module's name is on it") {
  const ModuleSignature none, told{.parameters = {"t"}, .buffers = {"scale"}};
  CHECK(is_scalar_parameter("t", told, false));
  CHECK_FALSE(is_scalar_parameter("scale", told, false));
  for (const auto* name : {"t", "logit_scale", "blocks.0.gain"}) {
    CHECK(is_scalar_parameter(name, none, true));
    CHECK_FALSE(is_scalar_parameter(name, none, false));  // "p_cast" of the newer exporter
  }
  for (const auto* name : {"123", "onnx::Mul_12", "/Exp_output_0", "val_7", "clone", "exp_1",
                           "model.embed_tokens.embed_scale"})
    CHECK_FALSE(is_scalar_parameter(name, none, true));
}

TEST_CASE("from_torch() tells all that a module holds, or the text is something else") {
  using Names = std::set<std::string, std::less<>>;
  const auto state = module_state(
      R"({"parameters":["a.weight","b"],"frozen":["b"],"buffers":["a.mean"]})", plimsoll::Limits());
  REQUIRE(state);
  CHECK(state->complete);
  CHECK(state->parameters == Names{"a.weight", "b"});
  CHECK(state->frozen == Names{"b"});
  CHECK(state->buffers == Names{"a.mean"});
  for (const char* other : {"", "[]", "{", R"({"parameters":[],"frozen":[]})",
                            R"({"parameters":[1],"frozen":[],"buffers":[]})",
                            R"({"parameters":"a","frozen":[],"buffers":[]})"})
    CHECK(!module_state(other, plimsoll::Limits()));
}

TEST_CASE("the list of scopes gives the calls around a node, lists of modules left out") {
  CHECK(calls_from_scopes("['', 'encoder', 'encoder.layer.0', 'encoder.layer.0.act', 'relu_1']") ==
        "/encoder/encoder.layer.0/encoder.layer.0.act");
  CHECK(calls_from_scopes("['', 'flatten']") == "/");
  CHECK(calls_from_scopes("['_empty_nn_module_stack_from_metadata_hook', 'sym_size']") == "");
  CHECK(calls_from_scopes("") == "");
}
