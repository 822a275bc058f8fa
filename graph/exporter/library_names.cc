#include "graph/exporter/library_names.h"

#include <algorithm>
#include <array>

namespace plimsoll {
namespace {

using enum NameRole;

// Of transformers 5.24, timm 1.0 and diffusers 0.42, where no other version is told.
constexpr auto kLibraryNames = std::to_array<LibraryName>({
    {"cos", kBuffer, "nanochat", "nanochat/gpt.py, GPT"},
    {"sin", kBuffer, "nanochat", "nanochat/gpt.py, GPT"},
    {"cos_cached", kBuffer, "transformers 4.30", "models/llama/modeling_llama.py"},
    {"sin_cached", kBuffer, "transformers 4.30", "models/llama/modeling_llama.py"},
    {"cos_cache", kBuffer, "ONNX Runtime", "com.microsoft:RotaryEmbedding, an input"},
    {"sin_cache", kBuffer, "ONNX Runtime", "com.microsoft:RotaryEmbedding, an input"},
    {"freqs_cos", kBuffer, "diffusers", "models/transformers/transformer_wan.py"},
    {"freqs_sin", kBuffer, "diffusers", "models/transformers/transformer_wan.py"},
    {"inv_freq", kBuffer, "transformers", "models/llama/modeling_llama.py"},
    {"rotary_emb.inv_freq", kFrequencies, "transformers",
     "modeling_rope_utils.py: with original_inv_freq"},
    {"rope.pos_embed", kBuffer, "timm",
     "layers/pos_embed_sincos.py: what is trained there are frequencies"},
    {"pe", kBuffer, "PyTorch", "tutorials, PositionalEncoding"},
    {"pos_embed.pos_embed", kPatchSines, "diffusers",
     "models/embeddings.py, PatchEmbed; AuraFlow's of this name are learned, and picked"},
    {"embed_positions.weights", kBuffer, "transformers", "models/m2m_100/modeling_m2m_100.py"},
    {"embed_positions.weight", kPositions, "transformers",
     "models/marian/modeling_marian.py, and Pegasus and RoFormer"},
    {"encoder.embed_positions.weight", kAllPositions, "transformers",
     "models/whisper/modeling_whisper.py"},
    {"embed_scale", kScale, "transformers", "models/gemma3/modeling_gemma3.py"},
    {"final_logits_bias", kBuffer, "transformers", "models/bart/modeling_bart.py: zeros"},
    {"*mask", kMask, "timm", "models/swin_transformer.py: attn_mask; a mask_token is trained"},
    {"filt", kBuffer, "timm", "layers/blur_pool.py, and antialiased-cnns"},
    {"rel_indices", kBuffer, "timm", "models/convit.py"},
    {"past_key_values", kCache, "transformers", "modeling_outputs.py"},
    {"present", kCache, "optimum 1.27", "exporters/onnx/base.py: present.0.key"},
    // Behind such a module 204 of 227 loops over layers held its result (embedding_output,
    // inputs_embeds) beside what the layers hand on.
    {"embeddings", kEmbeddings, "transformers", "models/bert/modeling_bert.py"},
    {"embed_tokens", kEmbeddings, "transformers", "models/llama/modeling_llama.py"},
    {"embed_in", kEmbeddings, "transformers", "models/gpt_neox/modeling_gpt_neox.py"},
    {"wte", kEmbeddings, "transformers", "models/gpt2/modeling_gpt2.py"},
    // One object that the model returns in the end, Seq2SeqLMOutput.encoder_last_hidden_state.
    // Those of torch.nn.Transformer are given embeddings.
    {"encoder", kEncoder, "transformers", "models/bart/modeling_bart.py"},
    {"decoder", kDecoder, "transformers", "models/bart/modeling_bart.py"},
});

bool has_suffix(std::string_view path, std::string_view suffix) {
  if (suffix.starts_with('*')) return path.ends_with(suffix.substr(1));
  if (!path.ends_with(suffix)) return false;
  return path.size() == suffix.size() || path[path.size() - suffix.size() - 1] == '.';
}

}  // namespace

std::span<const LibraryName> library_names() { return kLibraryNames; }

bool has_role(std::string_view path, NameRole role) {
  return std::any_of(kLibraryNames.begin(), kLibraryNames.end(), [&](const LibraryName& name) {
    return name.role == role && has_suffix(path, name.suffix);
  });
}

}  // namespace plimsoll
