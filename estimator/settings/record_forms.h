// Settings in measured records: words of sources in the settings' own, and what the form of a
// watched run says in another way than by the value of one key.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "estimator/request/request.h"
#include "graph/json/writer.h"
#include "hwdb/version.h"

namespace plimsoll {

std::optional<std::string> written_mode(const std::string& written);  // "forward" is inference
std::optional<std::string> written_loss(const std::string& written);
std::optional<std::string> written_optimizer(const std::string& written);
std::optional<std::string> written_checkpoint(const std::string& written);
std::optional<std::string> written_precision(const std::string& written);
std::optional<std::string> written_version(const std::string& written);    // version_as_written()
std::optional<std::string> written_schedule(const std::string& written);   // others say nothing
std::optional<std::string> written_stage(const std::string& written);      // 0 shards nothing
std::optional<std::string> written_attention(const std::string& written);  // others say nothing
std::optional<std::string> written_recurrent(const std::string& written);  // "Yes", "No"
std::optional<std::string> written_offload(const std::string& written);    // "parameters,optimizer"

void write_nothing(JsonWriter& out, const Request& from);    // who writes a record knows the card
void write_batch(JsonWriter& out, const Request& from);      // of the whole run
void write_gpus(JsonWriter& out, const Request& from);       // of all machines, where several
void write_nodes(JsonWriter& out, const Request& from);      // where several
void write_image(JsonWriter& out, const Request& from);      // [3, N, N]
void write_sequence(JsonWriter& out, const Request& from);   // of the dimensions
void write_framework(JsonWriter& out, const Request& from);  // and "framework_version"
void write_recurrent(JsonWriter& out, const Request& from);

// cuDNN's and CUDA's versions as sources write them: "7605" and "7.6.05" are 7.6.5, "R4" is 4.
std::optional<Version> version_as_written(std::string_view text);

}  // namespace plimsoll
